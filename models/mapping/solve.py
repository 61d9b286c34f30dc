"""Strategy for the mapping problem: bound, beam, prices on memory, then a solver on what is left."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field, replace

from ipuopt.limits import Limits
from ipuopt.models.mapping.assigned import SOURCE, assigned
from ipuopt.models.mapping.bounds import Tightened, lower_bound, tighten
from ipuopt.models.mapping.check import check, evaluate
from ipuopt.models.mapping.heuristics import beam_search
from ipuopt.models.mapping.problem import Problem, Solution
from ipuopt.models.mapping.reduction import Reduction
from ipuopt.report import Limit, RunInfo, SolveReport, SolveStatus, TracePoint, gap_of, status_of
from ipuopt.solvers.outcome import Outcome

logger = logging.getLogger(__name__)

STAGE = "mapping"

BACKENDS = ("auto", "highs", "cpsat", "heuristic")
"""``auto`` is HiGHS; ``heuristic`` starts no solver."""


ENOUGH_S = 5.0
"""With less time left, prices on memory come at once: where machine code is not there yet, presolve
has to wait for it."""


@dataclass(slots=True)
class _Run:
    """State of one solve: what is known, where it came from, and why it will end."""

    problem: Problem
    limits: Limits
    begin: float = field(default_factory=time.monotonic)
    solution: Solution | None = None
    objective: int | None = None
    best_bound: int | None = None
    bound_source: str = ""
    heuristic: int | None = None
    solver: str = "none"
    build_time_s: float = 0.0
    refused: bool = False
    notes: list[str] = field(default_factory=list)
    trace: list[TracePoint] = field(default_factory=list)
    told: list[TracePoint] = field(default_factory=list)

    def offer(self, solution: Solution | None) -> int | None:
        """Check a plan, keep it if it is the best; returns its cost, None if it is refused."""
        if solution is None:
            return None
        violations = check(self.problem, solution)
        if violations:
            self.refuse(f"a plan was refused: {violations[0][0]}: {violations[0][1]}")
            return None
        cost = evaluate(self.problem, solution)
        if self.objective is None or cost < self.objective:
            self.solution, self.objective = solution, cost
            self._point(time.monotonic())
            self.limits.on_solution(STAGE, cost)
        return cost

    def bound(self, bound: int, source: str) -> None:
        """Keep a valid bound if it is better."""
        if self.best_bound is None or bound > self.best_bound:
            self.best_bound, self.bound_source = bound, source
            self._point(time.monotonic())
            self.limits.on_bound(STAGE, bound)

    def assign(self) -> None:
        """Bound and plan of the assignment problem, where its presolve decides it."""
        found = assigned(self.problem, self.limits.expired)
        if found is None:
            return
        if not check(self.problem, found.solution):
            self.offer(found.solution)
        if self.objective is not None and found.bound > self.objective:
            self.refuse(f"the bound {found.bound} by {SOURCE} is above a checked plan")
        else:
            self.bound(found.bound, SOURCE)

    def refuse(self, why: str) -> None:
        """Note an answer that was not taken."""
        logger.warning(why)
        self.refused = True
        self.notes.append(why)

    def quiet(self) -> Limits:
        """Limits for a back end: its solutions are told only once they are checked."""
        return replace(self.limits.unheard(), on_bound=self._hope)

    def _hope(self, stage: str, bound: int) -> None:
        if self.best_bound is None or self.best_bound < bound <= (self.objective or bound):
            self.limits.on_bound(stage, bound)

    def take(self, outcome: Outcome, solution: Solution | None, begin: float) -> None:
        """Take over what a back end that was called at ``begin`` says of itself, and its plan."""
        self.solver = outcome.solver
        if outcome.note:
            self.notes.append(outcome.note)
        if outcome.reason is Limit.SOLVER:
            self.refused = True
        self.told = self._joined(outcome, begin - self.begin)
        cost = self.offer(solution)
        if solution is not None and cost != outcome.objective:
            self.refuse(f"{outcome.solver} prices its plan at {outcome.objective}, not {cost}")

    def _joined(self, outcome: Outcome, offset_s: float) -> list[TracePoint]:
        """Trace of a back end, joined with the incumbent and the bound that it started from."""
        joined = []
        for point in outcome.trace:
            objectives = [x for x in (self.objective, point.objective) if x is not None]
            bounds = [x for x in (self.best_bound, point.bound) if x is not None]
            objective = min(objectives, default=None)
            bound = max(bounds, default=None)
            joined.append(TracePoint(offset_s + point.wall_time_s, objective, bound))
        return joined

    def settled(self) -> bool:
        """Whether incumbent and bound meet, up to the gap that is allowed."""
        gap = gap_of(self.objective, self.best_bound)
        return gap is not None and gap <= self.limits.gap

    def infeasible(self, source: str) -> tuple[None, SolveReport]:
        """Report of a proof that no choice fits."""
        self.bound_source = source
        return None, self._report(SolveStatus.INFEASIBLE, None)

    def finish(self, reason: Limit | None = None) -> tuple[Solution | None, SolveReport]:
        """Report of what is known now."""
        status = status_of(self.objective, self.best_bound)
        if status is SolveStatus.OPTIMAL:
            reason = None
        elif self.refused:
            reason = Limit.SOLVER
        elif reason is None and self.settled():
            reason = Limit.GAP
        elif reason is None and self.limits.expired():
            reason = Limit.INTERRUPT if self.limits.should_stop() else Limit.TIME
        return self.solution, self._report(status, reason)

    def _report(self, status: SolveStatus, reason: Limit | None) -> SolveReport:
        proven = status is SolveStatus.INFEASIBLE
        trace = self.trace + ([] if self.refused or proven else self.told)
        return SolveReport(
            stage=STAGE,
            model=STAGE,
            status=status,
            objective=self.objective,
            bound=None if proven else self.best_bound,
            bound_source=self.bound_source,
            unit="cycles",
            limit=reason,
            heuristic=self.heuristic,
            terms=self._terms(),
            build_time_s=self.build_time_s,
            wall_time_s=time.monotonic() - self.begin,
            run=RunInfo(
                solver=self.solver,
                seed=self.limits.seed,
                threads=self.limits.threads,
                deterministic=self.limits.deterministic,
                note="; ".join(self.notes),
            ),
            trace=tuple(sorted(trace, key=lambda point: point.wall_time_s)),
        )

    def _terms(self) -> dict[str, int]:
        if self.solution is None or self.objective is None:
            return {}
        pairs = zip(self.problem.nodes, self.solution.labels, strict=True)
        operations = sum(int(node.cost[label]) for node, label in pairs)
        return {"operations": operations, "conversions": self.objective - operations}

    def _point(self, now: float) -> None:
        self.trace.append(TracePoint(now - self.begin, self.objective, self.best_bound))


def solve(
    problem: Problem, limits: Limits, *, backend: str = "auto", beam: Solution | None = None
) -> tuple[Solution | None, SolveReport]:
    """Choose one label per node at least cost.

    Parameters
    ----------
    problem
        See the package's docstring for the formulation.
    limits
        The beam's plan is returned at worst, even if the deadline has passed.
    backend
        One of ``BACKENDS``.
    beam
        What :func:`~ipuopt.models.mapping.heuristics.beam_search` gives, where the caller knows it.

    Returns
    -------
    tuple
        The best solution, which passes the checker, or None; and the report. The status is
        INFEASIBLE only if that is proven, twice where it rests on a solver.

    Raises
    ------
    ValueError
        For an unknown back end.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend {backend!r}, expected one of {', '.join(BACKENDS)}")
    run = _Run(problem, limits)
    bound = lower_bound(problem)
    if bound is None:
        return run.infeasible("no layouts go together")
    run.bound(bound, "costs moved along edges")
    run.heuristic = run.offer(beam_search(problem, limits) if beam is None else beam)
    if run.settled() or (run.solution is not None and limits.expired()):
        return run.finish()
    run.offer(beam_search(problem, limits, guided=True))
    if run.settled() or limits.expired():
        return run.finish()
    if limits.deterministic or limits.remaining_s() > ENOUGH_S:
        run.assign()
    if run.settled() or limits.expired():
        return run.finish()
    tightened = tighten(problem, run.solution, limits)
    run.offer(tightened.incumbent)
    if tightened.bound is not None:
        run.bound(tightened.bound, "prices on memory")
    if tightened.reduction is None:
        return run.infeasible("bytes of every step")
    if run.settled() or backend == "heuristic" or limits.expired():
        return run.finish()
    return _solve_rest(run, tightened, backend)


