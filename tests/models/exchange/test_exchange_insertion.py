"""Insertion against a plain twin: start by start, with sets of events instead of rows of bits."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipuopt.compiled import kernel
from ipuopt.models.exchange import Problem, Solution, append_only, check, horizon, insert_in_order
from ipuopt.models.exchange import orders as order_module
from ipuopt.models.exchange.claims import (
    FILL_FIRST,
    FILL_LENGTH,
    FILL_ROW,
    TEST_FIRST,
    TEST_LENGTH,
    TEST_ROW,
)
from ipuopt.models.exchange.fit import earliest
from ipuopt.models.exchange.instance import Instance, instance, mirrored
from ipuopt.models.exchange.problem import IntArray
from ipuopt.models.exchange.search import Search, reverse, run, run_appending
from ipuopt.models.exchange.state import State, empty_state, place

Transfer = tuple[int, int, int, Sequence[tuple[int, int]]]
MakePhase = Callable[..., Problem]
Phases = Callable[..., st.SearchStrategy[Problem]]
PartOf = Callable[[Problem, Sequence[int]], Problem]
CarryOut = Callable[[Problem, Solution], None]

A, B, C, D = 0x64000, 0x68000, 0x6C000, 0x70000
FAR = 6000


@kernel
def put(p: Instance, s: State, transfer: int, start: int) -> None:
    place(p, s, transfer, start)


@kernel
def found(p: Instance, s: State, transfer: int, start: int, latest: int) -> int:
    return earliest(p, s, transfer, start, latest)


class Twin:
    """Claims on rows that are whole numbers, a bit an event; rows of words are the checker's."""

    def __init__(self, phase: Instance, problem: Problem, part_of: PartOf) -> None:
        self.phase, self.part_of = phase, part_of
        # No pointer may be dropped where no address continues another.
        same = np.full_like(problem.destination_address, A)
        self.problem = dataclasses.replace(problem, destination_address=same)
        self.rows = [0] * phase.rows
        self.start: dict[int, int] = {}
        self.write_end = [0] * phase.tiles
        self.send_end = [0] * phase.tiles

    def claims(self, transfer: int, stop: IntArray) -> list[list[int]]:
        claims: list[list[int]] = self.phase.claims[
            self.phase.claim_start[transfer] : stop[transfer]
        ].tolist()
        return claims

    def clash(self, transfer: int, start: int) -> bool:
        for claim in self.claims(transfer, self.phase.claim_stop):
            first = start + claim[TEST_FIRST]
            events = (1 << claim[TEST_LENGTH]) - 1
            events = events << first if first >= 0 else events >> -first
            if self.rows[claim[TEST_ROW]] & events:
                return True
        return False

    def odd(self, transfer: int, start: int) -> bool:
        """Whether some row cannot be encoded, pointers kept."""
        chosen = [*self.start, transfer]
        starts = np.array([*self.start.values(), start])
        part = self.part_of(self.problem, chosen)
        return any(label == "E7" for label, _ in check(part, Solution(starts, part.paired)))

    def take(self, transfer: int, start: int) -> None:
        self.start[transfer] = start
        for claim in self.claims(transfer, self.phase.claim_start[1:]):
            first = start + claim[FILL_FIRST]
            self.rows[claim[FILL_ROW]] |= ((1 << claim[FILL_LENGTH]) - 1) << first
        phase = self.phase
        self.send_end[phase.source[transfer]] = start + int(phase.words[transfer])
        for r in range(phase.bounds[transfer], phase.bounds[transfer + 1]):
            end = start + int(phase.write[r] + phase.write_length[r])
            self.write_end[phase.receiver[r]] = end

    def ready(self, transfer: int) -> int:
        phase = self.phase
        first, stop = phase.before_bounds[transfer], phase.before_bounds[transfer + 1]
        after = [
            self.start[int(before)] + int(lag)
            for before, lag in zip(phase.before[first:stop], phase.lag[first:stop], strict=True)
        ]
        return max([int(phase.head[transfer]), *after])

    def insert(self, order: Sequence[int], *, appending: bool = False) -> IntArray:
        phase = self.phase
        for transfer in order:
            start = self.ready(transfer)
            if appending:
                receivers = phase.receiver[phase.bounds[transfer] : phase.bounds[transfer + 1]]
                ends = [self.write_end[tile] for tile in receivers]
                free = max(self.send_end[phase.source[transfer]], *ends)
                start = max(start, free + int(phase.head[transfer]))
            while self.clash(transfer, start) or (not phase.mirror and self.odd(transfer, start)):
                start += 1
            self.take(transfer, start)
        return np.array([self.start[j] for j in range(len(phase.words))])


def is_topological(phase: Instance, order: IntArray) -> bool:
    """Whether it is a permutation with predecessors first."""
    count = len(phase.words)
    if sorted(order.tolist()) != list(range(count)):
        return False
    place_of = {int(transfer): rank for rank, transfer in enumerate(order)}
    return all(
        place_of[int(phase.before[pair])] < place_of[after]
        for after, (first, stop) in enumerate(pairwise(phase.before_bounds.tolist()))
        for pair in range(first, stop)
    )


