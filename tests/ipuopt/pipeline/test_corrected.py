"""Plans that come first once it is known what the others take."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ipuopt
from ipuopt.errors import CheckError, Infeasibility, InfeasibleError
from ipuopt.events import Events
from ipuopt.limits import Limits
from ipuopt.models import mapping
from ipuopt.models.mapping.problem import Solution
from ipuopt.models.mapping.space import Space, build_space
from ipuopt.options import SolveOptions
from ipuopt.pipeline import corrected
from ipuopt.pipeline.build import Found, build, build_heuristic, least_cycles, step_cycles
from ipuopt.pipeline.complete import Complete
from ipuopt.pipeline.corrected import Plans
from ipuopt.pipeline.state import Search, State, with_plan
from ipuopt.plan import Plan
from ipuopt.watch import Watch

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "first.yaml"
LIMITS = Limits(deterministic=True)


@pytest.fixture(scope="module")
def example() -> tuple[Search, Space, Solution]:
    """The first example: its cheapest plan by price takes a tenth more once it is lowered."""
    workload = ipuopt.load(EXAMPLE)
    space = build_space(workload, LIMITS)
    solution, _ = mapping.solve(space.problem, LIMITS)
    assert solution is not None
    watch = Watch(lambda: False, None)
    options = SolveOptions(threads=1, deterministic=True)
    search = Search(workload, options, LIMITS, Events(), watch, time.monotonic())
    return search, space, solution


def least(space: Space, solution: Solution) -> int:
    """What a plan takes at least."""
    return int(least_cycles(space.plan(solution)).sum())


def test_least_cycles_are_between_price_and_program(
    example: tuple[Search, Space, Solution],
) -> None:
    """Step by step, wherever buffers are placed and however phases are scheduled."""
    _, space, solution = example
    plan = space.plan(solution)
    program = build_heuristic(plan, LIMITS)
    assert program is not None
    built = program.built
    cycles = step_cycles(plan, built.program, built.horizon)
    assert cycles.sum() == program.cycles
    prices = [sum(step.terms.values()) for step in plan.steps]
    assert np.all(prices <= least_cycles(plan)) and np.all(least_cycles(plan) <= cycles)


def test_the_first_plan_is_the_one_that_takes_least(
    example: tuple[Search, Space, Solution],
) -> None:
    """No plan that was lowered, and no price of another one, is below what it takes at least."""
    search, space, solution = example
    plans = Plans.of(search, State(), space)
    first = plans.first(solution)
    known = {labels: least(space, Solution(labels)) for labels in plans.lowered}
    assert known[first.labels] == min(known.values()) < known[solution.labels]
    rest, report = mapping.solve(plans.corrections.problem, LIMITS)
    assert rest is not None and report.bound == known[first.labels]
    assert Plans.of(search, State(), space).first(solution) == first


def test_the_run_is_shorter_and_its_bound_that_of_the_prices(
    example: tuple[Search, Space, Solution],
) -> None:
    search, space, solution = example
    result = ipuopt.solve(search.workload, SolveOptions(threads=1, deterministic=True))
    report = result.reports[0]
    bound = mapping.solve(space.problem, LIMITS)[1].bound
    assert result.total.bound == report.bound == bound
    assert report.objective == result.plan.cost and "is as short" in report.run.note
    assert result.total.objective < least(space, solution)


def program_of(plan: Plan, more: int = 0) -> Complete:
    """A program of a plan, ``more`` events longer than it need be."""
    program = build(plan, LIMITS, Events())
    assert program is not None
    built = program.built
    horizon = built.horizon.copy()
    horizon[0] += more
    return replace(program, built=replace(built, horizon=horizon))


@pytest.mark.parametrize("outcome", ["better", "worse", "not worth it", "not placed", "infeasible"])
def test_the_best_program_is_kept(
    outcome: str, example: tuple[Search, Space, Solution], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plans that come before the best program are built, at most a few, and the best is kept."""
    search, space, solution = example
    first = Plans.of(search, State(), space).first(solution)
    program = program_of(space.plan(first), more=5000)
    asked: list[tuple[Plan, float]] = []

    def found(plan: Plan, limits: Limits, events: Events, worth: float, *_: Any) -> Found | None:
        assert limits.effort == corrected.EFFORT
        asked.append((plan, worth))
        if outcome == "infeasible":
            raise InfeasibleError(Infeasibility("tile 0", 2, 1, "bytes", ()))
        if outcome == "not placed":
            return None
        takes = least_cycles(plan)
        takes[0] += {"better": 0, "worse": 6000, "not worth it": 6000}[outcome]
        if outcome == "not worth it":
            return Found(None, takes)
        other = build(plan, limits, events)
        assert other is not None
        horizon = other.built.horizon + (6000 if outcome == "worse" else 0)
        return Found(replace(other, built=replace(other.built, horizon=horizon)), takes)

    monkeypatch.setattr(corrected, "build_below", found)
    plans = Plans.of(search, State(), space)
    best = plans.best(first, program, None)
    assert 1 <= len(asked) <= corrected.MOST_BUILT
    assert asked[0][1] == program.cycles
    assert len({id(plan) for plan, _ in asked}) == len(asked)
    assert (best is not program) == (outcome == "better")
    assert best.cycles <= program.cycles


def test_nothing_is_built_where_the_bound_is_met(
    example: tuple[Search, Space, Solution], monkeypatch: pytest.MonkeyPatch
) -> None:
    search, space, solution = example
    plans = Plans.of(search, State(), space)
    first = plans.first(solution)
    program = program_of(space.plan(first), more=5000)
    monkeypatch.setattr(corrected, "build_below", lambda *_: pytest.fail("a plan was built"))
    assert plans.best(first, program, program.cycles) is program


def test_a_bound_above_the_plan_is_refused(example: tuple[Search, Space, Solution]) -> None:
    _, space, solution = example
    plan = space.plan(solution)
    _, report = mapping.solve(space.problem, LIMITS)
    assert with_plan(report, plan) is report
    above = replace(report, objective=plan.cost + 1, bound=plan.cost + 1, terms={})
    with pytest.raises(CheckError, match="above the checked plan"):
        with_plan(above, plan)
