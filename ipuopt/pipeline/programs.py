"""Programs of one plan: that of the heuristics first, then that of the solvers."""

from __future__ import annotations

import logging
from dataclasses import replace

from ipuopt.errors import CheckError
from ipuopt.models.mapping.check_plan import check_plan
from ipuopt.models.mapping.problem import Solution
from ipuopt.models.mapping.space import Space
from ipuopt.pipeline.build import build, build_heuristic
from ipuopt.pipeline.complete import Complete
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
        state.heuristic = build_heuristic(plan, search.limits, search.support)
        publish(search, state)
        if state.heuristic is None or not search.limits.expired():
            state.main = build(
                plan,
                search.limits,
                search.events,
                lambda program: keep(search, state, program),
                search.support,
            )
    except CRASHES as error:
        go_on(state, error)


def go_on(state: State, error: Exception) -> None:
    """Go on without the solver that failed; the reports say so.

    Raises
    ------
    Exception
        ``error``, if there is no program.
    """
    if shortest(state) is None:
        raise error
    what = f"{type(error).__name__}: {error}".rstrip(": ")
    logger.error("a solver failed (%s); the shortest program so far is kept", what)
    logger.debug("the error was raised here", exc_info=error)
    state.crashed = True
    if state.report is not None:
        notes = [state.report.run.note, f"a solver failed: {what}"]
        run = replace(state.report.run, note="; ".join(filter(None, notes)))
        state.report = replace(state.report, limit=Limit.SOLVER, run=run)


def keep(search: Search, state: State, program: Complete) -> None:
    """Keep and hand out a program of the solvers if it is shorter than those before it."""
    if state.main is None or program.cycles < state.main.cycles:
        state.main = program
        publish(search, state)


def publish(search: Search, state: State) -> None:
    """Hand out the shortest program before the search is over, in case it has to be cut off."""
    best = shortest(state)
    if best is not None:
        limit = Limit.TIME  # a program that is used before the end was cut off by its limit
        result = result_of(search, state, best, limit)
        search.events.on_result(replace(result, repeatable=False))


def shortest(state: State) -> Complete | None:
    """The shortest program so far."""
    complete = [program for program in (state.main, state.heuristic) if program is not None]
    return min(complete, key=lambda program: program.cycles, default=None)


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
