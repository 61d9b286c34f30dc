"""Prices raised to what plans take: exactly where the steps of a plan are priced."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from ipuopt.limits import Limits
from ipuopt.models import mapping
from ipuopt.models.mapping import evaluate
from ipuopt.models.mapping.corrections import Corrections
from ipuopt.models.mapping.problem import Problem, Solution
from ipuopt.models.mapping.space import Space

Draw = Callable[[Problem, int, int], Iterator[tuple[int, ...]]]


def raised(problem: Problem, other: Problem) -> int:
    """How many prices of labels and pairs differ."""
    nodes = zip(problem.nodes, other.nodes, strict=True)
    edges = zip(problem.edges, other.edges, strict=True)
    return sum(int((a.cost != b.cost).sum()) for pairs in (nodes, edges) for a, b in pairs)


def test_a_plan_costs_what_its_steps_take(space: Space, draw: Draw) -> None:
    """Every step has its price, which rises to what is learnt and never falls."""
    for labels in draw(space.problem, 6, 3):
        solution = Solution(labels)
        plan = space.plan(solution)
        prices = np.array([sum(step.terms.values()) for step in plan.steps])
        corrections = Corrections(space)
        corrections.learn(solution, prices)
        assert raised(corrections.problem, space.problem) == 0
        takes = prices + np.arange(1, len(prices) + 1)
        corrections.learn(solution, takes)
        corrections.learn(solution, prices)
        assert evaluate(corrections.problem, solution) == takes.sum()
        prices_of_steps = raised(corrections.problem, space.problem)
        if all(part.base is None for part in space.parts):
            assert prices_of_steps == len(plan.steps)
        else:  # labels that keep other values, and their pairs, have the same price
            assert prices_of_steps >= len(plan.steps)


@pytest.mark.parametrize("refused", [False, True])
def test_other_plans_come_first(space: Space, refused: bool) -> None:
    """The best plan is left once it is known to take longer, or that it cannot be built."""
    limits, corrections = Limits(deterministic=True), Corrections(space)
    best, report = mapping.solve(space.problem, limits)
    assert best is not None and report.objective is not None
    if refused:
        corrections.refuse(best)
    else:
        prices = [sum(step.terms.values()) for step in space.plan(best).steps]
        corrections.learn(best, np.array(prices) + 10**6)
    other, _ = mapping.solve(corrections.problem, limits, beam=best)
    assert other is not None and other != best
    assert evaluate(corrections.problem, other) < evaluate(corrections.problem, best)
    assert evaluate(space.problem, other) >= report.objective
