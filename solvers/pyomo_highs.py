"""Solves a Pyomo model with HiGHS and reports it like every other back end.

Meant for small, readable models; it runs in this process. Pyomo raises where there is no solution
(Pyomo/pyomo #2920, #3130, #3632); here every ending is an :class:`Outcome`.
"""

from __future__ import annotations

import math
from importlib.metadata import version
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.contrib.solver.common.results import SolutionStatus, TerminationCondition
from pyomo.contrib.solver.solvers.highs import Highs

from ipuopt.limits import Limits
from ipuopt.report import Limit, SolveStatus
from ipuopt.solvers.outcome import Outcome, Recorder

SOLVER = f"pyomo {version('pyomo')} with HiGHS {version('highspy')}"

_TOLERANCE = 1e-6

_LIMITS = {
    TerminationCondition.maxTimeLimit: Limit.TIME,
    TerminationCondition.iterationLimit: Limit.TIME,
    TerminationCondition.interrupted: Limit.INTERRUPT,
    TerminationCondition.convergenceCriteriaSatisfied: Limit.GAP,
}


def run(model: pyo.ConcreteModel, limits: Limits, *, name: str) -> Outcome:
    """Minimise ``model``; its variables hold the solution afterwards.

    Parameters
    ----------
    model
        One active objective to minimise, whose optimum is an integer.
    limits
        Wall clock, gap, threads and seed.
    name
        Of the model, for callbacks.

    Returns
    -------
    Outcome
        ``values`` follow ``model.component_data_objects(Var)``; integers are rounded, and every
        constraint was evaluated again.
    """
    record = Recorder(name, limits)
    if limits.expired():
        reason = Limit.INTERRUPT if limits.should_stop() else Limit.TIME
        return _result(record, record.status, reason, "")
    solver = Highs()
    options: dict[str, Any] = {
        "load_solutions": False,
        "raise_exception_on_nonoptimal_result": False,
        "rel_gap": limits.gap,
        "threads": 1,  # HiGHS's threads belong to the whole process
        "solver_options": {"random_seed": limits.seed % (1 << 31)},
    }
    if math.isfinite(limits.deadline):
        options["time_limit"] = limits.remaining_s()
    try:
        answer = solver.solve(model, **options)
    except Exception as error:  # noqa: BLE001 - a back end may raise anything
        return _result(record, record.status, Limit.SOLVER, f"{type(error).__name__}: {error}")
    ending = answer.termination_condition
    if ending == TerminationCondition.provenInfeasible:
        return _result(record, SolveStatus.INFEASIBLE, None, "")
    if answer.objective_bound is not None and math.isfinite(answer.objective_bound):
        slack = min(0.5, 1e-6 * max(1.0, abs(answer.objective_bound)))
        record.improve_bound(math.ceil(answer.objective_bound - slack))
    if answer.solution_status in (SolutionStatus.feasible, SolutionStatus.optimal):
        answer.solution_loader.load_vars()
        problem = _read(model, record)
        if problem:
            return _result(record, record.status, Limit.SOLVER, problem)
    if (record.bound or 0) > (math.inf if record.objective is None else record.objective):
        note = f"the bound {record.bound} is above the solution {record.objective}"
        record.bound = None
        return _result(record, record.status, Limit.SOLVER, note)
    if record.status is SolveStatus.OPTIMAL:
        return _result(record, record.status, None, "")
    stopped = _LIMITS.get(ending, Limit.SOLVER)
    note = f"ended with {ending.name}" if stopped is Limit.SOLVER else ""
    return _result(record, record.status, stopped, note)


def _read(model: pyo.ConcreteModel, record: Recorder) -> str:
    """Round and record the loaded solution; say which constraint it breaks, if any."""
    variables = list(model.component_data_objects(pyo.Var))
    for variable in variables:
        if variable.value is not None and not variable.is_continuous():
            variable.set_value(round(variable.value))
    for constraint in model.component_data_objects(pyo.Constraint, active=True):
        body = pyo.value(constraint.body)
        low, high = pyo.value(constraint.lower), pyo.value(constraint.upper)
        size = _TOLERANCE * (1.0 + abs(body))
        if (low is not None and body < low - size) or (high is not None and body > high + size):
            return f"a solution of HiGHS was refused: {constraint.name} is violated: {body:g}"
    (objective,) = model.component_data_objects(pyo.Objective, active=True)
    values = [math.nan if v.value is None else float(v.value) for v in variables]
    record.solution(round(pyo.value(objective)), np.array(values))
    return ""


def _result(record: Recorder, status: SolveStatus, reason: Limit | None, note: str) -> Outcome:
    return Outcome(
        status=status,
        objective=record.objective,
        bound=None if status is SolveStatus.INFEASIBLE else record.bound,
        values=record.values,
        reason=reason,
        solver=SOLVER,
        trace=tuple(record.trace),
        wall_time_s=record.wall_time_s,
        note=note,
    )
