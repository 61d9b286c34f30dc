"""What ``ipuopt assign`` prints and writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ipuopt.cli.table import aligned, ending
from ipuopt.figures import duration, percent, thousands
from ipuopt.files import replace_file
from ipuopt.models.assignment import Problem, Solution
from ipuopt.models.assignment.solution_file import text
from ipuopt.report import SolveReport
from ipuopt.rundir import config_of
from ipuopt.settings import Setting
from ipuopt.strict_json import dumps
from ipuopt.versions import versions


@dataclass(frozen=True, slots=True)
class AssignOutcome:
    """A problem, its best solution and the report.

    Attributes
    ----------
    settings
        Options with their origin.
    files
        Where solution and report go.
    code
        Exit code of the command.
    wall_time_s
        Of the whole command, up to here.
    """

    problem: Problem
    solution: Solution
    report: SolveReport
    settings: Mapping[str, Setting]
    files: tuple[Path, Path]
    code: int
    wall_time_s: float

    def write(self) -> None:
        """Write solution and report.

        Raises
        ------
        InputError
            When writing fails (disk full).
        """
        replace_file(self.files[0], text(self.solution))
        replace_file(self.files[1], dumps(self.content()))

    def content(self) -> dict[str, Any]:
        """The object of the report file and of ``--json``."""
        return {
            "problem": self.problem.name,
            "solution": str(self.files[0]),
            "exit_code": self.code,
            "versions": versions(),
            "config": config_of(self.settings),
            "wall_time_s": self.wall_time_s,
            "report": self.report.to_json(),
        }

    def lines(self) -> list[str]:
        """A table of one row, and what to know about it."""
        report = self.report
        figures = (report.heuristic, report.objective, report.bound)
        titles = (
            *("stage", "nodes", "edges", "heuristic", "solver", "bound"),
            *("gap", "proven by", "time"),
        )
        row = (
            self.problem.name,
            thousands(len(self.problem)),
            thousands(len(self.problem.tail)),
            *(thousands(figure) for figure in figures),
            percent(report.gap),
            report.bound_source,
            duration(self.wall_time_s),
        )
        files = (f"Solution: {self.files[0]}", f"Report: {self.files[1]}")
        return [*aligned([titles, row]), "", *ending(report), *files]
