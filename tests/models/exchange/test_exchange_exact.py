"""CP-SAT model of a component: against exhaustive search, and its parts by hand."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from ipuopt.limits import Limits
from ipuopt.models.exchange import Problem, Solution, append_only, check, horizon, solve
from ipuopt.models.exchange import exact as exact_model
from ipuopt.models.exchange.components import component_of, restrict
from ipuopt.models.exchange.exact import Answer, coinciding, few_pairs, solve_component
from ipuopt.models.exchange.exact_model import build, hint_of, twins_of
from ipuopt.models.exchange.instance import instance
from ipuopt.models.exchange.pairs import pairs_of
from ipuopt.models.exchange.problem import BoolArray, IntArray
from ipuopt.models.exchange.widths import choices, qualifying
from ipuopt.report import SolveStatus
from ipuopt.solvers import cpsat

Transfer = tuple[int, int, int, Sequence[tuple[int, int]]]
MakePhase = Callable[..., Problem]
TinyPhase = Callable[[int], Problem]
Optimum = Callable[[Problem, Solution], int]

A, B, C, D = 0x64000, 0x68000, 0x6C000, 0x70000
LIMITS = Limits(deterministic=True)


def fixed_pointers(problem: Problem) -> BoolArray:
    """Receives at whose address no receive of the tile ends: their pointer is never dropped."""
    words = np.repeat(problem.words, np.diff(problem.destination_start))
    ends = set(
        zip(
            problem.destination_tile.tolist(),
            (problem.destination_address + 4 * words).tolist(),
            strict=True,
        )
    )
    spots = zip(
        problem.destination_tile.tolist(), problem.destination_address.tolist(), strict=True
    )
    return np.array([spot not in ends for spot in spots])


def answers(problem: Problem) -> list[tuple[IntArray, Answer]]:
    """Transfers and answer of every component."""
    whole = instance(problem)
    count, component = component_of(whole)
    pointers = fixed_pointers(problem)
    baseline = append_only(problem).start
    found = []
    for number in range(count):
        transfers = np.flatnonzero(component == number)
        chosen = np.repeat(component == number, np.diff(problem.destination_start))
        phase = restrict(whole, transfers)
        answer = solve_component(
            phase,
            pairs_of(phase),
            baseline[transfers],
            0,
            LIMITS,
            pointers=pointers[chosen],
            name="exchange",
            effort=20.0,
        )
        found.append((transfers, answer))
    return found


@pytest.mark.parametrize(
    "seed", [*range(10), *(pytest.param(s, marks=pytest.mark.slow) for s in range(10, 60))]
)
def test_component_bounds_and_solve_against_exhaustive_search(
    tiny_phase: TinyPhase, least_of: Optimum, seed: int
) -> None:
    phase = tiny_phase(seed)
    solution, report = solve(phase, LIMITS)
    assert not check(phase, solution)
    assert report.bound is not None and report.objective is not None
    optimum = least_of(phase, solution)
    assert report.bound <= optimum <= report.objective
    assert report.status is not SolveStatus.OPTIMAL or report.objective == optimum
    start = np.zeros(len(phase), np.int64)
    bounds = []
    for transfers, answer in answers(phase):
        assert answer.bound is not None and answer.start is not None
        bounds.append(answer.bound)
        start[transfers] = answer.start
    assert max(bounds) <= optimum
    # Without coinciding control events CP-SAT's own starts are valid: then solve lost nothing.
    if not check(phase, Solution(start)) and max(bounds) == horizon(phase, Solution(start)):
        assert report.objective == optimum


def test_most_tiny_phases_are_proven(tiny_phase: TinyPhase) -> None:
    reports = [solve(tiny_phase(seed), LIMITS)[1] for seed in range(40)]
    optimal = [report for report in reports if report.status is SolveStatus.OPTIMAL]
    assert len(optimal) >= 38
    assert any(report.bound_source == "cp-sat" for report in optimal)


def test_a_pair_for_each_send_and_receive_that_share_an_element(make_phase: MakePhase) -> None:
    """Tile 5 sends transfers 2 and 3; only 2 shares its element with a receive (number 2)."""
    phase = make_phase(
        [
            (0, A, 10, [(1, B), (9, B)]),
            (2, A, 10, [(5, B)]),
            (5, B + 400, 10, [(8, C)]),
            (5, C, 10, [(11, D)]),
        ]
    )
    pairs = pairs_of(instance(phase))
    assert list(zip(pairs.one.tolist(), pairs.other.tolist(), strict=True)) == [(1, 2), (2, 3)]


def test_model_accepts_valid_starts_as_complete_hint(make_phase: MakePhase) -> None:
    """Transfers 3 and 4 are twins, hinted in the order in which they are listed."""
    phase = make_phase(
        [
            (0, A, 10, [(5, B)]),
            (5, B + 400, 10, [(9, C)]),
            (2, A, 52, [(5, D)]),
            (0, A, 60, [(7, B)]),
            (0, A + 400, 60, [(7, B + 400)]),
        ]
    )
    whole = instance(phase)
    start = append_only(phase).start
    start[[3, 4]] = start[[4, 3]]
    pairs = pairs_of(whole)
    most = horizon(phase, Solution(start))
    model = build(whole, pairs, fixed_pointers(phase), 0, most)
    assert model.twins == ((3, 4),)
    hint = hint_of(model, whole, pairs, start)
    assert sorted(hint) == list(range(len(model.cp.proto.variables)))
    result = cpsat.run(model.cp, LIMITS, name="exchange", hint=hint)
    assert "complete and is feasible" in result.hint


def test_twins_are_told_apart_by_pointers_and_memory(make_phase: MakePhase) -> None:
    same: Transfer = (0, A, 60, [(7, B)])
    phase = instance(make_phase([same, (0, A + 400, 60, [(7, C)])]))
    assert twins_of(phase, np.array([True, True])) == ((0, 1),)
    assert twins_of(phase, np.array([True, False])) == ()
    ordered = instance(make_phase([same, same]))
    assert twins_of(ordered, np.array([True, True])) == ()


def test_coinciding_control_events_are_named_with_their_offset(make_phase: MakePhase) -> None:
    """T(0, 5) = -32: source event 31 before P, neutral event 21 before, pointer 25 after."""
    phase = make_phase([(0, A, 10, [(5, B)]), (5, A, 10, [(9, C)])])
    whole, always = instance(phase), np.array([True, True])
    never = np.array([False, False])
    assert coinciding(whole, np.array([132, 101]), always) == [(1, 0, -31)]
    assert coinciding(whole, np.array([132, 100]), always) == [(1, 0, -31)]
    assert coinciding(whole, np.array([132, 99]), always) == []
    assert coinciding(whole, np.array([132, 111]), always) == [(1, 0, -21)]
    assert coinciding(whole, np.array([132, 157]), always) == [(1, 0, 25)]
    assert coinciding(whole, np.array([132, 157]), never) == []


def clash(make_phase: MakePhase) -> Problem:
    """Tile 5 must send at event 32 at the latest to end with the rest, and a control comes there.

    Tile 5 receives 31 words from event 1 on: its neutral event is 32.
    """
    return make_phase([(0, A, 31, [(5, B)]), (5, C, 31, [(9, C)])])


def test_coinciding_control_events_are_cut_off(make_phase: MakePhase, least_of: Optimum) -> None:
    phase = clash(make_phase)
    whole = instance(phase)
    assert coinciding(whole, np.array([32, 32]), np.array([True, True]))
    optimum = least_of(phase, append_only(phase))
    ((_, answer),) = answers(phase)
    assert answer.start is not None
    assert not check(phase, Solution(answer.start))
    assert answer.bound == horizon(phase, Solution(answer.start)) == optimum


def test_large_components_are_left_out(
    make_phase: MakePhase, monkeypatch: pytest.MonkeyPatch
) -> None:
    phase = instance(make_phase([(0, A, 10, [(5, B)])] * 3))
    assert few_pairs(phase) is not None
    monkeypatch.setattr(exact_model, "LARGEST", 2)
    assert few_pairs(phase) is None


def test_components_of_many_pairs_are_left_out(
    make_phase: MakePhase, monkeypatch: pytest.MonkeyPatch
) -> None:
    phase = instance(make_phase([(0, A, 10, [(5, B)])] * 3))
    monkeypatch.setattr(exact_model, "MOST_PAIRS", 2)
    assert few_pairs(phase) is None


def test_sequences_that_fit_together_need_no_solver(make_phase: MakePhase) -> None:
    phase = make_phase([(0, A, 100, [(5, B), (40, B)]), (62, A, 100, [(5, C), (40, C)])])
    ((_, answer),) = answers(phase)
    assert answer.result.solver == "none"
    assert answer.start is not None
    assert not check(phase, Solution(answer.start))
    assert answer.bound == horizon(phase, Solution(answer.start))


@pytest.mark.parametrize(
    "seed", [0, 2, 8, *(pytest.param(s, marks=pytest.mark.slow) for s in range(9, 24))]
)
def test_solve_of_both_widths_against_exhaustive_search(
    wide_phase: TinyPhase, least_of: Optimum, seed: int
) -> None:
    """Every choice of widths, as given and as the decision; bounds are never above the optimum.

    Claims keep a neutral event and a source event of Paired64 apart by an event more than needed.
    Where some of the transfers that qualify had better stay Word32, that choice may not be tried.
    """
    problem = wide_phase(seed)
    tried = {mask.tobytes() for mask in choices(problem)}
    optima, offered = [], []
    for paired in itertools.product(
        *((False, True) if may else (False,) for may in qualifying(problem))
    ):
        given = dataclasses.replace(problem, paired=np.array(paired, np.bool_))
        solution, report = solve(given, LIMITS)
        optimum = least_of(given, solution)
        assert report.bound is not None and report.objective is not None
        assert report.bound <= optimum <= report.objective <= optimum + 2
        optima.append(optimum)
        if given.paired.tobytes() in tried:
            offered.append(report.objective)
    solution, report = solve(problem, LIMITS, free=True)
    assert not check(problem, solution)
    assert report.bound is not None and report.objective is not None
    assert report.bound <= min(optima) <= report.objective <= min(offered)
