"""A program that a loader could take, with what is known of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ipuopt.codegen.phases import exchange_problem, phase_slice
from ipuopt.models import exchange
from ipuopt.pipeline.phases import Scheduled
from ipuopt.report import SolveReport
from ipuopt.result import Built


@dataclass(frozen=True, slots=True, kw_only=True)
class Complete:
    """A checked program with the reports of placement and of every phase."""

    built: Built
    reports: tuple[SolveReport, ...]

    @property
    def cycles(self) -> int:
        """Cycles of the whole program."""
        return total_cycles(self.built)

    def problem(self, phase: int) -> exchange.Problem:
        """The exchange problem of a phase at the addresses of the program."""
        return exchange_problem(self.built.program, self.built.address, phase)

    def phase(self, phase: int) -> Scheduled:
        """Schedule and report of a phase."""
        program = self.built.program
        start = self.built.start[phase_slice(program, program.phases[phase])]
        return Scheduled(exchange.Solution(start), self.reports[1 + phase])

    def with_phase(self, phase: int, found: Scheduled) -> Complete:
        """The same program with another checked schedule of one phase."""
        built, reports = self.built, list(self.reports)
        start, horizon = built.start.copy(), built.horizon.copy()
        start[phase_slice(built.program, built.program.phases[phase])] = found.solution.start
        horizon[phase] = found.horizon
        reports[1 + phase] = found.report
        return Complete(built=replace(built, start=start, horizon=horizon), reports=tuple(reports))


def total_cycles(built: Built) -> int:
    """Cycles of the program: steps of all tiles one after another, phases with their sync."""
    return int(built.program.cycles_with(built.horizon).sum())
