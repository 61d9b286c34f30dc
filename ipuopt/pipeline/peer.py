"""Search among the public compiler's candidates, under its prices (``--space peer``)."""

from __future__ import annotations

import contextlib
import itertools
import logging
import time
from dataclasses import replace

from ipuopt.errors import InfeasibleError, InputError, LimitError
from ipuopt.layout import LayoutError
from ipuopt.models.mapping.peer.chain import read_chain
from ipuopt.models.mapping.peer.search import ChainSearch, has_whole_panels
from ipuopt.pipeline.build import build_heuristic
from ipuopt.pipeline.programs import build_programs, publish, refuse_plan
from ipuopt.pipeline.state import Search, State
from ipuopt.plan import Plan
from ipuopt.report import Limit, RunInfo, SolveReport, status_of

logger = logging.getLogger(__name__)

SOURCE = "best first over retained candidates"
"""What bounds the plans."""

FIRST_TRIES = 3
"""Plans of which one should have a program by heuristics."""


def search_peer(search: Search, state: State) -> None:
    """Leave the programs of the best plan that can be built in ``state``, with its report.

    Plans are taken in order of their cycles: the public compiler reckons with less memory than its
    programs need (lowering.md 6), so that the best ones may have no placement.

    Raises
    ------
    InputError
        If the workload is no chain that the search knows, or no plan keeps that compiler's rules.
    InfeasibleError
        If none of the plans can be placed: why the last one cannot.
    LimitError
        If the time is over before that is known.
    """
    _first_program(search, state)
    try:
        _search(search, state)
    except LimitError:
        if state.heuristic is None:
            raise


def _first_program(search: Search, state: State) -> None:
    """Program of the best plan on all tiles, by heuristics, in case the time ends before the proof.

    No bound: plans on fewer tiles were not looked at.
    """
    workload, limits = search.workload, search.limits
    begin = time.monotonic()
    try:
        chains = ChainSearch(read_chain(workload, limits, brief=True), workload.outputs, limits)
        for plan in itertools.islice(chains.plans(), FIRST_TRIES):
            if not has_whole_panels(plan):
                continue
            refuse_plan(workload, plan)
            state.report = _report(search, plan, None, begin)
            with contextlib.suppress(InfeasibleError, LayoutError):
                state.heuristic = build_heuristic(plan, limits, search.support)
            if state.heuristic is not None:
                publish(search, state)
                return
    except LimitError as error:
        logger.info("no first program: %s", error)


def _report(
    search: Search, plan: Plan, bound: int | None, begin: float, note: str = ""
) -> SolveReport:
    """Report on the mapping ``plan``, in cycles of the public compiler."""
    limits = search.limits
    return SolveReport(
        stage="mapping",
        model="mapping",
        status=status_of(plan.cost, bound),
        objective=plan.cost,
        bound=bound,
        bound_source="" if bound is None else SOURCE,
        unit="cycles of the peer",
        limit=Limit.TIME if bound is None else None,
        wall_time_s=time.monotonic() - begin,
        run=RunInfo(
            solver="best first",
            seed=limits.seed,
            threads=1,
            deterministic=limits.deterministic,
            note=note,
        ),
    )


def _search(search: Search, state: State) -> None:
    """Programs of the best of all plans that can be built."""
    workload, limits, events = search.workload, search.limits, search.events
    events.on_stage("mapping")
    begin = time.monotonic()
    chains = ChainSearch(read_chain(workload, limits), workload.outputs, limits)
    build_time_s = time.monotonic() - begin
    best: int | None = None
    refused: InfeasibleError | None = None
    for number, plan in enumerate(chains.plans()):
        best = plan.cost if best is None else best
        if not has_whole_panels(plan):
            logger.info("a plan of %d cycles cannot be built: weights in slices", plan.cost)
            continue
        note = f"{number} cheaper plans cannot be built" if number else ""
        report = replace(_report(search, plan, best, begin, note), build_time_s=build_time_s)
        events.on_solution("mapping", plan.cost)
        events.on_bound("mapping", best)
        refuse_plan(workload, plan)
        first = state.heuristic, state.report
        state.heuristic, state.report = None, report
        try:
            build_programs(search, state, plan)
        except (InfeasibleError, LayoutError) as error:
            logger.info("a plan of %d cycles cannot be built: %s", plan.cost, error)
            refused = error if isinstance(error, InfeasibleError) else refused
        if state.heuristic is not None or state.main is not None:
            return
        state.heuristic, state.report = first
        events.on_stage("mapping")
    if not chains.exhausted:
        if state.report is not None and state.report.objective is not None and chains.bound:
            bound = min(chains.bound if best is None else best, state.report.objective)
            status = status_of(state.report.objective, bound)
            state.report = replace(state.report, bound=bound, bound_source=SOURCE, status=status)
        raise LimitError(f"{workload.name}: no program was complete when the search ended")
    if refused is not None:
        raise refused
    found = f"no plan that keeps the public compiler's rules on {workload.target.tiles} tiles"
    raise InputError(f"{workload.name}: --space peer: found {found}, expected --space full")
