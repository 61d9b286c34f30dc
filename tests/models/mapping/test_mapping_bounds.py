"""Bounds are never above the optimum, and what is left out never loses it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipuopt.limits import Limits
from ipuopt.models.mapping import Capacity, Problem, Solution, beam_search, check, evaluate
from ipuopt.models.mapping.bounds import lower_bound, tighten
from ipuopt.models.mapping.messages import Potentials, is_forest, label_bounds, pair_bounds, settle
from ipuopt.models.mapping.problem import FORBIDDEN
from ipuopt.models.mapping.reduction import Reduction, consistent, undominated
from ipuopt.models.mapping.slices import fitting, slice_of, slices

MakeProblem = Callable[..., Problem]
Optimum = Callable[[Problem], int | None]

ROOM = Capacity(10**6, 10**7, 10**6, 10**7, 16)


def without_memory(problem: Problem) -> Problem:
    return Problem(problem.nodes, problem.edges, problem.steps, ROOM)


@pytest.mark.parametrize("seed", range(40))
def test_exact_on_chains(seed: int, random_problem: MakeProblem, optimum: Optimum) -> None:
    """Without memory limits the bound of a chain is the optimum."""
    problem = without_memory(random_problem(seed, chain=True))
    assert is_forest(problem)
    assert lower_bound(problem) == optimum(problem)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), nodes=st.integers(1, 5))
def test_never_above_the_optimum(
    seed: int, nodes: int, random_problem: MakeProblem, optimum: Optimum
) -> None:
    problem = random_problem(seed, nodes=nodes, labels=3)
    best, bound = optimum(problem), lower_bound(problem)
    if best is not None:
        assert bound is not None
        assert bound <= best


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("chain", [True, False])
def test_bounds_of_labels_and_pairs(
    seed: int, chain: bool, random_problem: MakeProblem, optimum: Optimum
) -> None:
    """Each is at most the best solution that uses the label; on a chain it is equal."""
    reduction = consistent(Reduction.of(without_memory(random_problem(seed, 4, 3, chain))))
    if reduction is None:
        pytest.skip("no layouts go together")
    problem = reduction.problem
    potentials = Potentials.of(problem)
    settle(potentials)
    for node, bounds in enumerate(label_bounds(potentials)):
        for label, bound in enumerate(bounds):
            keep = [np.ones(len(n.cost), dtype=np.bool_) for n in problem.nodes]
            keep[node] = np.arange(len(keep[node])) == label
            fixed = reduction.restrict(keep)
            assert fixed is not None
            best = optimum(fixed.problem)
            assert best is None or bound <= best
            assert not chain or bound == best
    for number, (edge, bounds) in enumerate(
        zip(problem.edges, pair_bounds(potentials), strict=True)
    ):
        for pair in zip(*np.nonzero(edge.cost != FORBIDDEN), strict=True):
            closed = [np.zeros(e.cost.shape, dtype=np.bool_) for e in problem.edges]
            closed[number][:] = True
            closed[number][pair] = False
            best = optimum(reduction.forbid(closed).problem)
            assert best is None or bounds[pair] <= best
            assert not chain or bounds[pair] == best


@pytest.mark.parametrize("seed", range(40))
def test_dominated_labels_are_not_missed(
    seed: int, random_problem: MakeProblem, optimum: Optimum
) -> None:
    problem = random_problem(seed, labels=6)
    reduction = undominated(Reduction.of(problem))
    assert optimum(reduction.problem) == optimum(problem)


def test_dominated_label_goes(random_problem: MakeProblem) -> None:
    """A copy of every label that costs one cycle more is left out."""
    problem = random_problem(3, chain=True)
    nodes = tuple(
        replace(
            node,
            cost=np.concatenate([node.cost, node.cost + 1]),
            standard=np.tile(node.standard, (2, 1)),
            interleaved=np.tile(node.interleaved, (2, 1)),
            large=np.tile(node.large, (2, 1)),
        )
        for node in problem.nodes
    )
    edges = tuple(
        replace(e, tail_group=np.tile(e.tail_group, 2), head_group=np.tile(e.head_group, 2))
        for e in problem.edges
    )
    reduction = undominated(Reduction.of(replace(problem, nodes=nodes, edges=edges)))
    for node, labels in zip(problem.nodes, reduction.labels, strict=True):
        assert labels.max() < len(node.cost)


@pytest.mark.parametrize("seed", range(30))
def test_tightened_keeps_the_optimum(
    seed: int, random_problem: MakeProblem, optimum: Optimum
) -> None:
    """From no incumbent and from the beam's: bound, reduction and incumbent agree with the judge."""
    problem = random_problem(seed, labels=5, chain=seed % 2 == 0)
    best = optimum(problem)
    for incumbent in (None, beam_search(problem, Limits())):
        result = tighten(problem, incumbent, Limits())
        assert result.complete
        if best is None:
            assert result.incumbent is None
            continue
        assert result.bound is not None
        assert result.bound <= best
        assert result.reduction is not None
        assert optimum(result.reduction.problem) == best
        if result.incumbent is not None:
            assert check(problem, result.incumbent) == ()
            assert evaluate(problem, result.incumbent) >= best
            assert result.reduction.lower(result.incumbent) is not None


def test_past_the_deadline(random_problem: MakeProblem, optimum: Optimum) -> None:
    """With no time left the bound stays valid and the reduction keeps the optimum."""
    for seed in range(20):
        problem = random_problem(seed)
        best = optimum(problem)
        if best is None:
            continue
        result = tighten(problem, None, Limits().within(0))
        assert result.bound is not None
        assert result.bound <= best
        assert result.reduction is not None
        assert optimum(result.reduction.problem) == best


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_slices_cover_every_feasible_choice(seed: int, random_problem: MakeProblem) -> None:
    """A feasible choice survives in the slice of its own boundary."""
    problem = random_problem(seed)
    solution = beam_search(problem, Limits())
    if solution is None:
        return
    pairs = zip(problem.nodes, solution.labels, strict=True)
    peak = sum((node.interleaved[label] for node, label in pairs), np.int64(0))
    granules = -(-int(np.max(peak)) // problem.capacity.granule)
    (own,) = [part for part in slices(problem) if part.least <= granules <= part.most]
    start = consistent(Reduction.of(problem))
    assert start is not None
    left = fitting(start, own)
    assert left is not None
    assert left.lower(solution) is not None


def test_slice_with_one_boundary_is_exact() -> None:
    """Limits of a boundary of 2 x 16 bytes."""
    capacity = Capacity(interleaved=40, total=150, low=50, high=100, granule=16)
    only = slice_of(capacity, 2, 2)
    assert (only.standard, only.interleaved, only.large) == (118, 32, 68)
    assert slice_of(capacity, 3, 3).interleaved == 40


def test_lift_and_lower(random_problem: MakeProblem) -> None:
    reduction = Reduction.of(random_problem(5, labels=5, chain=True))
    keep = [np.arange(len(n.cost)) % 2 == 0 for n in reduction.problem.nodes]
    smaller = reduction.restrict(keep)
    assert smaller is not None
    solution = Solution(tuple(len(labels) - 1 for labels in smaller.labels))
    assert smaller.lower(smaller.lift(solution)) == solution
    assert reduction.restrict([np.zeros_like(mask) for mask in keep]) is None
