"""The whole flow: map, lower, place, schedule; the best complete program seen is the result."""

from __future__ import annotations

import contextlib
import logging
import math
import time
from dataclasses import replace

from ipuopt.codegen.link import Library
from ipuopt.errors import CheckError, Error, InfeasibleError, InputError, LimitError
from ipuopt.events import Events
from ipuopt.layout import LayoutError
from ipuopt.limits import Limits, Workers, limits_of
from ipuopt.models import mapping
from ipuopt.models.mapping.space import Space, build_space, lifted
from ipuopt.options import SolveOptions, Solver, SpaceKind
from ipuopt.pipeline.attempts import ROOM_BYTES, Attempts, first_complete
from ipuopt.pipeline.build import build, build_heuristic
from ipuopt.pipeline.complete import Complete
from ipuopt.pipeline.corrected import Plans
from ipuopt.pipeline.levers import with_tiles
from ipuopt.pipeline.peer import search_peer
from ipuopt.pipeline.programs import (
    CRASHES,
    build_programs,
    checked_plan,
    go_on,
    keep,
    publish,
    refuse_plan,
    shortest,
)
from ipuopt.pipeline.state import Search, State, bound_of, limit_of, result_of
from ipuopt.pipeline.support import Support
from ipuopt.plan import Plan
from ipuopt.report import SolveReport, SolveStatus
from ipuopt.result import Result
from ipuopt.solvers import parallel
from ipuopt.watch import Watch
from ipuopt.workload.model import Workload

logger = logging.getLogger(__name__)

MAPPING_SHARE = 0.4
"""Most of the time left that the mapping model may take; its bound is the bound of the whole."""

PLAIN_SHARE = 0.4
"""Of that time, what the search for a plan without shared copies may take."""

KEPT = 0.05, 5.0
"""Part of the time limit, and most seconds, kept for the last check and for writing."""


