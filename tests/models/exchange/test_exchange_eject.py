"""Moves of late transfers: what they take and free, and the schedules they leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ipuopt.compiled import kernel
from ipuopt.models.exchange import Problem, Solution, append_only, horizon
from ipuopt.models.exchange.eject import improve_late, occupied, push
from ipuopt.models.exchange.instance import Instance, instance
from ipuopt.models.exchange.links import Links, links, remove
from ipuopt.models.exchange.search import Budget, Search
from ipuopt.models.exchange.state import State, empty_state, place

Transfer = tuple[int, int, int, Sequence[tuple[int, int]]]
MakePhase = Callable[..., Problem]
Phases = Callable[..., st.SearchStrategy[Problem]]
CarryOut = Callable[[Problem, Solution], None]

A, B, C, D = 0x64000, 0x68000, 0x6C000, 0x70000


@kernel
def take_out(p: Instance, s: State, links: Links, transfer: int) -> None:
    remove(p, s, links, transfer)


@kernel
def put(p: Instance, s: State, transfer: int, start: int) -> None:
    place(p, s, transfer, start)


def same_rows(one: State, other: State) -> bool:
    """Whether two states hold the same events, whatever their room."""
    least = min(one.rows.shape[1], other.rows.shape[1])
    rest = one.rows[:, least:].any() or other.rows[:, least:].any()
    return not rest and np.array_equal(one.rows[:, :least], other.rows[:, :least])


def without(phase: Instance, start: np.ndarray, room: int, out: set[int]) -> State:
    """State of all transfers but some, placed afresh."""
    state = empty_state(phase, room)
    for transfer in set(range(len(start))) - out:
        put(phase, state, transfer, int(start[transfer]))
    return state


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_what_is_removed_leaves_nothing_and_takes_nothing_else(
    phases: Phases, data: st.DataObject
) -> None:
    """Neutral and source events may be one, that of a neighbour which stays."""
    problem = data.draw(phases(most=20, members=4, wide=data.draw(st.booleans())))
    phase = instance(problem)
    start = append_only(problem).start
    search = Search(phase, start)
    search.justify(start, 2)
    start = search.start
    state, tables = occupied(phase, start), links(phase)
    room = int((start + phase.tail).max()) + 1
    assert same_rows(state, without(phase, start, room, set()))
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    out: set[int] = set()
    for transfer in random.permutation(len(start))[:8].tolist():
        take_out(phase, state, tables, transfer)
        out.add(transfer)
        assert state.start[transfer] == -1
        assert same_rows(state, without(phase, start, room, out))
    for transfer in random.permutation(sorted(out)).tolist():
        put(phase, state, transfer, int(start[transfer]))
    assert same_rows(state, without(phase, start, room, set()))
    assert state.start.tolist() == start.tolist()


def test_a_reserved_partner_shares_no_control(make_phase: MakePhase) -> None:
    """Tile 1 is reserved on [133, 197), and a window of its own opens there."""
    phase = instance(
        make_phase(
            [(0, A, 128, [(4, B), (5, B)]), (8, A, 10, [(1, C)]), (1, A, 5, [(8, D)])],
            paired=[True, False, False],
        )
    )
    state, tables = empty_state(phase, 1000), links(phase)
    put(phase, state, 0, 133)
    rows = state.rows.copy()
    put(phase, state, 1, 197 - int(phase.window[2]))
    take_out(phase, state, tables, 1)
    np.testing.assert_array_equal(state.rows, rows)


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_moves_keep_state_and_rules(
    phases: Phases, carry_out: CarryOut, data: st.DataObject
) -> None:
    problem = data.draw(phases(most=20, members=4, least=6, wide=data.draw(st.booleans())))
    phase = instance(problem)
    state, tables = occupied(phase, append_only(problem).start), links(phase)
    weight = np.ones(len(problem), np.int64)
    generator = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    end = int((state.start + phase.tail).max())
    heat = data.draw(st.sampled_from((0.0, 10.0, 100.0)))
    for target in (end - 1, end // 2):
        late = improve_late(phase, state, tables, weight, target, end, 60, heat, generator)
        assert late == np.count_nonzero(state.start + phase.tail > target)
        carry_out(problem, Solution(state.start, problem.paired))
        assert (state.start + phase.tail).max() <= end
        assert same_rows(state, occupied(phase, state.start))
    assert weight.min() >= 1


@given(st.data())
@settings(max_examples=8, deadline=None)
def test_push_only_lowers_a_valid_schedule(
    phases: Phases, carry_out: CarryOut, data: st.DataObject
) -> None:
    problem = data.draw(phases(most=20, members=4, least=6, wide=data.draw(st.booleans())))
    search = Search(instance(problem), append_only(problem).start)
    before = search.horizon
    target = data.draw(st.integers(0, before))
    push(search, target, Budget(1_000_000), 0)
    found = Solution(search.start, problem.paired)
    carry_out(problem, found)
    assert search.horizon == horizon(problem, found) <= before
    again = Search(instance(problem), append_only(problem).start)
    push(again, target, Budget(1_000_000), 0)
    assert again.start.tolist() == search.start.tolist()


def test_push_ends_with_its_budget(make_phase: MakePhase) -> None:
    problem = make_phase([(0, A, 10, [(5, B)]), (2, A, 10, [(5, C)]), (5, A, 30, [(9, B)])])
    search = Search(instance(problem), append_only(problem).start)
    start = search.start.copy()
    push(search, 0, Budget(0), 0)
    assert search.start.tolist() == start.tolist()
