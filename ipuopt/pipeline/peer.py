"""Search among the public compiler's candidates, under its prices (``--space peer``)."""

from __future__ import annotations

import logging
import time

from ipuopt.errors import InfeasibleError, InputError, LimitError
from ipuopt.layout import LayoutError
from ipuopt.models.mapping.peer.chain import read_chain
from ipuopt.models.mapping.peer.search import ChainSearch
from ipuopt.pipeline.programs import build_programs, refuse_plan
from ipuopt.pipeline.state import Search, State
from ipuopt.report import RunInfo, SolveReport, status_of

logger = logging.getLogger(__name__)


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
    workload, limits, events = search.workload, search.limits, search.events
    events.on_stage("mapping")
    begin = time.monotonic()
    chains = ChainSearch(read_chain(workload, limits), workload.outputs)
    build_time_s = time.monotonic() - begin
    best: int | None = None
    refused: InfeasibleError | None = None
    for number, plan in enumerate(chains.plans(limits)):
        best = plan.cost if best is None else best
        note = f"{number} cheaper plans cannot be built" if number else ""
        state.report = SolveReport(
            stage="mapping",
            model="mapping",
            status=status_of(plan.cost, best),
            objective=plan.cost,
            bound=best,
            bound_source="best first over retained candidates",
            unit="cycles of the peer",
            build_time_s=build_time_s,
            wall_time_s=time.monotonic() - begin,
            run=RunInfo(
                solver="best first",
                seed=limits.seed,
                threads=1,
                deterministic=limits.deterministic,
                note=note,
            ),
        )
        events.on_solution("mapping", plan.cost)
        events.on_bound("mapping", best)
        refuse_plan(workload, plan)
        try:
            build_programs(search, state, plan)
        except (InfeasibleError, LayoutError) as error:
            logger.info("a plan of %d cycles cannot be built: %s", plan.cost, error)
            refused = error if isinstance(error, InfeasibleError) else refused
        if state.heuristic is not None or state.main is not None:
            return
        events.on_stage("mapping")
    if not chains.exhausted:
        raise LimitError(f"{workload.name}: no program was complete when the search ended")
    if refused is not None:
        raise refused
    found = f"no plan that keeps the public compiler's rules on {workload.target.tiles} tiles"
    raise InputError(f"{workload.name}: --space peer: found {found}, expected --space full")
