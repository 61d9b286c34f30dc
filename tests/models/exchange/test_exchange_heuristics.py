"""Insertion against a plain twin, orders, components; whatever comes out passes the checker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipuopt.limits import Limits
from ipuopt.models.exchange import (
    Problem,
    Solution,
    append_only,
    check,
    horizon,
    improve,
    insert_in_order,
    lower_bound,
    schedule_heuristic,
    solve,
)
from ipuopt.models.exchange import orders as order_module
from ipuopt.models.exchange import search as search_module
from ipuopt.models.exchange.colouring import by_matching
from ipuopt.models.exchange.components import component_of
from ipuopt.models.exchange.instance import Instance, instance, mirrored
from ipuopt.models.exchange.problem import IntArray
from ipuopt.models.exchange.search import Search, reverse, run, run_appending

Transfer = tuple[int, int, int, Sequence[tuple[int, int]]]
MakePhase = Callable[..., Problem]
Phases = Callable[..., st.SearchStrategy[Problem]]
Interval = tuple[int, int]

A, B, C, D = 0x64000, 0x68000, 0x6C000, 0x70000
FAR = 5000


def overlap(one: Interval, other: Interval) -> bool:
    return one[0] < other[1] and other[0] < one[1]


class Twin:
    """Earliest fit start by start, pair by pair, judged in forward time.

    As in the kernel, pointers are never dropped, and a receive keeps the distance that the worst
    send of its tile needs, a send that of the worst receive.
    """

    def __init__(self, phase: Instance) -> None:
        self.phase = phase
        self.start: dict[int, int] = {}
        self.words: list[int] = phase.words.tolist()
        sign = -1 if phase.mirror else 1
        self.receives = [
            [
                (
                    int(phase.receiver[r]),
                    sign * int(phase.window[r]),
                    sign * int(phase.write[r]),
                    set(
                        range(
                            int(phase.receive_first[r]),
                            int(phase.receive_first[r] + phase.receive_count[r]),
                        )
                    ),
                )
                for r in range(first, stop)
            ]
            for first, stop in pairwise(phase.bounds.tolist())
        ]
        self.reads = [
            set(range(first, first + count))
            for first, count in zip(
                phase.send_first.tolist(), phase.send_count.tolist(), strict=True
            )
        ]

    def forward(self, transfer: int, start: int) -> int:
        return -(start + self.words[transfer]) if self.phase.mirror else start

    def clash(self, transfer: int, start: int) -> bool:
        event = self.forward(transfer, start)
        return any(
            self.conflict(transfer, event, other, self.forward(other, at))
            for other, at in self.start.items()
        )

    def conflict(self, new: int, at: int, old: int, before: int) -> bool:
        words, length = self.words[new], self.words[old]
        sends = (at, at + words), (before, before + length)
        if self.phase.source[new] == self.phase.source[old] and overlap(*sends):  # (E2)
            return True
        for tile, window, write, _ in self.receives[new]:
            for other, opening, writing, _ in self.receives[old]:
                if tile == other and (
                    overlap(
                        (at + window, at + window + words),
                        (before + opening, before + opening + length),
                    )
                    or overlap(
                        (at + write, at + write + words),
                        (before + writing, before + writing + length),
                    )
                ):  # (E3)
                    return True
        return self.disturbs(new, at, old, before, int(self.phase.send_extra[new])) or (
            self.disturbs(old, before, new, at, None)
        )

    def disturbs(self, send: int, at: int, receive: int, other: int, extra: int | None) -> bool:
        """Rules of one tile between a send and a receive (E4), (E6)."""
        source, length = int(self.phase.source[send]), self.words[receive]
        for tile, window, write, elements in self.receives[receive]:
            if tile != source:
                continue
            controls = {other + window, other + window + length, other + write}
            if controls & {at, at + 1}:
                return True
            after = int(self.phase.send_extra_most[tile]) if extra is None else extra
            done = other + write + length + int(self.phase.receive_extra[tile])
            sent = (at, at + self.words[send] + after)
            if self.reads[send] & elements and overlap(sent, (other + write, done)):
                return True
        return False

    def ready(self, transfer: int) -> int:
        phase = self.phase
        first, stop = phase.before_bounds[transfer], phase.before_bounds[transfer + 1]
        after = [
            self.start[int(before)] + int(lag)
            for before, lag in zip(phase.before[first:stop], phase.lag[first:stop], strict=True)
        ]
        return max([int(phase.head[transfer]), *after])

    def insert(self, order: Sequence[int], *, appending: bool = False) -> IntArray:
        for transfer in order:
            start = self.ready(transfer)
            if appending:
                start = max(start, self.free(transfer) + int(self.phase.head[transfer]))
            while self.clash(transfer, start):
                start += 1
            self.start[transfer] = start
        return np.array([self.start[j] for j in range(len(self.words))])

    def free(self, transfer: int) -> int:
        """Previous send end of the source and write ends of the receivers, appended so far."""
        tiles = {tile for tile, *_ in self.receives[transfer]}
        ends = [0]
        for other, start in self.start.items():
            if self.phase.source[other] == self.phase.source[transfer]:
                ends.append(start + self.words[other])
            ends += [
                start + write + self.words[other]
                for tile, _, write, _ in self.receives[other]
                if tile in tiles
            ]
        return max(ends)


def is_topological(phase: Instance, order: IntArray) -> bool:
    """Whether it is a permutation with predecessors first."""
    count = len(phase.words)
    if sorted(order.tolist()) != list(range(count)):
        return False
    place = {int(transfer): rank for rank, transfer in enumerate(order)}
    return all(
        place[int(phase.before[pair])] < place[after]
        for after, (first, stop) in enumerate(pairwise(phase.before_bounds.tolist()))
        for pair in range(first, stop)
    )


@st.composite
def directed(draw: st.DrawFn, /, phases: Phases, **size: int) -> tuple[Instance, IntArray]:
    """An instance in one direction of time, and an order that suits it."""
    phase = instance(draw(phases(**size)))
    if draw(st.booleans()):
        phase = mirrored(phase)
    key = draw(st.lists(st.integers(0, 9), min_size=len(phase.words), max_size=len(phase.words)))
    return phase, order_module.topological(phase, np.array(key, np.int64))


@given(st.data())
@settings(max_examples=70, deadline=None)
def test_insertion_is_that_of_the_plain_twin(phases: Phases, data: st.DataObject) -> None:
    words = data.draw(st.sampled_from((8, 40, 130)))
    phase, order = data.draw(directed(phases, most=9, words=words, members=5, receivers=3))
    assert is_topological(phase, order)
    found = run(phase, order, FAR)
    assert found is not None
    assert found.tolist() == Twin(phase).insert(order.tolist()).tolist()


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_appending_is_that_of_the_plain_twin(phases: Phases, data: st.DataObject) -> None:
    problem = data.draw(phases(most=9, members=5, receivers=3))
    phase = instance(problem)
    key = data.draw(st.permutations(range(len(problem))))
    order = order_module.topological(phase, np.array(key, np.int64))
    found = run_appending(phase, order, 64)
    assert found.tolist() == Twin(phase).insert(order.tolist(), appending=True).tolist()


def test_insertion_gives_up_at_the_horizon(make_phase: MakePhase) -> None:
    phase = instance(make_phase([(0, A, 10, [(5, B)]), (2, A, 10, [(5, C)])]))
    order = np.arange(2)
    assert run(phase, order, 82) is not None
    assert run(phase, order, 81) is None


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_every_schedule_is_valid_and_none_is_worse_than_appending(
    phases: Phases, data: st.DataObject
) -> None:
    problem = data.draw(phases())
    phase = instance(problem)
    baseline = append_only(problem)
    assert not check(problem, baseline)
    value = horizon(problem, baseline)
    start, reported = schedule_heuristic(problem)
    assert reported == value == horizon(problem, start)
    key = np.array(data.draw(st.permutations(range(len(problem)))), np.int64)
    inserted = insert_in_order(problem, order_module.topological(phase, key))
    assert not check(problem, inserted)
    backward = mirrored(phase)
    found = run(backward, order_module.topological(backward, key), FAR)
    assert found is not None
    shifted = Solution(reverse(backward, found))
    assert not check(problem, shifted)
    solution, report = solve(problem, Limits(deterministic=True, gap=0.05))
    assert not check(problem, solution)
    assert report.objective == horizon(problem, solution) <= value == report.heuristic
    assert report.bound is not None and lower_bound(problem)[0] <= report.bound
    assert "refused" not in report.run.note


def tall_phase(seed: int, single: bool) -> Problem:
    """Hundreds of transfers that crowd a few tiles and elements, listed in one array."""
    draw = np.random.default_rng(seed)
    count, tiles = 300, 24
    receivers = np.ones(count, np.int64) if single else draw.integers(1, 6, count)
    source = draw.integers(0, tiles, count)
    targets = [
        (tile + 1 + draw.choice(tiles - 1, many, replace=False)) % tiles
        for tile, many in zip(source, receivers, strict=True)
    ]
    spots = int(receivers.sum())
    return Problem(
        name=f"tall {seed}",
        tiles=tiles,
        source=source,
        source_address=A + 256 * draw.integers(0, 160, count),
        words=draw.choice([1, 4, 17, 52, 64, 130], count),
        destination_start=np.concatenate((np.zeros(1, np.int64), np.cumsum(receivers))),
        destination_tile=np.concatenate(targets),
        destination_address=A + 256 * draw.integers(80, 250, spots),
    )


@pytest.mark.parametrize("seed", [0, 1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("single", [True, False])
def test_crowded_phases_are_never_refused(seed: int, single: bool) -> None:
    """Dependencies and shared elements by the hundred: no schedule may need the baseline."""
    problem = tall_phase(seed, single)
    assert len(instance(problem).before) > 20
    solution, report = solve(problem, Limits(deterministic=True, gap=0.3))
    assert not check(problem, solution)
    assert report.run.note == ""
    assert report.objective is not None and report.heuristic is not None
    assert report.objective < report.heuristic


@pytest.mark.parametrize("single", [True, False])
def test_every_order_tried_suits_its_direction_of_time(
    single: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Insertion trusts its order: a transfer before one that it must follow (E5) goes unnoticed."""
    directions = set()

    def watched(phase: Instance, order: IntArray, *rest: Any) -> IntArray | None:
        assert is_topological(phase, order)
        directions.add(phase.mirror)
        return run(phase, order, *rest)

    monkeypatch.setattr(search_module, "run", watched)
    phase = instance(tall_phase(0, single))
    assert len(phase.before) > 20
    search = Search(phase, append_only(tall_phase(0, single)).start)
    improve.portfolio(search, 0, improve.Budget(None))
    improve.perturb(search, 0, improve.Budget(100 * len(phase.receiver)), 0)
    assert directions == {False, True}


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_mirrored_twice_is_the_same(phases: Phases, data: st.DataObject) -> None:
    phase = instance(data.draw(phases()))
    again = mirrored(mirrored(phase))
    pairs = {"before_bounds", "before", "lag"}
    for name in set(Instance._fields) - pairs:
        assert np.array_equal(getattr(phase, name), getattr(again, name)), name
    assert edges(phase) == edges(again)
    assert edges(mirrored(phase)) == {
        (b, a, int(lag + phase.words[b] - phase.words[a])) for a, b, lag in edges(phase)
    }


