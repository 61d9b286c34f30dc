"""HiGHS, CP-SAT and Pyomo on the same formulation, with exhaustive search as the judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ipuopt.limits import Limits
from ipuopt.models.mapping import (
    Capacity,
    Node,
    Problem,
    check,
    evaluate,
    exact,
    exact_cpsat,
    exact_pyomo,
)
from ipuopt.report import SolveStatus
from ipuopt.solvers import cpsat, highs, pyomo_highs
from ipuopt.solvers.cpsat import Value
from ipuopt.solvers.cpsat_model import too_large_row

MakeProblem = Callable[..., Problem]
Optimum = Callable[[Problem], int | None]


@pytest.mark.parametrize("seed", range(15))
def test_highs(seed: int, random_problem: MakeProblem, optimum: Optimum) -> None:
    problem = random_problem(seed)
    model = exact.build(problem)
    outcome = highs.run(model.milp, Limits(), name="mapping")
    assert outcome.objective == optimum(problem)
    if outcome.values is None:
        assert outcome.status is SolveStatus.INFEASIBLE
        return
    solution = model.read(outcome.values)
    assert check(problem, solution) == ()
    assert evaluate(problem, solution) == outcome.objective == outcome.bound
    start = model.start(problem, solution)
    assert model.milp.violation(start) == ""
    assert model.milp.objective(start) == outcome.objective


@pytest.mark.parametrize("seed", range(15))
def test_cpsat(seed: int, random_problem: MakeProblem, optimum: Optimum) -> None:
    problem = random_problem(seed)
    model = exact_cpsat.build(problem)
    outcome = cpsat.run(model.cp, Limits(), name="mapping")
    assert outcome.objective == optimum(problem)
    if outcome.values is None:
        assert outcome.status is SolveStatus.INFEASIBLE
        return
    solution = model.read(outcome.values)
    assert check(problem, solution) == ()
    assert evaluate(problem, solution) == outcome.objective == outcome.bound
    again = cpsat.run(model.cp, Limits(), name="mapping", hint=model.start(problem, solution))
    assert again.hint.startswith("complete and is feasible")
    assert again.objective == outcome.objective


@pytest.mark.parametrize("seed", range(12))
def test_pyomo(seed: int, random_problem: MakeProblem, optimum: Optimum) -> None:
    problem = random_problem(seed, nodes=3)
    model = exact_pyomo.build(problem)
    outcome = pyomo_highs.run(model, Limits(), name="mapping")
    assert outcome.objective == optimum(problem)
    if outcome.values is None:
        assert outcome.status is SolveStatus.INFEASIBLE
        return
    solution = exact_pyomo.read(problem, model)
    assert check(problem, solution) == ()
    assert evaluate(problem, solution) == outcome.objective


@pytest.mark.parametrize("label", ["M3", "M4", "M5"])
def test_each_limit_is_in_the_models(label: str, random_problem: MakeProblem) -> None:
    """Limits that only one label of the formulation can break make every model infeasible."""
    problem = random_problem(1, chain=True)
    room = Capacity(10**6, 10**7, 10**6, 10**6, 1)
    tight = {"M3": {"interleaved": 0}, "M4": {"total": 0}, "M5": {"high": 0}}[label]
    nodes = tuple(
        replace(
            node,
            standard=node.standard + 1,
            interleaved=node.interleaved + 1,
            large=node.large + 1,
        )
        for node in problem.nodes
    )
    for capacity, feasible in ((room, True), (replace(room, **tight), False)):
        case = replace(problem, nodes=nodes, capacity=capacity)
        outcomes = [
            highs.run(exact.build(case).milp, Limits(), name="mapping"),
            cpsat.run(exact_cpsat.build(case).cp, Limits(), name="mapping"),
            pyomo_highs.run(exact_pyomo.build(case), Limits(), name="mapping"),
        ]
        found = [outcome.values is not None for outcome in outcomes]
        assert found == [feasible] * 3
        assert feasible or {o.status for o in outcomes} == {SolveStatus.INFEASIBLE}


@pytest.mark.parametrize("around", [-1, 0, 1])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"presolve_inclusion_work_limit": 0}, {"cp_model_presolve": False}],
    ids=["default", "no inclusion rule", "no presolve"],
)
def test_coefficients_around_two_to_the_31(
    around: int, parameters: dict[str, Value], optimum: Optimum
) -> None:
    """google/or-tools #5293: costs and bytes of one node add up to 2^31 +- 1.

    The builder splits the tables, so that no row is refused and every presolve agrees.
    """
    total, count = (1 << 31) + around, 8
    values = np.full(count, total // count)
    values[0] += total - values.sum()
    spread = values - np.arange(count)[::-1] * 7
    node = Node("big", spread, spread[::-1, None].copy(), *np.zeros((2, count, 1), int))
    other = replace(node, name="other")
    capacity = Capacity(0, int(2 * spread.max() - 30), 1 << 40, 1 << 40, 1)
    problem = Problem((node, other), (), ("only",), capacity)
    model = exact_cpsat.build(problem)
    assert too_large_row(model.cp) == ""
    outcome = cpsat.run(model.cp, Limits(), name="mapping", parameters=parameters)
    exact_outcome = highs.run(exact.build(problem).milp, Limits(), name="mapping")
    assert outcome.objective == exact_outcome.objective == optimum(problem)


def test_tables_are_cut_into_chunks() -> None:
    """Values whose differences alone exceed 2^30 take several rows."""
    values = np.arange(8) * (1 << 27)
    node = Node("wide", values, values[::-1, None].copy(), *np.zeros((2, 8, 1), int))
    problem = Problem((node,), (), ("only",), Capacity(0, 3 << 27, 1 << 40, 1 << 40, 1))
    model = exact_cpsat.build(problem)
    assert too_large_row(model.cp) == ""
    assert cpsat.run(model.cp, Limits(), name="mapping").objective == 4 << 27
