"""Schedules of single phases with their reports; no schedule goes on without its checker."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ipuopt.errors import CheckError
from ipuopt.limits import Limits
from ipuopt.models import exchange
from ipuopt.report import SolveReport, status_of


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A checked schedule of a phase and its report."""

    solution: exchange.Solution
    report: SolveReport

    @property
    def horizon(self) -> int:
        """Events of the phase: the objective of a report that comes with a schedule."""
        assert self.report.objective is not None
        return self.report.objective


def scheduled(
    problem: exchange.Problem, solution: exchange.Solution, heuristic: int | None
) -> Scheduled:
    """A schedule that no search has made; it passes its checker here."""
    refuse(problem.name, exchange.check(problem, solution))
    horizon = exchange.horizon(problem, solution)
    bound, source = exchange.lower_bound(problem)
    report = SolveReport(
        stage="exchange",
        model=problem.name,
        status=status_of(horizon, bound),
        heuristic=heuristic,
        objective=horizon,
        bound=bound,
        bound_source=source,
        unit="cycles",
    )
    return Scheduled(solution, report)


def searched(problem: exchange.Problem, first: Scheduled, limits: Limits) -> Scheduled:
    """What a search makes of a phase; ``first`` if that is better."""
    solution, report = exchange.solve(problem, _named(limits, problem.name))
    refuse(problem.name, exchange.check(problem, solution))
    return _better(first, Scheduled(solution, report))


def _better(first: Scheduled, searched: Scheduled) -> Scheduled:
    """What the search found, unless it had less time than the first schedule needs to be better."""
    horizon = first.horizon
    if searched.horizon <= horizon:
        return searched
    status = status_of(horizon, searched.report.bound)
    report = replace(searched.report, objective=horizon, status=status, terms={})
    return Scheduled(first.solution, report)


def _named(limits: Limits, name: str) -> Limits:
    """Same limits; what is told of a stage is told under ``name``."""
    return replace(
        limits,
        on_solution=lambda _, value: limits.on_solution(name, value),
        on_bound=lambda _, value: limits.on_bound(name, value),
    )


def refuse(what: str, violations: tuple[tuple[str, str], ...]) -> None:
    """Raise what a checker found in ``what`` as an error of the stage that made it."""
    if violations:
        raise CheckError(what, violations)