@st.composite
def directed(draw: st.DrawFn, /, problem: Problem) -> tuple[Instance, IntArray]:
    """An instance in one direction of time, and an order that suits it."""
    phase = instance(problem)
    if draw(st.booleans()):
        phase = mirrored(phase)
    key = draw(st.lists(st.integers(0, 9), min_size=len(phase.words), max_size=len(phase.words)))
    return phase, order_module.topological(phase, np.array(key, np.int64))


@given(st.data())
@settings(max_examples=70, deadline=None)
def test_insertion_is_that_of_the_plain_twin(
    phases: Phases, part_of: PartOf, data: st.DataObject
) -> None:
    words, wide = data.draw(st.sampled_from(((8, False), (40, False), (8, True), (130, True))))
    problem = data.draw(phases(most=9, words=words, members=5, receivers=3, wide=wide))
    phase, order = data.draw(directed(problem))
    assert is_topological(phase, order)
    found = run(phase, order, FAR)
    assert found is not None
    assert found.tolist() == Twin(phase, problem, part_of).insert(order.tolist()).tolist()


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_appending_is_that_of_the_plain_twin(
    phases: Phases, part_of: PartOf, data: st.DataObject
) -> None:
    problem = data.draw(phases(most=9, members=5, receivers=3, wide=data.draw(st.booleans())))
    phase = instance(problem)
    key = data.draw(st.permutations(range(len(problem))))
    order = order_module.topological(phase, np.array(key, np.int64))
    found = run_appending(phase, order, 64)
    assert found is not None
    twin = Twin(phase, problem, part_of)
    assert found.tolist() == twin.insert(order.tolist(), appending=True).tolist()


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_earliest_is_that_of_a_scan(phases: Phases, part_of: PartOf, data: st.DataObject) -> None:
    """From any start on, to any latest one, with some of the others placed."""
    problem = data.draw(phases(most=10, members=4, wide=data.draw(st.booleans())))
    phase, order = data.draw(directed(problem))
    starts = run(phase, order, FAR)
    assert starts is not None
    state, twin = empty_state(phase, FAR), Twin(phase, problem, part_of)
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    for transfer in random.permutation(len(order))[: random.integers(0, len(order))].tolist():
        put(phase, state, transfer, int(starts[transfer]))
        twin.take(transfer, int(starts[transfer]))
    for transfer in set(order.tolist()) - set(twin.start):
        for first in random.integers(phase.head[transfer], 400, 6).tolist():
            latest = first + int(random.integers(-1, 600))
            expected = [s for s in range(first, latest + 1) if not twin.clash(transfer, s)]
            # In this order: what is known of gaps must hold for earlier starts as well.
            fit = found(phase, state, transfer, first, latest)
            assert fit == (expected[0] if expected else -1)


def test_insertion_gives_up_at_the_horizon(make_phase: MakePhase) -> None:
    phase = instance(make_phase([(0, A, 10, [(5, B)]), (2, A, 10, [(5, C)])]))
    order = np.arange(2)
    assert run(phase, order, 82) is not None
    assert run(phase, order, 81) is None


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_schedules_in_order_are_valid(
    phases: Phases, carry_out: CarryOut, data: st.DataObject
) -> None:
    problem = data.draw(phases(wide=data.draw(st.booleans())))
    phase = instance(problem)
    baseline = append_only(problem)
    carry_out(problem, baseline)
    key = np.array(data.draw(st.permutations(range(len(problem)))), np.int64)
    carry_out(problem, insert_in_order(problem, order_module.topological(phase, key)))
    backward = mirrored(phase)
    found = run(backward, order_module.topological(backward, key), FAR)
    assert found is not None
    shifted = Solution(reverse(backward, found), problem.paired)
    assert {label for label, _ in check(problem, shifted)} <= {"E7"}


@given(st.data())
@settings(max_examples=20, deadline=None)
def test_forward_backward_improvement_never_loses(
    phases: Phases, carry_out: CarryOut, data: st.DataObject
) -> None:
    problem = data.draw(phases(wide=data.draw(st.booleans())))
    start = append_only(problem).start
    search = Search(instance(problem), start)
    before = search.horizon
    search.justify(start, 3)
    assert search.horizon <= before
    found = Solution(search.start, problem.paired)
    carry_out(problem, found)
    assert search.horizon == horizon(problem, found)


def test_orders_that_are_none_are_refused(make_phase: MakePhase) -> None:
    phase = make_phase([(0, A, 10, [(5, B)]), (2, A, 10, [(5, B)])])
    assert insert_in_order(phase, np.array([0, 1])).start.tolist() == [32, 67]
    with pytest.raises(ValueError, match="no permutation of 2 transfers"):
        insert_in_order(phase, np.array([0, 0]))
    with pytest.raises(ValueError, match="breaks a dependency"):
        insert_in_order(phase, np.array([1, 0]))
