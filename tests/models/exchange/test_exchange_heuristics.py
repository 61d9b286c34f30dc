"""Orders, and the strategies that insert in them; whatever comes out passes the checker."""

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
from ipuopt.models.exchange.instance import Instance, instance, mirrored
from ipuopt.models.exchange.problem import IntArray
from ipuopt.models.exchange.search import Budget, Search, run

Transfer = tuple[int, int, int, Sequence[tuple[int, int]]]
MakePhase = Callable[..., Problem]
Phases = Callable[..., st.SearchStrategy[Problem]]
CarryOut = Callable[[Problem, Solution], None]

A, B, C, D = 0x64000, 0x68000, 0x6C000, 0x70000


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


@given(st.data())
@settings(max_examples=15, deadline=None)
@pytest.mark.parametrize("free", [False, True])
def test_every_schedule_is_valid_and_none_is_worse_than_appending(
    phases: Phases, carry_out: CarryOut, free: bool, data: st.DataObject
) -> None:
    problem = data.draw(phases(wide=free or data.draw(st.booleans())))
    baseline = append_only(problem)
    value = horizon(problem, baseline)
    start, reported = schedule_heuristic(problem)
    assert reported == value == horizon(problem, start)
    limits = Limits(deterministic=True, gap=0.05)
    solution, report = solve(problem, limits, free=free)
    carry_out(problem, solution)
    assert free or solution.paired.tolist() == problem.paired.tolist()
    assert report.objective == horizon(problem, solution) <= value == report.heuristic
    assert report.bound is not None and lower_bound(problem, free=free)[0] <= report.bound
    assert "refused" not in report.run.note


@given(st.data())
@settings(max_examples=10, deadline=None)
def test_every_schedule_of_the_portfolio_is_valid(
    phases: Phases, carry_out: CarryOut, data: st.DataObject
) -> None:
    """Whatever is offered as incumbent, forward and backward, with perturbed orders as well."""
    problem = data.draw(phases(least=3, members=4, wide=data.draw(st.booleans())))
    offered: list[IntArray] = []

    class Watched(Search):
        def offer(self, start: IntArray) -> bool:
            if len(start) == len(problem):
                offered.append(start.copy())
            return super().offer(start)

    search = Watched(instance(problem), append_only(problem).start)
    improve.portfolio(search, 0, Budget(None), improve.ways_of(search.forward))
    improve.perturb(search, 0, Budget(20 * len(problem.destination_tile)), 0)
    assert offered
    for start in np.unique(offered, axis=0):
        carry_out(problem, Solution(start, problem.paired))


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
    improve.portfolio(search, 0, Budget(None), improve.ways_of(search.forward))
    improve.perturb(search, 0, Budget(100 * len(phase.receiver)), 0)
    assert directions == {False, True}


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