def _solve_rest(
    run: _Run, tightened: Tightened, backend: str
) -> tuple[Solution | None, SolveReport]:
    """Let a solver search what the bounds have left over."""
    reduction = tightened.reduction
    assert reduction is not None
    names = ("cpsat", "highs") if backend == "cpsat" else ("highs", "cpsat")
    outcome = _search(run, reduction, tightened.boundary, names[0])
    if outcome.status is SolveStatus.INFEASIBLE and run.objective is None:
        # Wrong answers of this kind are known from both solvers, so one alone is no proof.
        first = outcome.solver
        outcome = _search(run, reduction, tightened.boundary, names[1])
        if outcome.status is SolveStatus.INFEASIBLE:
            return run.infeasible(f"{first} and {outcome.solver}")
        run.notes.append(f"{first} says infeasible, {outcome.solver} does not")
    if outcome.status is SolveStatus.INFEASIBLE:
        run.refuse(f"{outcome.solver} says infeasible, but there is a checked plan")
    elif outcome.bound is not None and not run.refused:
        # What was left out costs at least as much as the incumbent, which is left in.
        if run.objective is not None and outcome.bound > run.objective:
            run.refuse(f"{outcome.solver}'s bound {outcome.bound} is above a checked plan")
        else:
            run.bound(outcome.bound, outcome.solver)
    return run.finish(outcome.reason)


def _search(run: _Run, reduction: Reduction, boundary: tuple[int, int], backend: str) -> Outcome:
    """Build and run one back end; its solution is offered to the run."""
    begin = time.monotonic()
    hint = None if run.solution is None else reduction.lower(run.solution)
    # Imported here: a heuristic run, or a problem proven by bounds, loads no solver.
    if backend == "highs":
        from ipuopt.models.mapping import exact
        from ipuopt.solvers import highs

        program = exact.build(reduction.problem, boundary)
        run.build_time_s += time.monotonic() - begin
        start = None if hint is None else program.start(reduction.problem, hint)
        outcome = highs.run(program.milp, run.quiet(), name=STAGE, hint=start)
        found = None if outcome.values is None else program.read(outcome.values)
    else:
        from ipuopt.models.mapping import exact_cpsat
        from ipuopt.solvers import cpsat

        model = exact_cpsat.build(reduction.problem, boundary)
        run.build_time_s += time.monotonic() - begin
        values = None if hint is None else model.start(reduction.problem, hint)
        outcome = cpsat.run(model.cp, run.quiet(), name=STAGE, hint=values)
        found = None if outcome.values is None else model.read(outcome.values)
    run.take(outcome, None if found is None else reduction.lift(found), begin)
    return outcome
