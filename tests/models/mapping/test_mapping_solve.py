"""The strategy: equal to the judge, and a checked plan whatever a back end does."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ipuopt import workload
from ipuopt.limits import Limits
from ipuopt.models.mapping import (
    Capacity,
    Edge,
    Node,
    Problem,
    Solution,
    beam_search,
    check,
    evaluate,
    explain,
    solve,
)
from ipuopt.models.mapping.space import build_space
from ipuopt.report import Limit, SolveReport, SolveStatus
from ipuopt.solvers import highs
from ipuopt.solvers.milp import Milp
from ipuopt.solvers.outcome import Outcome

MakeProblem = Callable[..., Problem]
Optimum = Callable[[Problem], int | None]


def judged(
    problem: Problem, optimum: Optimum, solution: Solution | None, report: SolveReport
) -> None:
    """Whatever was claimed is true."""
    best = optimum(problem)
    if report.status is SolveStatus.INFEASIBLE:
        assert best is None
    if solution is None:
        assert report.objective is None
        return
    assert best is not None
    assert check(problem, solution) == ()
    assert evaluate(problem, solution) == report.objective
    assert report.bound is not None
    assert report.bound <= best <= evaluate(problem, solution)
    assert sum(report.terms.values()) == report.objective


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("backend", ["auto", "cpsat"])
def test_proven_or_refuted(
    seed: int, backend: str, random_problem: MakeProblem, optimum: Optimum
) -> None:
    problem = random_problem(seed + 100, labels=5, chain=seed % 3 == 0)
    solution, report = solve(problem, Limits(), backend=backend)
    judged(problem, optimum, solution, report)
    assert report.status in (SolveStatus.OPTIMAL, SolveStatus.INFEASIBLE)
    assert report.limit is None
    assert report.run.note == ""
    assert (solution is None) == (optimum(problem) is None)


@pytest.mark.parametrize("seed", range(20))
def test_heuristic_starts_no_solver(
    seed: int, random_problem: MakeProblem, optimum: Optimum
) -> None:
    problem = random_problem(seed)
    solution, report = solve(problem, Limits(), backend="heuristic")
    judged(problem, optimum, solution, report)
    assert report.run.solver == "none"


def test_unknown_back_end(random_problem: MakeProblem) -> None:
    with pytest.raises(ValueError, match="expected one of auto, highs"):
        solve(random_problem(0), Limits(), backend="scip")


@pytest.fixture(scope="module")
def hard(random_problem: MakeProblem) -> Problem:
    """An instance that bounds alone do not settle."""
    for seed in range(500):
        problem = random_problem(seed, nodes=5, labels=6)
        _, report = solve(problem, Limits(), backend="heuristic")
        if report.status is SolveStatus.FEASIBLE:
            return problem
    raise AssertionError("every instance was settled by bounds")


def test_no_time_gives_the_beam(hard: Problem, optimum: Optimum) -> None:
    begin = time.monotonic()
    solution, report = solve(hard, Limits().within(0.0))
    assert time.monotonic() - begin < 2.0
    judged(hard, optimum, solution, report)
    assert report.status is SolveStatus.FEASIBLE
    assert report.limit is Limit.TIME
    assert report.run.solver == "none"


def test_interrupt_gives_the_beam(hard: Problem, optimum: Optimum) -> None:
    solution, report = solve(hard, Limits(should_stop=lambda: True))
    judged(hard, optimum, solution, report)
    assert report.limit is Limit.INTERRUPT


def test_gap_is_enough(hard: Problem) -> None:
    _, report = solve(hard, Limits(gap=1.0))
    assert report.status is SolveStatus.FEASIBLE
    assert report.limit is Limit.GAP
    assert report.run.solver == "none"


def test_callbacks_hear_what_is_reported(hard: Problem) -> None:
    solutions: list[int] = []
    bounds: list[int] = []
    limits = Limits(
        on_solution=lambda stage, value: solutions.append(value),
        on_bound=lambda stage, value: bounds.append(value),
    )
    _, report = solve(hard, limits)
    assert solutions == sorted(set(solutions), reverse=True)
    assert solutions[-1] == report.objective
    assert bounds[-1] == report.bound
    assert [point.wall_time_s for point in report.trace] == sorted(
        point.wall_time_s for point in report.trace
    )


Lie = Callable[[Outcome], Outcome]


@pytest.mark.parametrize(
    ("lie", "note"),
    [
        (
            lambda told: replace(
                told, status=SolveStatus.INFEASIBLE, objective=None, bound=None, values=None
            ),
            "says infeasible",
        ),
        (lambda told: replace(told, values=None, objective=None, bound=10**6), "above a checked"),
        (lambda told: replace(told, objective=(told.objective or 0) - 1), "prices its plan"),
        (
            lambda told: replace(told, values=None if told.values is None else 0 * told.values),
            "",
        ),
        (
            lambda told: replace(
                told,
                status=SolveStatus.UNKNOWN,
                objective=None,
                bound=None,
                values=None,
                reason=Limit.SOLVER,
                note="the solver process died",
            ),
            "died",
        ),
    ],
    ids=["infeasible", "bound", "price", "values", "crash"],
)
def test_lies_are_refused(
    lie: Lie,
    note: str,
    hard: Problem,
    optimum: Optimum,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A back end that lies or crashes leaves the plan and the bound known without it."""
    honest = highs.run

    def lying(model: Milp, limits: Limits, **options: object) -> Outcome:
        del options
        return lie(honest(model, limits, name="mapping"))

    monkeypatch.setattr(highs, "run", lying)
    solution, report = solve(hard, Limits())
    assert solution is not None
    judged(hard, optimum, solution, report)
    assert report.limit is Limit.SOLVER or report.status is SolveStatus.OPTIMAL
    assert note in report.run.note
    assert report.run.note