def edges(phase: Instance) -> set[tuple[int, int, int]]:
    after = np.repeat(np.arange(len(phase.words)), np.diff(phase.before_bounds))
    return set(zip(phase.before.tolist(), after.tolist(), phase.lag.tolist(), strict=True))


@given(st.data())
@settings(max_examples=25, deadline=None)
@pytest.mark.parametrize("looks", [1, 40_000_000])
def test_orders_keep_dependencies(phases: Phases, looks: int, data: st.DataObject) -> None:
    """Also where a tiny budget of looks lets a few transfers of a source wait at a time."""
    phase = instance(data.draw(phases(most=20)))
    if data.draw(st.booleans()):
        phase = mirrored(phase)
    load, words = data.draw(st.sampled_from(((48, 0), (5, 5), (0, 0), (0, 16))))
    appending = data.draw(st.booleans())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order_module, "LOOKS", looks)
        order = order_module.dispatch(phase, load, words, appending=appending)
    assert is_topological(phase, order)
    assert is_topological(phase, order_module.longest(phase))
    assert is_topological(phase, order_module.by_end(phase, phase.head))


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_matchings_are_an_order_of_single_receivers(phases: Phases, data: st.DataObject) -> None:
    phase = instance(data.draw(phases(most=20, receivers=data.draw(st.integers(1, 2)))))
    order = by_matching(phase)
    if len(phase.receiver) > len(phase.words):
        assert order is None
    else:
        assert order is not None and is_topological(phase, order)


