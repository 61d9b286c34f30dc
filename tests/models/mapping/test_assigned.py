"""The mapping problem as one of layout assignment: a bound on every choice, exact without staging."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ipuopt.limits import Limits
from ipuopt.models.mapping import assigned as strategy
from ipuopt.models.mapping import check, evaluate, solve
from ipuopt.models.mapping.assigned import SOURCE, assigned
from ipuopt.models.mapping.problem import Problem

MakeProblem = Callable[..., Problem]
Optimum = Callable[[Problem], int | None]


def without_staging(problem: Problem) -> Problem:
    edges = (
        replace(e, staging=np.zeros_like(e.staging), large=np.zeros_like(e.large))
        for e in problem.edges
    )
    return replace(problem, edges=tuple(edges))


def test_bound_against_brute_force(random_problem: MakeProblem, optimum: Optimum) -> None:
    """Never above the optimum; without staging the optimum itself, with a choice of that cost."""
    feasible = tight = 0
    for seed in range(150):
        problem = random_problem(seed, chain=seed % 2 == 0)
        best, found = optimum(problem), assigned(problem, lambda: False)
        if best is not None:
            assert found is not None and found.bound <= best
            feasible += 1
            tight += found.bound == best
        if found is not None and not check(problem, found.solution):
            assert evaluate(problem, found.solution) == found.bound == best
        plain = without_staging(problem)
        exact, found = optimum(plain), assigned(plain, lambda: False)
        assert (None if found is None else found.bound) == exact
        if found is not None:
            assert check(plain, found.solution) == ()
            assert evaluate(plain, found.solution) == exact
    assert feasible > 50 and tight > feasible // 2


def test_it_says_nothing_where_too_much_is_left(
    random_problem: MakeProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = next(
        p for p in map(random_problem, range(50)) if assigned(p, lambda: False) is not None
    )
    assert assigned(problem, lambda: True) is None
    monkeypatch.setattr(strategy, "MOST_CHOICES", 0)
    assert assigned(problem, lambda: False) is None
    monkeypatch.setattr(strategy, "MOST_CELLS", -1)
    assert assigned(problem, lambda: False) is None


def test_it_proves_plans(random_problem: MakeProblem, optimum: Optimum) -> None:
    """As part of the strategy it is named where it brings the bound."""
    named = 0
    for seed in range(60):
        problem = random_problem(seed)
        _, report = solve(problem, Limits(deterministic=True))
        assert report.objective == optimum(problem)
        named += report.bound_source == SOURCE
    assert named