def test_false_infeasible_needs_two_witnesses(
    hard: Problem, optimum: Optimum, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any plan, one solver's word is checked by the other's."""
    honest = highs.run

    def lying(model: Milp, limits: Limits, **options: object) -> Outcome:
        told = honest(model, limits, name="mapping")
        return replace(told, status=SolveStatus.INFEASIBLE, objective=None, bound=None, values=None)

    def no_plan(*arguments: object, **options: object) -> None:
        del arguments, options

    monkeypatch.setattr(highs, "run", lying)
    module = importlib.import_module(solve.__module__)
    monkeypatch.setattr(module, "beam_search", no_plan)
    honest_tighten = module.tighten

    def forgetful(problem: Problem, incumbent: Solution | None, limits: Limits) -> object:
        return replace(honest_tighten(problem, incumbent, limits.within(0)), incumbent=None)

    monkeypatch.setattr(module, "tighten", forgetful)
    solution, report = solve(hard, Limits())
    judged(hard, optimum, solution, report)
    assert solution is not None
    assert report.status is SolveStatus.OPTIMAL


def test_deterministic_twice(hard: Problem) -> None:
    limits = Limits(deterministic=True, threads=2)
    assert solve(hard, limits)[0] == solve(hard, limits)[0]


@pytest.mark.parametrize("seed", range(40))
def test_explanations_hold(seed: int, random_problem: MakeProblem, optimum: Optimum) -> None:
    """Where nothing fits, a demand above a capacity is named, with at most five owners."""
    problem = random_problem(seed, chain=True)
    small = replace(problem, capacity=replace(problem.capacity, total=70, interleaved=30))
    if optimum(small) is None:
        told = explain(small)
        assert told.demand > told.capacity
        assert len(told.owners) <= 5
        assert [amount for _, amount in told.owners] == sorted(
            (amount for _, amount in told.owners), reverse=True
        )


def single(standard: int, interleaved: int, large: int) -> Node:
    return Node(
        "product",
        np.array([1]),
        np.array([[standard]]),
        np.array([[interleaved]]),
        np.array([[large]]),
    )


@pytest.mark.parametrize(
    ("node", "where", "demand", "capacity"),
    [
        (single(300, 0, 0), "memory of a tile, step only", 300, 200),
        (single(150, 40, 0), "memory of a tile, step only", 150 + 64, 200),
        (single(0, 90, 0), "interleaved memory of a tile, step only", 90, 60),
        (
            single(120, 10, 120),
            "standard buffers of more than 50 bytes, each in one piece, step only",
            120,
            100 - 32,
        ),
    ],
)
def test_explanation_names_the_limit(node: Node, where: str, demand: int, capacity: int) -> None:
    problem = Problem((node,), (), ("only",), Capacity(60, 200, 50, 100, 32))
    told = explain(problem)
    assert (told.where, told.demand, told.capacity) == (where, demand, capacity)
    assert told.owners[0][0] == "product"
    assert solve(problem, Limits())[1].status is SolveStatus.INFEASIBLE


def test_explanation_of_layouts_that_do_not_go_together() -> None:
    edge = Edge(
        0, 1, np.array([0]), np.array([0]), np.array([[-1]]), np.array([[0]]), np.array([[0]]), 0
    )
    nodes = (single(0, 0, 0), single(0, 0, 0))
    problem = Problem(nodes, (edge,), ("only",), Capacity(60, 200, 50, 100, 32))
    assert "go together" in explain(problem).where
    assert solve(problem, Limits())[1].status is SolveStatus.INFEASIBLE


@pytest.fixture(scope="module")
def siglip() -> Problem:
    """SigLIP's MLP on 1472 tiles, as the mapping space makes it."""
    example = Path(__file__).resolve().parents[3] / "examples" / "siglip-mlp.yaml"
    return build_space(workload.load(example), Limits()).problem


@pytest.mark.slow
def test_real_example(siglip: Problem) -> None:
    """Proven within a minute, and the beam within 1 % of it."""
    begin = time.monotonic()
    solution, report = solve(siglip, Limits(threads=2).within(120))
    assert time.monotonic() - begin < 60
    assert solution is not None
    assert report.status is SolveStatus.OPTIMAL
    assert report.objective is not None
    assert report.objective <= 200_000
    beam = beam_search(siglip, Limits())
    assert beam is not None
    assert evaluate(siglip, beam) <= 1.01 * report.objective


@pytest.mark.slow
@pytest.mark.parametrize("limit_s", [0.01, 0.5, 1.0])
def test_real_example_in_no_time(limit_s: float, siglip: Problem) -> None:
    """The limit holds up to 10 % + 2 s, and there is always a checked plan with a bound."""
    begin = time.monotonic()
    solution, report = solve(siglip, Limits(threads=2).within(limit_s))
    assert time.monotonic() - begin < 1.1 * limit_s + 2
    assert solution is not None
    assert check(siglip, solution) == ()
    assert report.bound is not None
    assert report.limit is Limit.TIME or report.status is SolveStatus.OPTIMAL


@pytest.mark.slow
@pytest.mark.parametrize("total", [440_000, 300_000, 200_000])
def test_real_example_with_less_memory(total: int, siglip: Problem) -> None:
    """Both solvers agree where memory binds; less memory never helps."""
    tight = replace(siglip, capacity=replace(siglip.capacity, total=total))
    reports = [solve(tight, Limits().within(60), backend=b)[1] for b in ("highs", "cpsat")]
    _, free = solve(siglip, Limits().within(60))
    assert reports[0].status is reports[1].status is not SolveStatus.UNKNOWN
    assert reports[0].objective == reports[1].objective
    assert free.objective is not None
    if reports[0].objective is not None:
        assert reports[0].objective >= free.objective
    else:
        told = explain(tight)
        assert told.demand > told.capacity == total
