"""Presolve, bounds, search and solve against exhaustive search on small random problems."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ipuopt.limits import Limits
from ipuopt.models.assignment import Problem, Solution, check, evaluate, solve
from ipuopt.models.assignment.bounds import certificate
from ipuopt.models.assignment.graph import Graph, graph_of
from ipuopt.models.assignment.heuristics import Searchable
from ipuopt.models.assignment.multipliers import Ascent
from ipuopt.models.assignment.presolve import presolve
from ipuopt.models.assignment.problem import FORBIDDEN
from ipuopt.models.assignment.range_tree import add, largest, range_tree
from ipuopt.models.assignment.variable_elimination import optimum
from ipuopt.report import SolveStatus

Make = Callable[..., Problem]
Least = Callable[[Problem], tuple[int | None, bool]]

INSTANCES = 600
"""Random problems of each kind: with and without memory."""


def everything(graph: Graph) -> list[tuple[int, tuple[int, ...]]]:
    """Cost of every choice of labels of a graph that fits, without forbidden ones."""
    searchable = Searchable.of(graph, Ascent(graph).passing)
    found = []
    for labels in np.ndindex(*graph.sizes.tolist()):
        chosen = np.array(labels, dtype=np.int64)
        if not (searchable.use(chosen) > 0).any():
            cost = searchable.cost(chosen) + graph.constant
            if cost < FORBIDDEN:
                found.append((cost, labels))
    return found


@pytest.mark.parametrize("limited", [True, False], ids=["memory", "no memory"])
def test_presolve_keeps_a_best_solution(make: Make, least: Least, limited: bool) -> None:
    """What is left has the optimum of the problem, and its solutions cost what it says."""
    infeasible = 0
    for seed in range(INSTANCES):
        problem = make(seed, limited=limited)
        best, _ = least(problem)
        left = presolve(graph_of(problem))
        if left is None:
            infeasible += 1
            assert best is None, seed
            continue
        choices = everything(left.graph)
        assert min((cost for cost, _ in choices), default=None) == best, seed
        for cost, labels in sorted(choices)[:3]:
            solution = Solution(left.lift(np.array(labels, dtype=np.int64)))
            assert check(problem, solution) == ()
            assert evaluate(problem, solution) == cost, seed
    assert infeasible < INSTANCES / 2


@pytest.mark.parametrize("limited", [True, False], ids=["memory", "no memory"])
def test_certified_bounds_hold(make: Make, least: Least, limited: bool) -> None:
    """After some passes, and for messages and prices that are anything."""
    random = np.random.default_rng(0)
    gaps = []
    for seed in range(INSTANCES):
        problem = make(seed, limited=limited)
        best, _ = least(problem)
        if best is None:
            continue
        graph = graph_of(problem)
        keep = presolve(graph)
        assert keep is not None
        ascent = Ascent(keep.graph)
        for _ in range(6):
            ascent.advance(float(best))
            assert ascent.certified() <= best, seed
        gaps.append(best - ascent.certified())
        for messages in (ascent.passing.to_tail, ascent.passing.to_head):
            messages += random.normal(0, 10.0 ** random.integers(0, 12), len(messages))
        prices = random.exponential(5.0, len(keep.graph.memory.room))
        assert certificate(keep.graph, ascent.passing, prices).bound <= best, seed
    assert np.mean(np.array(gaps) <= 0) > (0.5 if limited else 0.8)


def test_variable_elimination_is_exact(make: Make, least: Least) -> None:
    for seed in range(200):
        problem = make(seed, limited=False)
        best, _ = least(problem)
        found = optimum(graph_of(problem))
        assert found is not None
        assert (found[0] if found[0] < FORBIDDEN else None) == best
        if best is not None:
            assert evaluate(problem, Solution(found[1])) == best


@pytest.mark.parametrize("limited", [True, False], ids=["memory", "no memory"])
def test_solve_finds_and_proves_the_optimum(make: Make, least: Least, limited: bool) -> None:
    for seed in range(1000, 1040):
        problem = make(seed, limited=limited)
        best, fits = least(problem)
        limits = Limits(deadline=time.monotonic() + 20, deterministic=True, budget_s=0.01)
        solution, report = solve(problem, limits)
        if not fits:
            assert report.status is SolveStatus.INFEASIBLE
            assert solution is None
            continue
        assert solution is not None and report.objective is not None
        assert check(problem, solution) == ()
        assert evaluate(problem, solution) == report.objective
        assert report.bound is not None
        if best is None:
            assert report.objective >= FORBIDDEN
        else:
            assert report.bound <= best <= report.objective
            assert report.status is SolveStatus.OPTIMAL, seed


def test_repeatable_runs_give_the_same_strategies(make: Make) -> None:
    problem = make(7, limited=True, nodes=60, most=6)
    loose = replace(problem, limit=180)
    found = []
    for _ in range(2):
        limits = Limits(deadline=time.monotonic() + 60, deterministic=True, budget_s=0.5, threads=2)
        solution, _ = solve(loose, limits, backend="heuristic")
        assert solution is not None
        found.append(solution.strategy.tolist())
    assert found[0] == found[1]


def test_the_tree_of_rows_answers_as_an_array_does() -> None:
    random = np.random.default_rng(1)
    for rows in (1, 2, 5, 64, 100):
        values = random.integers(-50, 50, rows)
        tree = range_tree(values)
        for _ in range(60):
            start, stop = sorted(random.integers(0, rows + 1, 2).tolist())
            amount = int(random.integers(-9, 9))
            add(*tree, start, stop, amount)
            values[start:stop] += amount
            start = int(random.integers(0, rows))
            stop = int(random.integers(start + 1, rows + 1))
            assert largest(*tree, start, stop) == values[start:stop].max()


def test_the_checker_names_every_violation() -> None:
    problem = Problem(
        "two",
        np.array([0, 1]),
        np.array([2, 3]),
        np.array([0, 2, 4]),
        np.array([1, 2, 3, 4]),
        np.array([5, 1, 5, 1]),
        np.array([0]),
        np.array([1]),
        np.array([0, 4]),
        np.array([10, 20, 30, FORBIDDEN]),
        6,
    )
    assert check(problem, Solution(np.array([0]))) == (("N1", "1 strategies for 2 nodes"),)
    assert check(problem, Solution(np.array([0, 2]))) == (
        ("N1", "node 1: strategy 2 is not one of 2"),
    )
    assert check(problem, Solution(np.array([0, 0]))) == (("N2", "time 1: 10 of 6 in use"),)
    assert check(problem, Solution(np.array([0, 1]))) == ()
    assert evaluate(problem, Solution(np.array([0, 1]))) == 1 + 4 + 20
    assert evaluate(problem, Solution(np.array([1, 1]))) == 2 + 4 + FORBIDDEN
