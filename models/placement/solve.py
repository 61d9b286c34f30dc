"""One tile: bound, heuristics, then CP-SAT if they leave something open."""

from __future__ import annotations

import time

from ipuopt.errors import CheckError, Infeasibility
from ipuopt.limits import Limits
from ipuopt.models.placement import peer
from ipuopt.models.placement.bounds import explain, footprint_bound
from ipuopt.models.placement.check import check, conflict_words, footprint
from ipuopt.models.placement.heuristics import Cost, Found, improve, quick
from ipuopt.models.placement.problem import Problem, Solution
from ipuopt.models.placement.refine import Refined, refine_footprint, refine_words, start_of
from ipuopt.models.placement.spaces import explain_refuted
from ipuopt.models.placement.tables import tables_of
from ipuopt.report import Limit, RunInfo, SolveReport, SolveStatus

TRIALS = 2000
"""Moves of the local search on one tile: about 0.1 s with 40 buffers."""

EFFORT = 30.0
"""Deterministic time of each CP-SAT run on one tile, in repeatable mode."""

_CHUNK_WORK = 3_000_000
"""Moves times buffers squared between two looks at the clock: about 0.1 s."""


def peer_cost(problem: Problem) -> Cost | None:
    """Cost of the peer compiler's placement; None if it places nothing valid."""
    solution = peer.heuristic(problem)
    if solution is None or check(problem, solution):
        return None
    return Cost(conflict_words(problem, solution), footprint(problem, solution))


def search(problem: Problem, limits: Limits, goal: int, trials: int) -> Found | None:
    """Heuristic placement: all orders, then local search in chunks until a limit or ``goal``.

    None of a problem that is not plain, too.
    """
    if not problem.is_plain:
        return None
    tables = tables_of(problem)
    found = quick(tables, goal, limits.expired)
    chunk = max(1, _CHUNK_WORK // max(1, len(problem)) ** 2)
    for number, done in enumerate(range(0, trials, chunk)):
        if limits.expired() or (found is not None and found.cost <= Cost(0, goal)):
            break
        found = improve(tables, found, min(chunk, trials - done), limits.seed + number, goal)
    return found


def verified(problem: Problem, found: Found | None) -> Found | None:
    """``found``, after the checker has seen it.

    Raises
    ------
    CheckError
        If the heuristics contradict the formulation.
    """
    if found is None:
        return None
    violations = check(problem, found.solution)
    cost = Cost(
        conflict_words(problem, found.solution),
        footprint(problem, found.solution),
    )
    if cost != found.cost:
        violations += (("O2", f"cost {found.cost} is {cost}"),)
    if violations:
        raise CheckError(f"placement of {problem.name}", violations)
    return found


def solve(problem: Problem, limits: Limits) -> tuple[Solution | None, SolveReport]:
    """Place the buffers of one tile.

    Returns
    -------
    tuple
        The placement, None if none was found, and the report; its status is INFEASIBLE only
        after a proof, by load or by search, which the note holds.
    """
    begin = time.monotonic()
    model = f"placement {problem.name}"
    names = [f"buffer {index}" for index in range(len(problem))]
    explanation = explain(problem, names)
    if explanation is not None:
        return None, _infeasible(model, explanation, "live bytes", begin)
    bound = footprint_bound(problem)
    state = start_of(verified(problem, search(problem, limits, bound, TRIALS)), bound)
    half = limits if limits.deterministic else limits.within(limits.remaining_s() / 2)
    state = refine_words(state, problem, half, EFFORT)
    if state.found is None and state.refuted is not None:
        explanation = explain_refuted(problem, state.refuted, names)
        return None, _infeasible(model, explanation, "canonical search", begin)
    state = refine_footprint(state, problem, limits, EFFORT)
    heuristic = peer_cost(problem)
    report = _report(model, state, heuristic, limits, time.monotonic() - begin)
    return (None if state.found is None else state.found.solution), report


def _infeasible(model: str, explanation: Infeasibility, source: str, begin: float) -> SolveReport:
    return SolveReport(
        stage="placement",
        model=model,
        status=SolveStatus.INFEASIBLE,
        objective=None,
        bound=None,
        bound_source=source,
        unit="bytes",
        wall_time_s=time.monotonic() - begin,
        run=RunInfo(note=str(explanation)),
    )


def _report(
    model: str, state: Refined, heuristic: Cost | None, limits: Limits, wall_time_s: float
) -> SolveReport:
    limit = state.limit
    if not state.proven and limit is None:
        limit = Limit.INTERRUPT if limits.should_stop() else Limit.TIME
    status, words, objective = SolveStatus.UNKNOWN, None, None
    if state.found is not None:
        words, objective = state.found.cost.words, state.found.cost.footprint
        status = SolveStatus.OPTIMAL if state.proven else SolveStatus.FEASIBLE
    notes = [f"conflict words {words}, heuristic {heuristic.words if heuristic else None}"]
    if words and not state.words_proven:
        notes.append("fewer conflict words may be possible")
    return SolveReport(
        stage="placement",
        model=model,
        status=status,
        limit=None if state.proven else limit,
        heuristic=heuristic.footprint if heuristic else None,
        objective=objective,
        bound=state.bound,
        bound_source=state.bound_source,
        unit="bytes",
        build_time_s=state.build_time_s,
        wall_time_s=wall_time_s,
        run=RunInfo(
            solver=state.solver,
            seed=limits.seed,
            threads=limits.threads,
            deterministic=limits.deterministic,
            note="; ".join([*notes, *state.notes]),
        ),
        trace=state.trace,
    )
