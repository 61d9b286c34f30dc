"""Phases of equal structure, and the best that is known of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ipuopt.errors import CheckError
from ipuopt.limits import Limits
from ipuopt.models.exchange.alike import alike, same_addresses
from ipuopt.models.exchange.apart import quick_bound, schedule_apart
from ipuopt.models.exchange.check import check, horizon
from ipuopt.models.exchange.check_apart import check_apart
from ipuopt.models.exchange.problem import Problem, Solution
from ipuopt.models.exchange.slots import schedule_slots
from ipuopt.models.exchange.timing import horizon_of, timing
from ipuopt.report import Limit, RunInfo, SolveReport, status_of

TRANSFER_S, RECEIVER_S = 5e-6, 3e-6
"""Seconds that a search takes to prepare and to schedule once, by transfer and by receiver. Measured
on phases of 675 to 196 821 transfers."""

CHECK_S = 1e-6
"""Seconds that the check at its end takes, by receiver."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A checked schedule of a phase, what is proven of it, and why another one was refused."""

    solution: Solution
    report: SolveReport
    refused: CheckError | None = None


class Group:
    """Phases of one structure.

    Attributes
    ----------
    problem
        The first of them, which is solved.
    others
        Those with other addresses, whose checks a schedule must pass as well.
    effort_s, check_s
        Estimates of the least time that a search takes, and of that of its last check, in seconds.
    best
        Best solution and report so far; None before :meth:`begin`.
    warm
        Best solution of a search, for the next one.
    shown
        Horizon and bound so far, the search under way included.
    limit
        Why the last search stopped; None if by its own rule.
    """

    def __init__(self, places: list[int], problems: list[Problem]) -> None:
        self.places, self.problems = places, problems
        self.problem = problems[0]
        self.others = [one for one in problems if not same_addresses(one, self.problem)]
        receivers = len(self.problem.destination_tile)
        self.effort_s = TRANSFER_S * len(self.problem) + RECEIVER_S * receivers
        self.check_s = CHECK_S * receivers
        self.best: tuple[Solution, SolveReport] | None = None
        self.limit: Limit | None = None
        self.refused: CheckError | None = None
        self.warm: Solution | None = None
        self.shown = (0, 0)

    def begin(self, limits: Limits, free: bool) -> None:
        """The better schedule of one pass that passes its check, and a bound."""
        begin = time.monotonic()
        times = timing(self.problem)
        apart = schedule_apart(self.problem, times)
        found = [schedule_slots(self.problem, times), apart]
        found.sort(key=lambda one: horizon_of(one.start, times.tail))
        for solution in found:
            passed, objective = check_apart(self.problem, solution)
            if passed and all(check_apart(other, solution)[0] for other in self.others):
                break
        else:
            solution = apart
            for problem in (self.problem, *self.others):
                _refuse(problem, solution)
            objective = horizon(self.problem, solution)
        bound, source = quick_bound(self.problem, free=free, times=times)
        self.limit = None if objective == bound else Limit.TIME
        report = SolveReport(
            stage="exchange",
            model=self.problem.name,
            status=status_of(objective, bound),
            limit=self.limit,
            heuristic=objective,
            objective=objective,
            bound=bound,
            bound_source=source,
            unit="cycles",
            wall_time_s=time.monotonic() - begin,
            run=RunInfo(
                seed=limits.seed, threads=limits.threads, deterministic=limits.deterministic
            ),
        )
        self.best = solution, report
        self.shown = objective, bound

    def show(self, objective: int | None, bound: int | None) -> bool:
        """A figure of the search under way; whether it is news."""
        before = self.shown
        horizon, proven = before
        horizon = horizon if objective is None else min(horizon, objective)
        self.shown = horizon, proven if bound is None else min(horizon, max(proven, bound))
        return self.shown != before

    def take(self, solution: Solution, report: SolveReport) -> None:
        """Join a search's outcome: the better schedule, the higher bound, all the time.

        Raises
        ------
        CheckError
            If another phase of the group does not take the schedule, or numbers contradict.
        """
        known, old = self._known()
        for problem in self.others:
            _refuse(problem, solution)
        self.limit = report.limit
        if report.objective is None or (old.objective or 0) < report.objective:
            solution, kept = known, old
        else:
            kept = report
        higher = max((report, old), key=lambda one: one.bound or 0)
        objective, bound = kept.objective, higher.bound
        if objective is not None and bound is not None and bound > objective:
            found = f"bound {bound} ({higher.bound_source}), horizon {objective}"
            raise CheckError(f"exchange {self.problem.name}", (("bound", found),))
        status = status_of(objective, bound)
        self.best = (
            solution,
            replace(
                report,
                status=status,
                limit=None if objective == bound else report.limit,
                heuristic=report.heuristic if self.warm is None else old.heuristic,
                objective=objective,
                bound=bound,
                bound_source=higher.bound_source,
                terms=kept.terms,
                wall_time_s=old.wall_time_s + report.wall_time_s,
            ),
        )
        self.warm = solution

    def interrupt(self) -> None:
        """Remember that the search could not go on."""
        solution, old = self._known()
        if self.gap and old.limit is Limit.TIME:
            self.best = solution, replace(old, limit=Limit.INTERRUPT)

    def refuse(self, error: CheckError, wall_time_s: float) -> None:
        """Keep what is known; the search is not begun again."""
        solution, old = self._known()
        self.refused, self.limit = error, Limit.SOLVER
        self.best = (
            solution,
            replace(old, limit=Limit.SOLVER, wall_time_s=old.wall_time_s + wall_time_s),
        )

    def open(self, gap: float) -> bool:
        """Whether a further search may bring something."""
        accepted = gap * max(1, self.objective)
        return self.refused is None and self.gap > accepted

    @property
    def objective(self) -> int:
        """Horizon of the best schedule, in events."""
        return self._known()[1].objective or 0

    @property
    def bound(self) -> int:
        """Best bound, in events."""
        return self._known()[1].bound or 0

    @property
    def gap(self) -> int:
        """Events between the two."""
        return self.objective - self.bound

    def answers(self) -> Iterator[tuple[int, Answer]]:
        """An answer for every phase by its place; the time is that of the first one."""
        if self.best is None:
            return
        solution, report = self.best
        for place, problem in zip(self.places, self.problems, strict=True):
            one = replace(report, model=problem.name)
            if place != self.places[0]:
                note = f"of equal structure as {self.problem.name}"
                one = replace(one, wall_time_s=0.0, run=replace(report.run, note=note))
            yield place, Answer(solution, one, self.refused)

    def _known(self) -> tuple[Solution, SolveReport]:
        if self.best is None:
            raise ValueError(f"{self.problem.name}: no schedule yet")
        return self.best


def _refuse(problem: Problem, solution: Solution) -> None:
    violations = check(problem, solution)
    if violations:
        raise CheckError(f"exchange {problem.name}", violations)


def grouped(problems: Sequence[Problem]) -> list[Group]:
    """Phases by structure (:func:`~ipuopt.models.exchange.alike.alike`)."""
    places: list[list[int]] = []
    for place, problem in enumerate(problems):
        for known in places:
            if alike(problems[known[0]], problem):
                known.append(place)
                break
        else:
            places.append([place])
    return [Group(found, [problems[place] for place in found]) for found in places]
