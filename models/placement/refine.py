"""Search and CP-SAT on one tile: first the conflict words, then the footprint."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from ipuopt.limits import Limits
from ipuopt.models.placement.check import check, conflict_words, footprint
from ipuopt.models.placement.heuristics import Cost, Found
from ipuopt.models.placement.problem import IntArray, Problem, Solution
from ipuopt.models.placement.spaces import Refuted, separable, settle
from ipuopt.report import Limit, SolveStatus, TracePoint

FEW_BUFFERS, FEW_BUFFERS_S = 64, 5.0
"""Buffers of a tile for which CP-SAT goes first, and seconds that it then has. It mostly proves the
footprint in less than one; the code of the searches takes longer to compile on a new machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined:
    """What is known of a tile after the heuristics, and after searches and CP-SAT if they ran.

    Attributes
    ----------
    found
        Best placement; None if there is none yet.
    words_proven
        Whether no placement has fewer conflict words.
    bound, bound_source
        Of the footprint in bytes, among placements with the least conflict words.
    refuted
        Proof that there is no placement; None without one.
    """

    found: Found | None
    words_proven: bool
    bound: int
    bound_source: str
    refuted: Refuted | None = None
    limit: Limit | None = None
    solver: str = "none"
    notes: tuple[str, ...] = ()
    trace: tuple[TracePoint, ...] = ()
    build_time_s: float = 0.0

    @property
    def proven(self) -> bool:
        """Whether both objectives are proven least."""
        return (
            self.found is not None and self.words_proven and self.found.cost.footprint == self.bound
        )


def start_of(found: Found | None, bound: int) -> Refined:
    """State before CP-SAT: no conflict words are least without any proof."""
    return Refined(
        found=found,
        words_proven=found is not None and found.cost.words == 0,
        bound=bound,
        bound_source="live bytes",
    )


def _stage(state: Refined, problem: Problem, limits: Limits, stage: str, effort: float) -> Refined:
    """One CP-SAT run that minimises ``stage``, ``"words"`` or ``"footprint"``."""
    # Imported here: where the heuristics meet the bounds no solver is loaded, which takes a second.
    from ipuopt.models.placement.exact import Model
    from ipuopt.solvers import cpsat

    begin = time.monotonic()
    model = Model(problem)
    if stage == "footprint":
        if state.found is not None and model.shared:
            model.cp.add(model.words <= state.found.cost.words)
        model.cp.minimize(model.unit * model.footprint)
    elif model.shared:
        model.cp.minimize(model.words)
    hint = None if state.found is None else model.hint(state.found.solution)
    built = time.monotonic() - begin
    result = cpsat.run(model.cp, limits, name=f"placement {problem.name}", hint=hint, effort=effort)
    limit, notes, found = state.limit or result.reason, list(state.notes), state.found
    if result.note:
        notes.append(result.note)
    if result.status is SolveStatus.INFEASIBLE:
        limit = Limit.SOLVER
        notes.append(f"{problem.name}: CP-SAT says infeasible; no independent proof")
    if result.values is not None:
        solution = model.read(result.values)
        violations = check(problem, solution)
        cost = Cost(conflict_words(problem, solution), footprint(problem, solution))
        if violations:
            limit = Limit.SOLVER
            label, message = violations[0]
            notes.append(f"{problem.name}: CP-SAT's placement refused, {label}: {message}")
        elif found is None or cost < found.cost:
            found = Found(cost, solution)
    bound, source, proven = state.bound, state.bound_source, state.words_proven
    if found is not None:
        least = result.bound if stage == "words" and result.bound is not None else 0
        proven = proven or found.cost.words <= least
        if stage == "footprint" and bound < (result.bound or 0) <= found.cost.footprint:
            bound, source = result.bound or 0, "cp-sat"
    return replace(
        state,
        found=found,
        words_proven=proven,
        bound=bound,
        bound_source=source,
        limit=limit,
        solver=result.solver,
        notes=tuple(notes),
        trace=result.trace if stage == "footprint" else state.trace,
        build_time_s=state.build_time_s + built,
    )