def solve(
    workload: Workload,
    options: SolveOptions,
    *,
    plan: Plan | None = None,
    events: Events | None = None,
    started_s: float | None = None,
    workers: Workers | None = None,
    library: Library | None = None,
    profile: bool = False,
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
    started_s
        :func:`time.monotonic` at which the time limit began to run; that of the call unless said.
    workers
        For parts of a stage that run side by side. Unless given, those of the cluster that the
        options name, or none: processes ask for a script that can be imported
        (:class:`ipuopt.solvers.parallel.Workers`).
    library, profile
        What the package will be built with: the code that needs room beside the rows.

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
    started_s = time.monotonic() if started_s is None else started_s
    watch = Watch(events.should_stop, options.memory_limit_bytes)
    state = State()
    with contextlib.ExitStack() as stack:
        if workers is None and options.cluster is not None:
            workers = stack.enter_context(parallel.Workers(options.threads, options.cluster))
        watched = replace(events, should_stop=watch)
        limits = limits_of(options, watched, started_s, kept=KEPT, workers=workers)
        search = Search(
            workload, options, limits, events, watch, started_s, Support(library, profile)
        )
        if plan is not None:
            refuse_plan(workload, plan)
            _given(search, state, plan)
        elif options.space is SpaceKind.PEER:
            search_peer(search, state)
        else:
            try:
                _search(search, state)
            except InfeasibleError as error:
                told = with_tiles(error.explanation, workload, limits)
                raise InfeasibleError(told) from error
    best = shortest(state)
    if best is None:
        raise LimitError(f"{workload.name}: no program was complete when the search ended")
    if state.main is not None and best is not state.main:
        events.on_message("the program built from heuristics alone is the shortest; it is kept")
    if not events.should_stop():
        best = search.support.with_room(best, limits, search=True)
    _refuse_contradiction(bound_of(search, state), best)
    return result_of(search, state, best, limit_of(search, state, best.reports))


def _given(search: Search, state: State, plan: Plan) -> None:
    """Programs of a plan from outside; what its layouts cannot do is the fault of the input."""
    try:
        build_programs(search, state, plan)
    except LayoutError as error:
        found = f"a plan that cannot be lowered ({error})"
        name = search.workload.name
        raise InputError(f"{name}: found {found}, expected other layouts") from error


def _search(search: Search, state: State) -> None:
    """Heuristic program first, then what solvers make better; both are left in ``state``."""
    limits, events = search.limits, search.events
    events.on_stage("mapping")
    begin = time.monotonic()
    space = build_space(search.workload, limits)
    build_time_s = time.monotonic() - begin
    roomier = space.leave(ROOM_BYTES[0])
    beam = roomier.beam(limits)
    if beam is None:
        beam = space.beam(limits)
    if beam is not None:
        events.on_stage("heuristic program")
        try:
            state.heuristic = build_heuristic(
                checked_plan(search.workload, space, beam), limits, search.support
            )
        except InfeasibleError as error:  # of this plan; there are others
            logger.info("the heuristic plan does not fit: %s", error)
        state.report = _unsearched(search, space, beam)
        publish(search, state)
    try:
        _improve(search, state, space, beam)
    except CRASHES as error:
        go_on(state, error)
    assert state.report is not None
    state.report = replace(
        state.report,
        build_time_s=state.report.build_time_s + build_time_s,
        wall_time_s=state.report.wall_time_s + build_time_s,
    )


def _improve(search: Search, state: State, space: Space, beam: mapping.Solution | None) -> None:
    """Mapping and program of the solvers."""
    name, limits = search.workload.name, search.limits
    search.events.on_stage("mapping")
    share = limits.within(MAPPING_SHARE * limits.remaining_s())
    solution, report = _solve_mapping(search, space, share, beam)
    state.report, state.cut = report, share.remaining_s() == 0.0
    if solution is None and state.heuristic is None:
        if report.status is not SolveStatus.INFEASIBLE:
            raise LimitError(f"{name}: the limit came before the first mapping")
        raise InfeasibleError(mapping.explain(space.problem))
    publish(search, state)
    if state.heuristic is not None and limits.expired():
        return  # another program would take as long again as this one
    exact = search.options.solver is not Solver.HEURISTIC
    if solution is not None and (exact or state.heuristic is None):
        plans = Plans.of(search, state, space)
        if exact:
            solution = plans.first(solution)
        attempts = _attempts(search, state, space, solution, exact=exact)
        state.main = attempts.program
        if state.main is None and state.heuristic is None:
            raise _unplaced(search, attempts)
        if exact and state.main is not None:
            if attempts.space is not space:
                plans = Plans.of(search, state, attempts.space)
            state.main = plans.best(attempts.solution, state.main, report.bound)


def _unsearched(search: Search, space: Space, beam: mapping.Solution) -> SolveReport:
    """Report on the plan of the beam with the first bound: what holds if nothing comes after."""
    return mapping.solve(space.problem, search.limits.within(0.0).unheard(), beam=beam)[1]


def _attempts(
    search: Search, state: State, space: Space, solution: mapping.Solution, *, exact: bool
) -> Attempts:
    """Program of ``solution``, or of the next plan that can be placed."""
    limits, events = search.limits, search.events

    def build_one(where: Space, candidate: mapping.Solution) -> Complete | None:
        plan = checked_plan(search.workload, where, candidate)
        if not exact:
            return build_heuristic(plan, limits, search.support)
        return build(
            plan, limits, events, lambda program: keep(search, state, program), search.support
        )

    def solve_again(where: Space) -> tuple[mapping.Solution | None, bool]:
        events.on_message("a plan could not be placed; the mapping is solved without it")
        share = limits.within(MAPPING_SHARE * limits.remaining_s())
        again, report = _solve_mapping(search, where, share)
        state.cut |= share.remaining_s() == 0.0
        logger.info("the mapping is solved again: %s", report.status)
        return again, report.status is SolveStatus.INFEASIBLE

    known = math.inf if state.heuristic is None else state.heuristic.cycles
    return first_complete(
        space, solution, build_one, solve_again, limits.expired, known_cycles=known
    )


def _unplaced(search: Search, attempts: Attempts) -> Error:
    """The error for a workload that has mappings, but none that was placed."""
    if attempts.refused is None:
        return LimitError(f"{search.workload.name}: no program was complete when the search ended")
    if attempts.exhausted:
        return InfeasibleError(attempts.refused)
    tried = "no mapping that was tried can be placed"
    return LimitError(f"{search.workload.name}: {tried}; {attempts.refused}")


def _solve_mapping(
    search: Search, space: Space, share: Limits, beam: mapping.Solution | None = None
) -> tuple[mapping.Solution | None, SolveReport]:
    """Choose labels; where values have several readers, first without copies that are shared."""
    backend, start = search.options.solver.value, beam
    if space.has_ways:
        plain, keep = space.plain()
        quiet = share.within(PLAIN_SHARE * share.remaining_s()).unheard()
        found, _ = mapping.solve(plain.problem, quiet, backend=backend)
        start = beam if found is None else lifted(found, keep)
    solution, report = mapping.solve(space.problem, share, backend=backend, beam=start)
    if beam is not None:
        report = replace(report, heuristic=mapping.evaluate(space.problem, beam))
    return solution, report


def _refuse_contradiction(bound: int | None, best: Complete) -> None:
    """A valid bound is never above a checked program made of the same candidates."""
    if bound is not None and bound > best.cycles:
        message = f"mapping bound {bound} above the checked program of {best.cycles} cycles"
        raise CheckError("total", (("bound", message),), {"plan": best.built.plan.to_json()})
