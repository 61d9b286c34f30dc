"""Element conflicts that remain after placement: none of them can be avoided on its tile.

The judge is a model without objective: every pair that a phase reads and writes becomes a pair that
may share no element, and CP-SAT says whether such a placement exists. It knows nothing of what the
solve tried. On the public compiler's plan nothing remains (``test_placement_program.py``).
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ipuopt
from ipuopt.codegen.lower import lower
from ipuopt.limits import Limits
from ipuopt.models import mapping
from ipuopt.models.mapping.space import build_space
from ipuopt.models.placement import solve_program
from ipuopt.models.placement.bounds import footprint_bound
from ipuopt.models.placement.check import conflict_words, program_conflict_words
from ipuopt.models.placement.classes import improve_all, refine_worst
from ipuopt.models.placement.exact import Model
from ipuopt.models.placement.problem import Problem, Regions, Solution
from ipuopt.models.placement.tiles import TileClass, tile_classes
from ipuopt.program import Program
from ipuopt.report import SolveStatus
from ipuopt.solvers import cpsat

EXAMPLES = Path(__file__).parents[3] / "examples"
REPEATABLE = Limits(deterministic=True)


def element_free(problem: Problem) -> SolveStatus:
    """INFEASIBLE if every placement lets some conflict pair share an element."""
    apart = problem.conflict[:, 0] != problem.conflict[:, 1]
    strict = replace(
        problem,
        distinct=np.concatenate((problem.distinct, problem.conflict[apart])),
        conflict=problem.conflict[:0],
        conflict_words=problem.conflict_words[:0],
    )
    return cpsat.run(Model(strict).cp, REPEATABLE, name="element free").status


def left_over(program: Program, limits: Limits) -> list[TileClass]:
    """Classes whose placement keeps conflicts, after the placement of the whole program."""
    placed, _ = solve_program(program, limits)
    assert placed is not None
    found = []
    total = 0
    for entry in tile_classes(program):
        tile = int(program.shards.tile[entry.shards[0, 0]])
        solution = Solution(placed.address[entry.shards[0]], int(placed.boundary[tile]))
        words = conflict_words(entry.problem, solution)
        total += words * len(entry.shards)
        if words:
            found.append(entry)
    assert total == program_conflict_words(program, placed.address)
    return found


@pytest.mark.slow
def test_our_own_plan_of_it() -> None:
    space = build_space(ipuopt.load(EXAMPLES / "siglip-mlp.yaml"), Limits())
    beam = mapping.beam_search(space.problem, Limits())
    assert beam is not None
    for entry in left_over(lower(space.plan(beam)), Limits().within(60.0)):
        assert element_free(entry.problem) is SolveStatus.INFEASIBLE, entry.problem.name


GRAIN = 0x2000
TINY = Regions(0x7C000, 0x80000, 0x80000, 0x80000 + 0xE000, 0x8000)


def crowded_tile(seed: int) -> Problem:
    """Four buffers of whole grains on nine grains, both classes, many pairs."""
    random = np.random.default_rng(seed)
    start = random.integers(0, 3, 4)
    pairs = random.permutation(np.array(list(itertools.combinations(range(4), 2))))
    return Problem(
        name=f"crowded {seed}",
        regions=TINY,
        size_bytes=random.integers(1, 4, 4) * GRAIN,
        alignment=np.full(4, GRAIN),
        interleaved=random.integers(0, 2, 4),
        live_start=start,
        live_stop=start + random.integers(1, 3, 4),
        distinct=pairs[:0],
        conflict=pairs[:4],
        conflict_words=random.integers(1, 9, 4),
    )


@pytest.mark.parametrize("first", [0, 12])
def test_crowded_tiles(first: int) -> None:
    """Tiles of nine grains: some cannot be free of conflicts, and some are."""
    groups = [TileClass(crowded_tile(first + seed), np.arange(4)[None]) for seed in range(12)]
    states = improve_all(groups, [footprint_bound(group.problem) for group in groups], REPEATABLE)
    refine_worst(groups, states, REPEATABLE)
    outcomes = set()
    for group, state in zip(groups, states, strict=True):
        problem, free = group.problem, element_free(group.problem)
        if state.found is None:
            assert free is SolveStatus.INFEASIBLE
            continue
        words = state.found.cost.words
        assert words == conflict_words(problem, state.found.solution)
        assert (words > 0) == (free is SolveStatus.INFEASIBLE)
        assert state.words_proven
        outcomes.add(words > 0)
    assert outcomes == {False, True}


def test_the_judge_by_hand() -> None:
    """Two buffers of a grain in one pair of elements share it; with the element below they need not."""
    problem = replace(
        crowded_tile(0),
        size_bytes=np.full(4, GRAIN),
        interleaved=np.array([1, 1, 0, 0]),
        regions=replace(TINY, high_stop=0x88000),
        conflict=np.array([[2, 3]]),
        conflict_words=np.array([5]),
        live_start=np.zeros(4, dtype=np.int64),
        live_stop=np.ones(4, dtype=np.int64),
    )
    assert (
        element_free(problem) is SolveStatus.INFEASIBLE
    )  # the pair belongs to the interleaved two
    lower_only = replace(problem, interleaved=np.zeros(4, dtype=np.int64))
    assert element_free(lower_only) is SolveStatus.OPTIMAL
