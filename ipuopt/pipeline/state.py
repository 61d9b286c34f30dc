"""What the steps of one search share and find, and the result that is made of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from ipuopt.errors import CheckError
from ipuopt.events import Events
from ipuopt.limits import Limits
from ipuopt.options import SolveOptions, SpaceKind
from ipuopt.pipeline.complete import Complete
from ipuopt.pipeline.support import UNLINKED, Support
from ipuopt.plan import ConversionStep, Plan
from ipuopt.report import Limit, SolveReport, status_of
from ipuopt.result import Result, Total
from ipuopt.watch import Watch
from ipuopt.workload.model import Workload


@dataclass(frozen=True, slots=True)
class Search:
    """What the steps of one search share."""

    workload: Workload
    options: SolveOptions
    limits: Limits
    events: Events
    watch: Watch
    started_s: float
    support: Support = UNLINKED


@dataclass(slots=True)
class State:
    """What is known so far.

    Attributes
    ----------
    heuristic, main
        Program of the heuristics, program of the solvers.
    report
        Of the mapping.
    cut
        Whether the clock ended a search before its counters did.
    crashed
        Whether a solver failed and the run went on without it.
    """

    heuristic: Complete | None = None
    main: Complete | None = None
    report: SolveReport | None = None
    cut: bool = False
    crashed: bool = False


def result_of(search: Search, state: State, best: Complete, limit: Limit | None) -> Result:
    """Result that holds ``best`` and everything known about the search."""
    report, heuristic = state.report, state.heuristic
    if report is not None and search.options.space is SpaceKind.FULL:
        report = with_plan(report, best.built.plan)
    reports = (() if report is None else (report,)) + best.reports
    cut = state.cut or search.limits.remaining_s() == 0.0
    disturbed = cut or state.crashed or search.watch.reason is not None
    return Result(
        workload=search.workload,
        options=search.options,
        wall_time_s=time.monotonic() - search.started_s,
        built=best.built,
        reports=reports,
        total=Total(
            heuristic=None if heuristic is None else heuristic.cycles,
            objective=best.cycles,
            bound=bound_of(search, state),
        ),
        limit=limit,
        repeatable=search.options.deterministic and not disturbed,
    )


def bound_of(search: Search, state: State) -> int | None:
    """What no program beats; none where the mapping was priced as the public compiler does."""
    if state.report is None or search.options.space is SpaceKind.PEER:
        return None
    return state.report.bound


def limit_of(search: Search, state: State, reports: tuple[SolveReport, ...]) -> Limit | None:
    """Why the run ended early; of several reasons the one that decided."""
    if search.watch.reason is not None:
        return search.watch.reason
    if state.crashed:
        return Limit.SOLVER
    every = (*reports, *(() if state.report is None else (state.report,)))
    stopped = {report.limit for report in every if report.limit is not None}
    if search.limits.remaining_s() == 0.0 or Limit.TIME in stopped:
        return Limit.TIME
    return min(stopped, default=None)


def with_plan(report: SolveReport, plan: Plan) -> SolveReport:
    """The report on the mapping for a program of ``plan``.

    Raises
    ------
    CheckError
        If the bound is above the cost of that plan.
    """
    if plan.cost == report.objective:
        return report
    if report.bound is not None and report.bound > plan.cost:
        message = f"mapping bound {report.bound} above the checked plan of {plan.cost} cycles"
        raise CheckError("mapping", (("bound", message),), {"plan": plan.to_json()})
    conversions = sum(
        sum(step.terms.values()) for step in plan.steps if isinstance(step, ConversionStep)
    )
    note = f"no program of the plan of {report.objective} cycles is as short"
    return replace(
        report,
        objective=plan.cost,
        status=status_of(plan.cost, report.bound),
        terms={"operations": plan.cost - conversions, "conversions": conversions},
        run=replace(report.run, note="; ".join(filter(None, [report.run.note, note]))),
    )
