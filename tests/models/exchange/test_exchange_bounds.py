"""Bounds by hand, and below every schedule that the checker accepts."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence

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
    insert_in_order,
    lower_bound,
    solve,
)
from ipuopt.models.exchange.bounds import CHAIN, CLIQUE, PAIR, PREEMPTIVE, SIMPLE, WIDTHS
from ipuopt.models.exchange.widths import qualifying

Transfer = tuple[int, int, int, Sequence[tuple[int, int]]]
MakePhase = Callable[..., Problem]
TinyPhase = Callable[[int], Problem]
Phases = Callable[..., st.SearchStrategy[Problem]]
Optimum = Callable[[Problem, Solution], int]

A, B, C, D = 0x64000, 0x68000, 0x6C000, 0x70000


def test_one_transfer_is_its_own_bound(make_phase: MakePhase) -> None:
    # T(0, 5) = -32: from event 32, window [1, 11), done 61 events later
    assert lower_bound(make_phase([(0, A, 10, [(5, B)])])) == (72, SIMPLE)


def test_words_of_a_receiver_add_up(make_phase: MakePhase) -> None:
    """First window at event 1, 10 + 200 + 30 words, then 57 + 2 * 2 events (``ipu21.md`` 3.4)."""
    sources: list[Transfer] = [(0, A, 10, [(5, B)]), (2, A, 200, [(5, C)]), (8, A, 30, [(5, D)])]
    assert lower_bound(make_phase(sources)) == (1 + 240 + 61, SIMPLE)


def test_words_of_a_sender_add_up(make_phase: MakePhase) -> None:
    """T(0, 1) = -28, T(0, 5) = -32: the send to tile 1 starts first, or the tails are longer."""
    phase = make_phase([(0, A, 100, [(1, B)]), (0, A, 100, [(5, B)])])
    # to tile 1: done 30 after the send, to tile 5: 30 as well; earliest start 28
    assert lower_bound(phase) == (28 + 200 + 30, SIMPLE)
    assert not check(phase, Solution(np.array([28, 128])))
    assert horizon(phase, Solution(np.array([28, 128]))) == 258


def test_multicast_counts_once_for_the_sender(make_phase: MakePhase) -> None:
    phase = make_phase([(0, A, 100, [(1, B), (5, B), (9, B)])])
    assert lower_bound(phase)[0] == horizon(phase, append_only(phase))


def test_late_releases_need_the_preemptive_schedule(make_phase: MakePhase) -> None:
    """Tile 30 may send to tile 0 from event 0 on, to tiles 42 and 44 only from about 40 on."""
    near, far, farther = ((30, A, 20, [(tile, B)]) for tile in (0, 42, 44))
    late = lower_bound(make_phase([far, farther]))
    assert late[1] == SIMPLE
    assert lower_bound(make_phase([near, far, farther])) == (late[0], PREEMPTIVE)


def test_chain_of_dependencies(make_phase: MakePhase) -> None:
    """Payloads take 35 events from tile 0 to 5, and 39 from 5 to 9; the last is done 47 later."""
    phase = make_phase([(0, A, 10, [(5, B)]), (5, B, 10, [(9, C)]), (9, C, 10, [(0, D)])])
    assert lower_bound(phase)[0] == 32 + 35 + 39 + 47
    found = Solution(np.array([32, 67, 106]))
    assert "E5" not in {label for label, _ in check(phase, found)}
    assert horizon(phase, found) == 153


def test_shared_element_is_a_machine(make_phase: MakePhase) -> None:
    """Tile 5 writes and reads one element: 100 + 100 words pass it one after another."""
    apart = make_phase([(0, A, 100, [(5, B)]), (5, C, 100, [(9, B)])])
    shared = make_phase([(0, A, 100, [(5, B)]), (5, B + 400, 100, [(9, B)])])
    assert lower_bound(shared)[0] >= lower_bound(apart)[0] + 50


def test_clique_over_two_elements(make_phase: MakePhase) -> None:
    """Tile 5 reads a span of both elements that it is written on: no receive passes beside it."""
    phase = make_phase(
        [(5, B + 8000, 4000, [(9, B)]), (0, A, 900, [(5, B)]), (2, A, 900, [(5, C + 0x1000)])]
    )
    bound, source = lower_bound(phase)
    assert source == CLIQUE
    assert 4000 + 900 + 900 < bound <= 4000 + 900 + 900 + 200


def test_two_buses_carry_the_words_of_a_pair(make_phase: MakePhase) -> None:
    """1000 words from each of tiles 0 and 1, to other pairs: 1000 events, however wide."""
    phase = make_phase([(0, A, 1000, [(4, B), (5, B)]), (1, A, 1000, [(8, B), (9, B)])])
    bound, source = lower_bound(phase, free=True)
    assert source in (PAIR, WIDTHS)
    assert 1000 < bound <= lower_bound(phase)[0]
    alone = make_phase([(0, A, 1000, [(4, B), (5, B)])])
    assert lower_bound(alone, free=True)[0] < 700


def test_partner_cannot_receive_beside_a_wide_send(make_phase: MakePhase) -> None:
    """Given widths: 500 events reserve tile 1, which receives 800 words."""
    transfers: list[Transfer] = [(0, A, 1000, [(4, B), (5, B)]), (8, A, 800, [(1, B)])]
    assert lower_bound(make_phase(transfers, paired=[True, False]))[0] > 1300
    assert lower_bound(make_phase(transfers))[0] < 1200


def test_empty_phase(make_phase: MakePhase) -> None:
    assert lower_bound(make_phase([])) == (0, SIMPLE)


@pytest.mark.parametrize(
    "seed", [*range(100, 108), *(pytest.param(s, marks=pytest.mark.slow) for s in range(108, 140))]
)
def test_optimum_lies_between_bound_and_heuristics(
    tiny_phase: TinyPhase, least_of: Optimum, seed: int
) -> None:
    phase = tiny_phase(seed)
    inserted = insert_in_order(phase, np.arange(len(phase)))
    known = min((inserted, append_only(phase)), key=lambda found: horizon(phase, found))
    optimum = least_of(phase, known)
    assert lower_bound(phase)[0] <= optimum
    assert optimum <= horizon(phase, inserted)
    assert optimum <= horizon(phase, append_only(phase))


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_no_valid_schedule_ends_before_the_bound(phases: Phases, data: st.DataObject) -> None:
    phase = data.draw(phases())
    bound, source = lower_bound(phase)
    assert source in (SIMPLE, PREEMPTIVE, CHAIN, CLIQUE)
    for found in (append_only(phase), solve(phase, Limits(deterministic=True, gap=0.2))[0]):
        assert not check(phase, found)
        assert bound <= horizon(phase, found)


@given(st.data())
@settings(max_examples=20, deadline=None)
def test_bound_of_a_part_is_no_larger(
    phases: Phases, make_phase: MakePhase, data: st.DataObject
) -> None:
    """Leaving out the last transfer only takes rules away."""
    phase = data.draw(phases(least=2))
    count = len(phase) - 1
    receivers = int(phase.destination_start[count])
    part = Problem(
        name="part",
        tiles=phase.tiles,
        source=phase.source[:count],
        source_address=phase.source_address[:count],
        words=phase.words[:count],
        destination_start=phase.destination_start[: count + 1],
        destination_tile=phase.destination_tile[:receivers],
        destination_address=phase.destination_address[:receivers],
    )
    assert lower_bound(part)[0] <= lower_bound(phase)[0]


def first_fit(problem: Problem, paired: Sequence[bool]) -> Solution:
    """Each transfer in listed order at the first start that the checker accepts."""
    bounds = problem.destination_start
    start: list[int] = []
    for count in range(1, len(problem) + 1):
        part = Problem(
            name="part",
            tiles=problem.tiles,
            source=problem.source[:count],
            source_address=problem.source_address[:count],
            words=problem.words[:count],
            destination_start=bounds[: count + 1],
            destination_tile=problem.destination_tile[: bounds[count]],
            destination_address=problem.destination_address[: bounds[count]],
        )
        widths = np.array(paired[:count], np.bool_)
        start.append(
            next(
                event
                for event in itertools.count()
                if not check(part, Solution(np.array([*start, event]), widths))
            )
        )
    return Solution(np.array(start), np.array(paired, np.bool_))


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(s, marks=pytest.mark.slow) for s in range(3, 24))]
)
def test_optimum_of_every_choice_of_widths_is_above_the_bounds(
    wide_phase: TinyPhase, least_of: Optimum, seed: int
) -> None:
    phase = wide_phase(seed)
    choices = [(False, True) if may else (False,) for may in qualifying(phase)]
    least = []
    for paired in itertools.product(*choices):
        optimum = least_of(phase, first_fit(phase, paired))
        given = dataclasses.replace(phase, paired=np.array(paired, np.bool_))
        assert lower_bound(given)[0] <= optimum, paired
        least.append(optimum)
    assert lower_bound(phase, free=True)[0] <= min(least)
