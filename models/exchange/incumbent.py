"""What one solve of a phase knows: incumbent, bound, how it went; and the report."""

from __future__ import annotations

import time

import numpy as np

from ipuopt.errors import CheckError
from ipuopt.limits import Limits
from ipuopt.models.exchange.bounds import lower_bound
from ipuopt.models.exchange.check import check, horizon
from ipuopt.models.exchange.heuristics import first_starts
from ipuopt.models.exchange.instance import instance
from ipuopt.models.exchange.problem import BoolArray, Problem, Solution
from ipuopt.models.exchange.search import Search
from ipuopt.models.exchange.timing import horizon_of
from ipuopt.models.exchange.widths import qualifying
from ipuopt.report import NO_SOLVER, Limit, RunInfo, SolveReport, SolveStatus, TracePoint, status_of

STAGE = "exchange"


class Incumbent:
    """State of one solve.

    Attributes
    ----------
    problem, limits, free
        As given to :func:`~ipuopt.models.exchange.solve.solve`.
    begun
        Whether an earlier schedule was taken over.
    bound, source
        Highest bound, in events, and the argument.
    paired, search
        Widths at hand, and the best schedule of them.
    solver, build_time_s, notes, refused
        For the report: back end, time to build models, remarks, and whether an answer was refused.
    """

    def __init__(self, problem: Problem, limits: Limits, free: bool, warm: Solution | None) -> None:
        self.problem, self.limits, self.free = problem, limits, free
        self._begin = time.monotonic()
        self._trace: list[TracePoint] = []
        self.notes: list[str] = []
        self.solver = NO_SOLVER
        self.build_time_s = 0.0
        self.refused = False
        self.bound, self.source = lower_bound(problem, free=free)
        limits.on_bound(STAGE, self.bound)
        self.begun = warm is not None and self._valid(warm)
        self.paired = warm.paired if warm is not None and self.begun else problem.paired
        phase = instance(problem, self.paired)
        if warm is not None and self.begun:
            start, self.heuristic = warm.start, horizon_of(warm.start, phase.tail)
        else:
            start, self.heuristic, note = first_starts(phase, self.bound, limits)
            self.notes += [note] if note else []
        self._baseline = Solution(start, self.paired)
        self.search = Search(phase, start, limits.expired)
        self.progress()

    def _valid(self, warm: Solution) -> bool:
        """Whether a schedule to start from is one of the widths asked for."""
        if not self.free and not np.array_equal(warm.paired, self.problem.paired):
            return False
        if check(self.problem, warm):
            self.notes.append("the schedule to start from is not valid")
            return False
        return True

    def change_widths(self, paired: BoolArray, search: Search) -> None:
        """Go on with other widths and what has been found for them."""
        self.paired, self.search = paired, search

    @property
    def target(self) -> int:
        """Horizon at which the search ends: the bound, or what the accepted gap allows."""
        if self.limits.gap >= 1:
            return self.heuristic
        return max(self.bound, int(self.bound / (1 - self.limits.gap)))

    @property
    def open(self) -> bool:
        """Whether there is a gap left to close, and time for it."""
        return self.search.horizon > self.target and not self.limits.expired()

    @property
    def decided(self) -> bool:
        """Whether widths are a decision: then bounds of the widths at hand prove nothing."""
        return self.free and bool(qualifying(self.problem).any())

    def raise_bound(self, bound: int, source: str) -> None:
        """Take over a bound of the widths at hand, if it is higher and proves something."""
        if bound > self.bound and not self.decided:
            self.bound, self.source = bound, source
            self.limits.on_bound(STAGE, self.bound)

    def progress(self) -> None:
        """Tell of the incumbent."""
        value = self.search.horizon
        if not self._trace or self._trace[-1].objective != value:
            self.limits.on_solution(STAGE, value)
        self._trace.append(TracePoint(time.monotonic() - self._begin, value, self.bound))

    def report(self) -> tuple[Solution, SolveReport]:
        """Check the incumbent, or else the baseline, and say how good it is."""
        solution = Solution(self.search.start, self.paired)
        violations = check(self.problem, solution)
        if violations:
            self.notes.append(f"refused: {violations[0][0]}: {violations[0][1]}")
            self.refused = True
            solution = self._baseline
            violations = check(self.problem, solution)
            if violations:
                raise CheckError(f"exchange {self.problem.name}", violations)
        objective = horizon(self.problem, solution)
        if self.bound > objective:
            self.notes.append(f"refused: bound {self.bound} above a checked horizon {objective}")
            self.refused = True
            self.bound, self.source = lower_bound(self.problem, free=self.free)
        status = status_of(objective, self.bound)
        return solution, SolveReport(
            stage=STAGE,
            model=self.problem.name,
            status=status,
            objective=objective,
            bound=self.bound,
            bound_source=self.source,
            unit="cycles",
            limit=self._limit(status, objective),
            heuristic=self.heuristic,
            build_time_s=self.build_time_s,
            wall_time_s=time.monotonic() - self._begin,
            run=RunInfo(
                solver=self.solver,
                seed=self.limits.seed,
                threads=self.limits.threads,
                deterministic=self.limits.deterministic,
                note="; ".join(dict.fromkeys(self.notes)),
            ),
            trace=tuple(self._trace),
        )

    def _limit(self, status: SolveStatus, objective: int) -> Limit | None:
        if status is SolveStatus.OPTIMAL:
            return None
        if self.refused:
            return Limit.SOLVER
        if objective <= self.target:
            return Limit.GAP
        if self.limits.should_stop():
            return Limit.INTERRUPT
        return Limit.TIME if self.limits.expired() else None
