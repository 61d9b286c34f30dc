"""Programs of one plan: that of the heuristics first, then that of the solvers."""

from __future__ import annotations

import logging
from dataclasses import replace

from ipuopt.errors import CheckError
from ipuopt.models.mapping.check_plan import check_plan
from ipuopt.models.mapping.problem import Solution
from ipuopt.models.mapping.space import Space
from ipuopt.pipeline.build import build, build_heuristic
from ipuopt.pipeline.state import Search, State, result_of
from ipuopt.plan import Plan
from ipuopt.report import Limit
from ipuopt.workload.model import Workload

logger = logging.getLogger(__name__)

CRASHES = (MemoryError, OSError, RuntimeError)
"""What a back end that fails, or cannot be started, raises; other exceptions are bugs of ours."""


def build_programs(search: Search, state: State, plan: Plan) -> None:
    """Leave the programs of ``plan`` in ``state``; the first is handed out as soon as it is there.

    Raises
    ------
    InfeasibleError, LayoutError
        If ``plan`` has no placement, or cannot be lowered.
    """
    try:
        search.events.on_stage("heuristic program")
        state.heuristic = build_heuristic(plan, search.limits)
        publish(search, state)
        if state.heuristic is None or not search.limits.expired():
            state.main = build(plan, search.limits, search.events)
    except CRASHES as error:
        if state.heuristic is None:
            raise
        keep_heuristic(state, error)


def keep_heuristic(state: State, error: BaseException) -> None:
    """Go on without the solver that failed; the reports say so."""
    what = f"{type(error).__name__}: {error}".rstrip(": ")
    logger.error("a solver failed (%s); the program built from heuristics is kept", what)
    logger.debug("the error was raised here", exc_info=error)
    state.crashed = True
    if state.report is not None:
        notes = [state.report.run.note, f"a solver failed: {what}"]
        run = replace(state.report.run, note="; ".join(filter(None, notes)))
        state.report = replace(state.report, limit=Limit.SOLVER, run=run)


def publish(search: Search, state: State) -> None:
    """Hand out a complete program before the search is over, in case it has to be cut off."""
    if state.heuristic is not None:
        limit = Limit.TIME  # a program that is used before the end was cut off by its limit
        result = result_of(search, state, state.heuristic, limit)
        search.events.on_result(replace(result, repeatable=False))


def checked_plan(workload: Workload, space: Space, solution: Solution) -> Plan:
    """The plan of a solution, which computes ``workload``."""
    plan = space.plan(solution)
    refuse_plan(workload, plan)
    return plan


def refuse_plan(workload: Workload, plan: Plan) -> None:
    """Refuse a plan that does not compute ``workload``."""
    violations = check_plan(workload, plan)
    if violations:
        raise CheckError("mapping plan", violations)
