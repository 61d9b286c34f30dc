"""What ``ipuopt exchange`` prints and writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ipuopt.cli.exit_codes import EXIT_REJECTED, code_of_search
from ipuopt.cli.streams import as_json_text
from ipuopt.cli.table import aligned, endings
from ipuopt.figures import duration, percent, thousands
from ipuopt.files import replace_file
from ipuopt.models.exchange.group import Answer
from ipuopt.models.exchange.schedule_file import write_schedule
from ipuopt.models.exchange.snapshot import Snapshot
from ipuopt.report import SolveReport, status_of
from ipuopt.rundir import config_of, figures_of
from ipuopt.settings import Setting
from ipuopt.strict_json import dumps
from ipuopt.versions import versions

_TITLES = (
    "phase",
    "transfers",
    "words",
    "heuristic",
    "solver",
    "bound",
    "gap",
    "proven by",
    "time",
)


def exit_code(answers: Sequence[Answer], asked_gap: float | None) -> int:
    """0, 4, 6 or 130 for phases that all have a schedule; 6 for a solution that was refused."""
    if any(answer.refused is not None for answer in answers):
        return EXIT_REJECTED
    ends = [(answer.report.limit, answer.report.gap) for answer in answers]
    return code_of_search(ends, asked_gap)


@dataclass(frozen=True, slots=True)
class ExchangeOutcome:
    """Phases of a snapshot with their answers, in order.

    Attributes
    ----------
    path, snapshot
        The file, and its phases that were asked for.
    answers
        One a phase.
    settings, width
        Options with their origin; ``"given"`` or ``"free"``.
    """

    path: Path
    snapshot: Snapshot
    answers: Sequence[Answer]
    settings: Mapping[str, Setting]
    width: str

    def write(self, file: Path) -> None:
        """Write the schedule; see :func:`~ipuopt.models.exchange.schedule_file.write_schedule`."""
        options = {key: self.settings[key].value for key in ("seed", "threads", "deterministic")}
        write_schedule(
            file,
            self.snapshot.sha256,
            {"versions": versions(), "widths": self.width, **options},
            self.snapshot.numbers,
            self.answers,
            repeatable=bool(options["deterministic"]),
        )

    def write_rows(self, folder: Path) -> None:
        """Write the rows of every tile, in a folder a phase; in a repeat, one an iteration."""
        from ipuopt.codegen.rows import encode_rows, write_rows

        phases = zip(self.snapshot.numbers, self.snapshot.problems, self.answers, strict=True)
        for number, problem, answer in phases:
            place = folder / f"phase_{number}"
            iterations = problem.source_address.shape[1]
            for iteration in range(iterations):
                inner = place / f"iteration_{iteration}" if iterations > 1 else place
                write_rows(inner, encode_rows(problem, answer.solution, iteration=iteration))

    def keep_refused(self, file: Path) -> list[str]:
        """Save what the checker refused beside the schedule; lines that say so."""
        refused = {
            number: answer.refused
            for number, answer in zip(self.snapshot.numbers, self.answers, strict=True)
            if answer.refused is not None
        }
        if not refused:
            return []
        kept = file.with_name(f"{file.name}.rejected.json")
        content = {
            "versions": versions(),
            "snapshot_hash": self.snapshot.sha256,
            "phases": [
                {"phase": number, "violations": error.violations, "artifacts": error.artifacts}
                for number, error in refused.items()
            ],
        }
        replace_file(kept, dumps(content))
        return [f"The checker refused: {error} (saved in {kept})" for error in refused.values()]

    def lines(self, wall_time_s: float) -> list[str]:
        """The table, and what to know about it."""
        rows: list[tuple[str, ...]] = [_TITLES]
        sizes = [(len(p), int(p.words.sum())) for p in self.snapshot.problems]
        reports = [answer.report for answer in self.answers]
        for number, size, report in zip(self.snapshot.numbers, sizes, reports, strict=True):
            rows.append(_row(str(number), size, report))
        total = (sum(count for count, _ in sizes), sum(words for _, words in sizes))
        rows.append(_row("sum", total, self._sum(wall_time_s)))
        named = list(zip(map(str, self.snapshot.numbers), reports, strict=True))
        return [*aligned(rows), "", *endings(named, most=12, kind="phase ")]

    def as_json(self, file: Path, code: int, wall_time_s: float) -> str:
        """One object with all figures; the schedule itself is in the file."""
        phases = [
            {
                "phase": number,
                "transfers": len(problem),
                "words": int(problem.words.sum()),
                **answer.report.to_json(),
            }
            for number, problem, answer in zip(
                self.snapshot.numbers, self.snapshot.problems, self.answers, strict=True
            )
        ]
        content = {
            "output": str(file),
            "exit_code": code,
            "config": config_of(self.settings),
            "snapshot_hash": self.snapshot.sha256,
            "wall_time_s": wall_time_s,
            "total": figures_of(self._sum(wall_time_s)),
            "phases": phases,
        }
        return as_json_text(content)

    def _sum(self, wall_time_s: float) -> SolveReport:
        """Horizons and bounds of all phases, which add up: one phase runs after the other."""
        reports = [answer.report for answer in self.answers]
        objective = sum(report.objective or 0 for report in reports)
        bound = sum(report.bound or 0 for report in reports)
        return SolveReport(
            stage="exchange",
            model=self.path.name,
            status=status_of(objective, bound),
            heuristic=sum(report.heuristic or 0 for report in reports),
            objective=objective,
            bound=bound,
            bound_source="",
            unit="cycles",
            wall_time_s=wall_time_s,
        )


def _row(name: str, size: tuple[int, int], report: SolveReport) -> tuple[str, ...]:
    figures = (*size, report.heuristic, report.objective, report.bound)
    return (
        name,
        *(thousands(figure) for figure in figures),
        percent(report.gap),
        report.bound_source,
        duration(report.wall_time_s),
    )