def test_matchings_make_an_exchange_of_all_with_all_dense(make_phase: MakePhase) -> None:
    """Twelve tiles, 60 words each way: no tile waits longer than the distances differ."""
    tiles = range(0, 24, 2)
    phase = make_phase(
        [
            (source, A + 240 * target, 60, [(target, C + 240 * source)])
            for source in tiles
            for target in tiles
            if source != target
        ]
    )
    order = by_matching(instance(phase))
    assert order is not None
    found = insert_in_order(phase, order)
    assert not check(phase, found)
    assert horizon(phase, found) <= 1.15 * lower_bound(phase)[0]
    assert horizon(phase, found) < horizon(phase, append_only(phase))


def test_orders_that_are_none_are_refused(make_phase: MakePhase) -> None:
    phase = make_phase([(0, A, 10, [(5, B)]), (2, A, 10, [(5, B)])])
    assert insert_in_order(phase, np.array([0, 1])).start.tolist() == [32, 67]
    with pytest.raises(ValueError, match="no permutation of 2 transfers"):
        insert_in_order(phase, np.array([0, 0]))
    with pytest.raises(ValueError, match="breaks a dependency"):
        insert_in_order(phase, np.array([1, 0]))


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_components_are_the_tiles_that_transfers_join(phases: Phases, data: st.DataObject) -> None:
    problem = data.draw(phases(most=10, members=14, receivers=2))
    count, component = component_of(instance(problem))
    group = {tile: {tile} for tile in range(problem.tiles)}
    for j, source in enumerate(problem.source.tolist()):
        first, stop = problem.destination_start[j : j + 2].tolist()
        for tile in problem.destination_tile[first:stop].tolist():
            joined = group[source] | group[tile]
            for member in joined:
                group[member] = joined
    for one in range(len(problem)):
        for other in range(len(problem)):
            together = int(problem.source[other]) in group[int(problem.source[one])]
            assert together == (component[one] == component[other])
    assert sorted(set(component.tolist())) == list(range(count))


@given(st.data())
@settings(max_examples=20, deadline=None)
def test_forward_backward_improvement_never_loses(phases: Phases, data: st.DataObject) -> None:
    problem = data.draw(phases())
    start = append_only(problem).start
    search = Search(instance(problem), start)
    before = search.horizon
    search.justify(start, 3)
    assert search.horizon <= before
    assert not check(problem, Solution(search.start))
    assert search.horizon == horizon(problem, Solution(search.start))