def refine_words(state: Refined, problem: Problem, limits: Limits, effort: float) -> Refined:
    """Look for a placement, or for one with fewer conflict words, unless they are proven least.

    Parameters
    ----------
    effort
        Deterministic time of the run, in repeatable mode.
    """
    if state.words_proven or limits.expired():
        return state
    state = _search_words(state, problem, limits)
    done = state.words_proven or state.refuted is not None or limits.expired()
    if done or not problem.is_plain:
        return state
    return _stage(state, problem, limits.unheard(), "words", effort)


def _better(state: Refined, problem: Problem, solution: Solution) -> Refined:
    """``state`` with a placement, if it is valid and costs less."""
    violations = check(problem, solution)
    if violations:
        label, message = violations[0]
        note = f"{problem.name}: placement by classes refused, {label}: {message}"
        return replace(state, limit=Limit.SOLVER, notes=(*state.notes, note))
    cost = Cost(conflict_words(problem, solution), footprint(problem, solution))
    if state.found is not None and state.found.cost <= cost:
        return state
    proven = state.words_proven or cost.words == 0
    return replace(state, found=Found(cost, solution), words_proven=proven)


def _apart(problem: Problem) -> IntArray:
    """Distinct pairs, and conflict pairs of two buffers."""
    pairs = problem.conflict[problem.conflict[:, 0] != problem.conflict[:, 1]]
    return np.concatenate((problem.distinct, pairs))


def _search_words(state: Refined, problem: Problem, limits: Limits) -> Refined:
    """Placement by classes: without conflict words, or any where there is none yet."""
    if not separable(problem):
        return state
    solver = not problem.is_plain  # else CP-SAT gets the whole tile afterwards
    apart = _apart(problem)
    kinds = (apart, problem.distinct) if len(apart) > len(problem.distinct) else (apart,)
    for pairs in kinds:
        if pairs is problem.distinct and state.found is not None:
            break
        settled = settle(problem, pairs, limits, least=False, solver=solver)
        if settled.solution is not None:
            return _better(state, problem, settled.solution)
        if settled.refuted is not None and pairs is kinds[-1]:
            return replace(state, refuted=settled.refuted)
        if settled.refuted is not None:
            note = f"{problem.name}: proven that no placement is free of conflicts"
            state = replace(state, notes=(*state.notes, note))
    return state


def _search_footprint(state: Refined, problem: Problem, limits: Limits) -> Refined:
    """Placement by classes at the least footprint, and what it proves."""
    if not separable(problem) or state.found is None:
        return state
    apart = problem.distinct if state.found.cost.words else _apart(problem)
    settled = settle(problem, apart, limits, least=True, solver=not problem.is_plain)
    if settled.solution is not None:
        state = _better(state, problem, settled.solution)
    if state.bound < settled.bound:
        state = replace(state, bound=settled.bound, bound_source="canonical search")
    return state


def refine_footprint(state: Refined, problem: Problem, limits: Limits, effort: float) -> Refined:
    """Look for a smaller footprint without more conflict words, unless it is proven least.

    Placements with the least conflict words are among those with at most as many as ``state``, so
    the bound holds even if these are not proven least.
    """
    if _is_least(state) or limits.expired():
        return state
    if problem.is_plain and len(problem) <= FEW_BUFFERS:
        short = limits if limits.deterministic else limits.within(FEW_BUFFERS_S)
        state = replace(_stage(state, problem, short, "footprint", effort), limit=state.limit)
        if _is_least(state) or limits.expired():
            return state
    state = _search_footprint(state, problem, limits)
    if _is_least(state) or limits.expired() or not problem.is_plain:
        return state
    return _stage(state, problem, limits, "footprint", effort)


def _is_least(state: Refined) -> bool:
    return state.found is None or state.found.cost.footprint <= state.bound
