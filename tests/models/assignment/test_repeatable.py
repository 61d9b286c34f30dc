"""Repeatable runs on files of the contest: the same bytes twice."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ipuopt.limits import Limits
from ipuopt.models.assignment import solve
from ipuopt.models.assignment.problem_file import load_problem
from ipuopt.models.assignment.solution_file import text


@pytest.mark.parametrize(
    "name",
    [
        "example.json",
        "asplos-2025-iopddl-G.json.gz",
        pytest.param("asplos-2025-iopddl-K.json.gz", marks=pytest.mark.slow),
    ],
)
def test_twice_the_same(name: str, shared: Path) -> None:
    problem = load_problem(shared / "bench" / "iopddl" / name)
    found = []
    for _ in range(2):
        # The clock is an emergency stop only: the effort follows from the budget.
        deadline = time.monotonic() + 600
        limits = Limits(deadline=deadline, budget_s=5.0, deterministic=True, threads=2)
        solution, report = solve(problem, limits)
        assert solution is not None
        found.append((text(solution), report.objective, report.bound, report.bound_source))
    assert found[0] == found[1]
