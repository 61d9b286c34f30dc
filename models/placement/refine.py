"""CP-SAT on one tile: first the conflict words, then the footprint."""

from __future__ import annotations

import time
from dataclasses import dataclass

from ipuopt.limits import Limits
from ipuopt.models.placement.check import check, conflict_words, footprint
from ipuopt.models.placement.heuristics import Cost, Found
from ipuopt.models.placement.problem import Problem
from ipuopt.report import Limit, SolveStatus, TracePoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined:
    """What is known of a tile after the heuristics, and after CP-SAT if it ran.

    Attributes
    ----------
    found
        Best placement; None if there is none yet.
    words_proven
        Whether no placement has fewer conflict words.
    bound, bound_source
        Of the footprint in bytes, among placements with the least conflict words.
    """

    found: Found | None
    words_proven: bool
    bound: int
    bound_source: str
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
    return Refined(
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
    return _stage(state, problem, limits.unheard(), "words", effort)


def refine_footprint(state: Refined, problem: Problem, limits: Limits, effort: float) -> Refined:
    """Look for a smaller footprint without more conflict words, unless it is proven least.

    Placements with the least conflict words are among those with at most as many as ``state``, so
    the bound holds even if these are not proven least.
    """
    if state.found is None or state.found.cost.footprint <= state.bound or limits.expired():
        return state
    return _stage(state, problem, limits, "footprint", effort)
