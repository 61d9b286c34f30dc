"""The whole flow: map, lower, place, schedule; the best complete program seen is the result."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import dataclass, replace

from ipuopt.errors import CheckError, Error, InfeasibleError, InputError, LimitError
from ipuopt.events import Events
from ipuopt.layout import LayoutError
from ipuopt.limits import Limits
from ipuopt.models import mapping
from ipuopt.models.mapping.check_plan import check_plan
from ipuopt.models.mapping.space import Space, build_space
from ipuopt.options import SolveOptions, Solver
from ipuopt.pipeline.attempts import Attempts, first_complete
from ipuopt.pipeline.build import Complete, build, build_heuristic
from ipuopt.pipeline.watch import Watch
from ipuopt.plan import Plan
from ipuopt.report import Limit, SolveReport, SolveStatus
from ipuopt.result import Result, Total
from ipuopt.workload.model import Workload

logger = logging.getLogger(__name__)

MAPPING_SHARE = 0.4
"""Most of the time left that the mapping model may take; its bound is the bound of the whole."""

FINISH_SHARE, FINISH_S = 0.05, 5.0
"""Part of the time limit, and most seconds, kept for the last check and for writing."""


@dataclass(frozen=True, slots=True)
class _Search:
    """What the steps of one search share."""

    workload: Workload
    options: SolveOptions
    limits: Limits
    events: Events
    started_s: float


def solve(
    workload: Workload,
    options: SolveOptions,
    *,
    plan: Plan | None = None,
    events: Events | None = None,
) -> Result:
    """Solve ``workload``, or build the given ``plan`` for it.

    Parameters
    ----------
    workload
        The graph and its target.
    options
        Limits and choices; see :class:`ipuopt.options.SolveOptions`.
    plan
        Lower, place and schedule this plan instead of searching for one; the total then has no
        bound.
    events
        Callbacks for progress, and the wish to stop.

    Raises
    ------
    InputError
        When the given ``plan`` does not lower.
    InfeasibleError
        When no plan fits the memory of a tile, with demand, capacity and owners.
    LimitError
        When a limit was reached before any program was complete.
    CheckError
        When a checker refuses what a stage made, or a bound contradicts a checked program.
    """
    events = events or Events()
    watch = Watch(events.should_stop, options.memory_limit_bytes)
    limits = _limits(options, events, watch)
    search = _Search(workload, options, limits, events, time.monotonic())
    report = None
    if plan is None:
        heuristic, main, report = _search(search)
    else:
        _refuse_plan(workload, plan)
        heuristic, main = _given(workload, plan, limits, events)
    complete = [program for program in (main, heuristic) if program is not None]
    if not complete:
        raise LimitError(f"{workload.name}: no program was complete when the search ended")
    best = min(complete, key=lambda program: program.cycles)
    if best is not main:
        events.on_message("the program built from heuristics alone is the shortest; it is kept")
    _refuse_contradiction(None if report is None else report.bound, best)
    limit = watch.reason or _limit(limits, best.reports, report)
    return _result(search, best, heuristic, report, limit)


def _given(
    workload: Workload, plan: Plan, limits: Limits, events: Events
) -> tuple[Complete | None, Complete | None]:
    """Programs of a plan from outside; what its layouts cannot do is the fault of the input."""
    try:
        return build_heuristic(plan, limits), build(plan, limits, events)
    except LayoutError as error:
        found = f"a plan that cannot be lowered ({error})"
        raise InputError(f"{workload.name}: found {found}, expected other layouts") from error


def _result(
    search: _Search,
    best: Complete,
    heuristic: Complete | None,
    report: SolveReport | None,
    limit: Limit | None,
) -> Result:
    return Result(
        workload=search.workload,
        options=search.options,
        wall_time_s=time.monotonic() - search.started_s,
        built=best.built,
        reports=(() if report is None else (report,)) + best.reports,
        total=Total(
            heuristic=None if heuristic is None else heuristic.cycles,
            objective=best.cycles,
            bound=None if report is None else report.bound,
        ),
        limit=limit,
    )


def _limits(options: SolveOptions, events: Events, watch: Watch) -> Limits:
    limit_s = math.inf if options.time_limit_s is None else options.time_limit_s
    kept_s = min(FINISH_S, FINISH_SHARE * limit_s)
    return Limits(
        deadline=time.monotonic() + limit_s - kept_s,
        gap=options.gap or 0.0,
        threads=options.threads,
        seed=options.seed,
        deterministic=options.deterministic,
        memory_bytes=options.memory_limit_bytes,
        should_stop=watch,
        on_solution=events.on_solution,
        on_bound=events.on_bound,
    )


def _search(search: _Search) -> tuple[Complete | None, Complete | None, SolveReport]:
    """Program of the heuristics, program of the solvers, report of the mapping."""
    limits, events = search.limits, search.events
    events.on_stage("mapping")
    started_s = time.monotonic()
    space = build_space(search.workload, limits)
    build_time_s = time.monotonic() - started_s
    beam = mapping.beam_search(space.problem, limits)
    heuristic = None
    if beam is not None:
        events.on_stage("heuristic program")
        try:
            heuristic = build_heuristic(_plan(search, space, beam), limits)
        except InfeasibleError as error:  # of this plan; there are others
            logger.info("the heuristic plan does not fit: %s", error)
        _publish(search, heuristic, None)
    events.on_stage("mapping")
    solution, report = _solve_mapping(search, space)
    if solution is None and heuristic is None:
        if report.status is not SolveStatus.INFEASIBLE:
            raise LimitError(f"{search.workload.name}: the limit came before the first mapping")
        raise InfeasibleError(mapping.explain(space.problem))
    _publish(search, heuristic, report)
    main = None
    exact = search.options.solver is not Solver.HEURISTIC
    if solution is not None and (exact or heuristic is None):
        attempts = _attempts(search, space, solution, exact=exact)
        main = attempts.program
        if main is None and heuristic is None:
            raise _unplaced(search, attempts)
    report = replace(
        report,
        build_time_s=report.build_time_s + build_time_s,
        wall_time_s=report.wall_time_s + build_time_s,
    )
    return heuristic, main, report


def _attempts(
    search: _Search, space: Space, solution: mapping.Solution, *, exact: bool
) -> Attempts:
    """Program of ``solution``, or of the next plan that can be placed."""
    limits, events = search.limits, search.events

    def build_one(where: Space, candidate: mapping.Solution) -> Complete | None:
        plan = _plan(search, where, candidate)
        return build(plan, limits, events) if exact else build_heuristic(plan, limits)

    def solve_again(where: Space) -> mapping.Solution | None:
        events.on_message("a plan could not be placed; the mapping is solved without it")
        again, report = _solve_mapping(search, where)
        logger.info("the mapping is solved again: %s", report.status)
        return again

    return first_complete(space, solution, build_one, solve_again, limits.expired)


def _unplaced(search: _Search, attempts: Attempts) -> Error:
    """The error for a workload that has mappings, but none that was placed."""
    if attempts.refused is None:
        return LimitError(f"{search.workload.name}: no program was complete when the search ended")
    if attempts.exhausted:
        return InfeasibleError(attempts.refused)
    tried = "no mapping that was tried can be placed"
    return LimitError(f"{search.workload.name}: {tried}; {attempts.refused}")


def _publish(search: _Search, heuristic: Complete | None, report: SolveReport | None) -> None:
    """Hand out a complete program before the search is over, in case it has to be cut off."""
    if heuristic is not None:
        limit = Limit.TIME  # a program that is used before the end was cut off by its limit
        search.events.on_result(_result(search, heuristic, heuristic, report, limit))


def _solve_mapping(search: _Search, space: Space) -> tuple[mapping.Solution | None, SolveReport]:
    limits = search.limits
    share = limits.within(MAPPING_SHARE * limits.remaining_s())
    return mapping.solve(space.problem, share, backend=search.options.solver.value)


def _plan(search: _Search, space: Space, solution: mapping.Solution) -> Plan:
    plan = space.plan(solution)
    _refuse_plan(search.workload, plan)
    return plan


def _refuse_plan(workload: Workload, plan: Plan) -> None:
    violations = check_plan(workload, plan)
    if violations:
        raise CheckError("mapping plan", violations)


def _refuse_contradiction(bound: int | None, best: Complete) -> None:
    """A valid bound is never above a checked program made of the same candidates."""
    if bound is not None and bound > best.cycles:
        message = f"mapping bound {bound} above the checked program of {best.cycles} cycles"
        raise CheckError("total", (("bound", message),), {"plan": best.built.plan.to_json()})


def _limit(
    limits: Limits, reports: tuple[SolveReport, ...], report: SolveReport | None
) -> Limit | None:
    stopped = {r.limit for r in (*reports, *((report,) if report else ())) if r.limit is not None}
    if limits.remaining_s() == 0.0 or Limit.TIME in stopped:
        return Limit.TIME
    return min(stopped, default=None)
