"""Tiles that get less memory for data are placed again; all others stay where they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ipuopt
from ipuopt.codegen.lower import lower
from ipuopt.limits import Limits
from ipuopt.models.mapping import beam_search
from ipuopt.models.mapping.space import build_space
from ipuopt.models.placement import Placed, check_program, place_again, solve_program
from ipuopt.models.placement.check import footprint
from ipuopt.models.placement.problem import Solution
from ipuopt.models.placement.tiles import tile_classes
from ipuopt.program import Program
from ipuopt.report import SolveReport
from ipuopt.target.memory import EXECUTABLE_END, STANDARD_ELEMENT, SUPPORT_END

LIMITS = Limits(deterministic=True)
FIRST = Path(__file__).parents[3] / "examples" / "first.yaml"

Case = tuple[Program, Placed, SolveReport]


@pytest.fixture(scope="module")
def case() -> Case:
    """The plan of a small example by the heuristics, placed as usual."""
    space = build_space(ipuopt.load(FIRST), LIMITS)
    solution = beam_search(space.problem, LIMITS)
    assert solution is not None
    program = lower(space.plan(solution))
    placed, report = solve_program(program, LIMITS, heuristic_only=True)
    assert placed is not None
    return program, placed, report


def test_only_tiles_that_have_to_move(case: Case) -> None:
    program, placed, report = case
    low = np.full(program.tiles, SUPPORT_END)
    low[1] += 2 * STANDARD_ELEMENT
    violations = check_program(program, placed.address, placed.boundary, low)
    assert violations and {label for label, _ in violations} == {"A1"}
    found = place_again(program, placed, report, low, LIMITS, heuristic_only=True)
    assert found is not None
    again, told = found
    assert check_program(program, again.address, again.boundary, low) == ()
    others = program.shards.tile != 1
    np.testing.assert_array_equal(again.address[others], placed.address[others])
    np.testing.assert_array_equal(np.delete(again.boundary, 1), np.delete(placed.boundary, 1))
    assert again.address[~others].min() >= low[1]
    assert told.objective == max(
        footprint(entry.problem, Solution(again.address[shards], int(again.boundary[tile])))
        for entry in tile_classes(program, low_start=low)
        for shards in entry.shards
        for tile in [program.shards.tile[shards[0]]]
    )
    assert told.bound == report.bound and "1 tiles placed again for their rows" in told.run.note


def test_nothing_is_proven_when_none_is_found(
    case: Case, monkeypatch: pytest.MonkeyPatch, nowhere: Callable[..., list[object]]
) -> None:
    program, placed, report = case
    monkeypatch.setattr("ipuopt.models.placement.again.improve_all", nowhere)
    low = np.full(program.tiles, EXECUTABLE_END)
    assert place_again(program, placed, report, low, LIMITS, heuristic_only=True) is None


@pytest.fixture
def nowhere() -> Callable[..., list[object]]:
    """Heuristics that place no class."""
    from ipuopt.models.placement.refine import start_of

    def improve(groups: list[object], *_: object) -> list[object]:
        return [start_of(None, 0) for _ in groups]

    return improve
