"""State of a solve: the best solution and bound, who is told, and the report."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ipuopt.limits import Limits
from ipuopt.models.assignment.check import check, evaluate
from ipuopt.models.assignment.problem import FORBIDDEN, IntArray, Problem, Solution
from ipuopt.report import Limit, RunInfo, SolveReport, SolveStatus, TracePoint, gap_of, status_of

STAGE = "assignment"

Publish = Callable[[Solution, SolveReport], None]


def forget(solution: Solution, report: SolveReport) -> None:
    """Take no notice of a solution."""
    del solution, report


@dataclass(slots=True)
class Run:
    """What is known, and who is told."""

    problem: Problem
    limits: Limits
    publish: Publish = forget
    begin: float = field(default_factory=time.monotonic)
    solution: Solution | None = None
    objective: int | None = None
    heuristic: int | None = None
    bound: int = 0
    bound_source: str = "costs are not negative"
    solver: str = "none"
    notes: list[str] = field(default_factory=list)
    trace: list[TracePoint] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def offer(self, strategy: IntArray) -> None:
        """Check a choice, and keep it if it is the best."""
        solution = Solution(strategy)
        violations = check(self.problem, solution)
        if violations:
            self.notes.append(f"a solution was refused: {violations[0][1]}")
            return
        cost = evaluate(self.problem, solution)
        with self.lock:
            if self.heuristic is None or self.heuristic >= FORBIDDEN:
                self.heuristic = cost
            if self.objective is None or cost < self.objective:
                self.solution, self.objective = solution, cost
                self._point()
                self.limits.on_solution(STAGE, cost)
                self.publish(solution, self.report()[1])

    def raise_bound(self, bound: int, source: str) -> None:
        """Keep a bound on solutions below 10^18 if it is better; it holds for others up to there."""
        bound = min(bound, FORBIDDEN)
        with self.lock:
            if bound > self.bound:
                self.bound, self.bound_source = bound, source
                self._point()
                self.limits.on_bound(STAGE, bound)

    def settled(self) -> bool:
        """Whether incumbent and bound meet, up to the gap that is allowed."""
        gap = gap_of(self.objective, self.bound)
        return gap is not None and gap <= self.limits.gap

    def done(self) -> bool:
        """Whether to end now."""
        return self.settled() or self.limits.expired()

    def _point(self) -> None:
        now = time.monotonic() - self.begin
        self.trace.append(TracePoint(now, self.objective, self.bound))

    def report(self, status: SolveStatus | None = None) -> tuple[Solution | None, SolveReport]:
        """The best solution, and the report."""
        status = status or status_of(self.objective, self.bound)
        reason = None
        if status in (SolveStatus.FEASIBLE, SolveStatus.UNKNOWN):
            reason = Limit.INTERRUPT if self.limits.should_stop() else Limit.TIME
            reason = Limit.GAP if self.settled() else reason
        return self.solution, SolveReport(
            stage=STAGE,
            model=self.problem.name,
            status=status,
            objective=self.objective,
            bound=None if status is SolveStatus.INFEASIBLE else self.bound,
            bound_source=self.bound_source,
            unit="cost",
            limit=reason,
            heuristic=self.heuristic,
            terms=self._terms(),
            wall_time_s=time.monotonic() - self.begin,
            run=RunInfo(
                solver=self.solver,
                seed=self.limits.seed,
                threads=self.limits.threads,
                deterministic=self.limits.deterministic,
                note="; ".join(self.notes),
            ),
            trace=tuple(self.trace),
        )

    def _terms(self) -> dict[str, int]:
        if self.solution is None or self.objective is None:
            return {}
        chosen = self.problem.first[:-1] + self.solution.strategy
        nodes = sum(self.problem.cost[chosen].tolist())
        return {"nodes": nodes, "edges": self.objective - nodes}
