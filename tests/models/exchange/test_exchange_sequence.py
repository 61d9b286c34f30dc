"""Set-up times by hand, shortest orders against all orders, and the bound below every schedule."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipuopt.limits import Limits
from ipuopt.models.exchange import Problem, Solution, append_only, check, horizon, paths, solve
from ipuopt.models.exchange.instance import instance
from ipuopt.models.exchange.orders import topological
from ipuopt.models.exchange.pairs import pairs_of
from ipuopt.models.exchange.paths import shortest_order
from ipuopt.models.exchange.problem import IntArray
from ipuopt.models.exchange.sequence import SEQUENCE, sequence_bound, sequences
from ipuopt.models.exchange.sequenced import sequence_keys, starts_in_order
from ipuopt.models.exchange.setups import setup_times
from ipuopt.models.exchange.takes import takes_of
from ipuopt.models.exchange.widths import qualifying
from ipuopt.target.fabric import time_to_mux

Transfer = tuple[int, int, int, Sequence[tuple[int, int]]]
MakePhase = Callable[..., Problem]
TinyPhase = Callable[[int], Problem]
Phases = Callable[..., st.SearchStrategy[Problem]]
Optimum = Callable[[Problem, Solution], int]

A, B, C = 0x64000, 0x68000, 0x6C000


def machine_of(problem: Problem, family: int, *jobs: int) -> IntArray:
    """Set-up times of the machine of a family that has exactly these jobs."""
    phase = instance(problem)
    (found,) = (
        sequence.machine
        for sequence in sequences(phase)
        if sequence.machine.family == family and sequence.machine.transfer.tolist() == list(jobs)
    )
    return setup_times(phase, takes_of(phase), found)


def test_the_tile_reached_latest_makes_the_next_wait(make_phase: MakePhase) -> None:
    """Two multicasts to the same tiles: the second opens everywhere after the first has ended."""
    phase = make_phase([(0, A, 100, [(5, B), (40, B)]), (62, A, 100, [(5, C), (40, C)])])
    mux = time_to_mux(64).astype(int)
    late = (mux[0] - mux[62])[[5, 40]]
    setup = machine_of(phase, 1, 0, 1)  # of either tile
    assert setup[0, 1] in late.max() - late
    assert setup[0, 1] + setup[1, 0] == np.ptp(late) > 0
    found = solve(phase, Limits(deterministic=True))[0]
    assert horizon(phase, found) == sequence_bound(instance(phase))[0]


def test_a_send_waits_for_the_write_into_its_element(make_phase: MakePhase) -> None:
    """Done is 5 events after the last word: sends wait for it, receives for the send bus only."""
    phase = make_phase([(0, A, 10, [(5, B)]), (5, B + 400, 10, [(9, C)])])
    assert machine_of(phase, 2, 0, 1).tolist() == [[0, 5], [0, 0]]


def test_an_order_of_memory_rules_out_the_other(make_phase: MakePhase) -> None:
    phase = make_phase([(0, A, 10, [(5, B)]), (5, B, 10, [(9, C)])])
    setup = machine_of(phase, 2, 0, 1)
    assert setup[0, 1] < 100
    assert setup[1, 0] > 10_000


def test_pairs_are_merged_where_no_difference_lies_between(make_phase: MakePhase) -> None:
    phase = make_phase([(0, A, 100, [(5, B), (40, B)]), (62, A, 100, [(5, C), (40, C)])])
    assert len(pairs_of(instance(phase)).one) == 1
    short = make_phase([(0, A, 1, [(5, B), (40, B)]), (62, A, 1, [(5, C), (40, C)])])
    pairs = pairs_of(instance(short))
    assert len(pairs.one) == 2
    assert pairs.several.tolist() == [2, 2]
    assert pairs.high[0] <= pairs.low[1]


def least_by_trial(setup: IntArray, head: IntArray, tail: IntArray) -> int:
    return min(cost(setup, head, tail, order) for order in itertools.permutations(range(len(head))))


def cost(setup: IntArray, head: IntArray, tail: IntArray, order: Sequence[int]) -> int:
    steps = sum(int(setup[one, other]) for one, other in itertools.pairwise(order))
    return int(head[order[0]]) + steps + int(tail[order[-1]])


def random_jobs(seed: int) -> tuple[IntArray, IntArray, IntArray]:
    """Up to 7 jobs of up to 4 kinds; jobs of a kind follow one another at no cost, or at one."""
    draw = np.random.default_rng(seed)
    count = int(draw.integers(1, 8))
    kind = draw.integers(0, 4, count)
    setup = draw.integers(0, 12, (4, 4))[np.ix_(kind, kind)]
    np.fill_diagonal(setup, 0)
    head, tail = draw.integers(0, 20, (2, 4))
    return setup, head[kind], tail[kind]


@pytest.mark.parametrize("seed", range(60))
def test_shortest_order_is_the_best_of_all(seed: int) -> None:
    setup, head, tail = random_jobs(seed)
    value, order = shortest_order(setup, head, tail)
    assert sorted(order.tolist()) == list(range(len(head)))
    assert value == least_by_trial(setup, head, tail) == cost(setup, head, tail, order.tolist())


@pytest.mark.parametrize("seed", range(60))
def test_some_jobs_give_a_lower_bound(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    setup, head, tail = random_jobs(seed)
    monkeypatch.setattr(paths, "MOST_STATES", 0)
    monkeypatch.setattr(paths, "MOST_NODES", 3)
    value, order = shortest_order(setup, head, tail)
    assert sorted(order.tolist()) == list(range(len(head)))
    assert value <= least_by_trial(setup, head, tail)


def test_empty_phase(make_phase: MakePhase) -> None:
    assert sequence_bound(instance(make_phase([]))) == (0, SEQUENCE)


@pytest.mark.parametrize(
    "seed", [*range(200, 212), *(pytest.param(s, marks=pytest.mark.slow) for s in range(212, 300))]
)
def test_bound_against_exhaustive_search(
    tiny_phase: TinyPhase, least_of: Optimum, seed: int
) -> None:
    phase = tiny_phase(seed)
    known = solve(phase, Limits(deterministic=True))[0]
    assert sequence_bound(instance(phase))[0] <= least_of(phase, known)


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(s, marks=pytest.mark.slow) for s in range(3, 24))]
)
def test_bound_of_given_widths_against_exhaustive_search(
    wide_phase: TinyPhase, least_of: Optimum, seed: int
) -> None:
    phase = wide_phase(seed)
    given_widths = dataclasses.replace(phase, paired=qualifying(phase))
    known = append_only(given_widths)
    optimum = least_of(given_widths, dataclasses.replace(known, paired=given_widths.paired))
    assert sequence_bound(instance(given_widths))[0] <= optimum


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_no_valid_schedule_ends_before_the_bound(phases: Phases, data: st.DataObject) -> None:
    phase = data.draw(phases())
    bound, _ = sequence_bound(instance(phase))
    for found in (append_only(phase), solve(phase, Limits(deterministic=True, gap=0.2))[0]):
        assert not check(phase, found)
        assert bound <= horizon(phase, found)


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_starts_in_sequence_keep_all_rules_but_those_of_controls(
    phases: Phases, data: st.DataObject
) -> None:
    problem = data.draw(phases())
    phase = instance(problem)
    pairs = pairs_of(phase)
    key = sequence_keys(sequences(phase), append_only(problem).start)
    start = starts_in_order(phase, pairs, topological(phase, key))
    assert {label for label, _ in check(problem, Solution(start))} <= {"E4", "E7"}


def test_effort_bounds_what_is_looked_at(make_phase: MakePhase) -> None:
    """The muxes of both tiles have the same transfers."""
    phase = instance(make_phase([(0, A, 100, [(5, B), (40, B)]), (62, A, 100, [(5, C), (40, C)])]))
    assert len(sequences(phase)) == 1
    assert sequences(phase, 0) == []
    assert sequence_bound(phase, 0) == (0, SEQUENCE)


def test_a_reserved_partner_receives_neither_before_nor_after_without_a_set_up(
    make_phase: MakePhase,
) -> None:
    """Tile 1 is reserved from P on while tile 0 sends 64 items; X and Y are later than P."""
    problem = make_phase(
        [(0, A, 128, [(4, B), (5, B)]), (30, A, 100, [(1, B)])], paired=[True, False]
    )
    setup = machine_of(problem, 1, 0, 1)
    write = instance(problem).write[2] - instance(problem).window[2]
    assert setup.tolist() == [[0, 0], [write, 0]]
