"""What ``ipuopt place`` prints and writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ipuopt.cli.exit_codes import EXIT_INFEASIBLE, EXIT_LIMIT, EXIT_NOTHING, code_of_search
from ipuopt.cli.streams import as_json_text
from ipuopt.cli.table import aligned, ending
from ipuopt.figures import duration, percent, thousands
from ipuopt.models.placement.space import Answer
from ipuopt.models.placement.space.buffers_file import BuffersFile
from ipuopt.report import Limit, SolveStatus
from ipuopt.rundir import config_of
from ipuopt.settings import Setting
from ipuopt.versions import versions

NAMED = 5
"""Buffers of a conflict that a message names; ``--json`` lists all."""


def exit_code(answer: Answer, asked_gap: float | None, *, fits: bool) -> int:
    """0, 3, 4, 5 or 130; ``fits`` is whether the question was if the buffers fit."""
    report = answer.report
    if report.status is SolveStatus.INFEASIBLE:
        return EXIT_INFEASIBLE
    if answer.solution is None and report.limit is not Limit.INTERRUPT:
        return EXIT_NOTHING
    code = code_of_search([(report.limit, report.gap)], asked_gap)
    return 0 if fits and code == EXIT_LIMIT else code


@dataclass(frozen=True, slots=True)
class PlaceOutcome:
    """An answer and what it answers.

    Attributes
    ----------
    path, file
        The file, and what it holds.
    settings
        Options with their origin.
    capacity
        Bytes that were asked for; None for the least height.
    """

    path: Path
    file: BuffersFile
    answer: Answer
    settings: Mapping[str, Setting]
    capacity: int | None

    def csv(self) -> str:
        """The file with offsets; empty without a placement."""
        solution = self.answer.solution
        return "" if solution is None else self.file.text(solution)

    def lines(self, output: Path | None) -> list[str]:
        """A table of one row, and what to know about it."""
        report = self.answer.report
        titles = ("buffers", "heuristic", "height", "bound", "gap", "proven by", "time")
        row = (
            str(len(self.file.ids)),
            thousands(report.heuristic),
            thousands(report.objective),
            thousands(report.bound),
            percent(report.gap),
            report.bound_source,
            duration(report.wall_time_s),
        )
        lines = aligned([titles, row])
        if self.capacity is not None and report.objective is not None:
            lines.append(f"Fits into {thousands(self.capacity)} bytes.")
        lines += ending(report)
        if output is not None and report.objective is not None:
            lines.append(f"Offsets: {output}")
        return lines

    def why_not(self) -> str:
        """Why there is no placement, on one line."""
        report, conflict = self.answer.report, self.answer.conflict
        if conflict is None:
            what = "no placement" if self.capacity is None else "neither placement nor proof"
            return f"{what} when the search was stopped by {report.limit}"
        sizes = self.file.problem.size_bytes[conflict.buffers].tolist()
        owners = sorted(
            zip(sizes, (self.file.ids[b] for b in conflict.buffers), strict=True),
            key=lambda owner: -owner[0],
        )
        named = ", ".join(f"{name} {thousands(size)}" for size, name in owners[:NAMED])
        if len(owners) > NAMED:
            named += f" and {len(owners) - NAMED} more"
        count = f"{len(owners)} buffer{'s' if len(owners) > 1 else ''}"
        need = "need" if len(owners) > 1 else "needs"
        if conflict.step is None:
            least = "" if conflict.minimal else " (fewer may be enough)"
            where = "at all"
            if self.capacity is not None:
                where = f"in {conflict.free} bytes, with a load of {conflict.demand}"
            have = "have" if len(owners) > 1 else "has"
            return f"proven not to fit: {count} ({named}){least} {have} no placement {where}"
        return (
            f"proven not to fit: in step {conflict.step}, {count} {need} {conflict.demand} of "
            f"{conflict.free} bytes ({named})"
        )

    def as_json(self, output: Path | None, code: int, wall_time_s: float) -> str:
        """One object with all figures, and the offsets by name."""
        solution, conflict = self.answer.solution, self.answer.conflict
        content = {
            "input": str(self.path),
            "output": None if output is None or solution is None else str(output),
            "exit_code": code,
            "config": config_of(self.settings),
            "versions": versions(),
            "capacity": self.capacity,
            "buffers": len(self.file.ids),
            **self.answer.report.to_json(),
            "wall_time_s": wall_time_s,
            "offsets": None
            if solution is None
            else dict(zip(self.file.ids, solution.address.tolist(), strict=True)),
            "conflict": None
            if conflict is None
            else {
                "buffers": [self.file.ids[b] for b in conflict.buffers],
                "step": conflict.step,
                "demand": conflict.demand,
                "free": conflict.free,
                "minimal": conflict.minimal,
            },
        }
        return as_json_text(content)
