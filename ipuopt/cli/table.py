"""The table that a solve prints: one row a report, then the total."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ipuopt.figures import duration, percent, thousands
from ipuopt.report import Limit, SolveReport, name_of

if TYPE_CHECKING:
    from ipuopt.result import Total

_TITLES = ("stage", "heuristic", "solver", "bound", "gap", "proven by", "time")
_LEFT = (
    *("case", "stage", "phase", "proven by"),
    *("exchange phase", "step of the plan", "sampled step", "kernel", "output"),
)

BOUNDED = (
    "The bound of the total is the mapping bound: it holds for every program made of the same "
    "candidates under this cost model."
)
UNBOUNDED = "The total has no bound: its plan was not searched under this cost model."
CUT = (
    "This deterministic run was cut off before its counters ended it: another may give another "
    "plan. A longer --time-limit makes it repeatable."
)


def label(report: SolveReport) -> str:
    """First column: stage and model, and the unit where it is not cycles."""
    return with_unit(name_of(report.stage, report.model), report.unit)


def with_unit(name: str, unit: str) -> str:
    """A name in the first column, with the unit where it is not cycles."""
    return name if unit == "cycles" else f"{name} ({unit})"


def table(reports: Sequence[SolveReport], total: Total, wall_time_s: float) -> list[str]:
    """Lines of the table, without the remarks under it."""
    rows: list[tuple[str, ...]] = [_TITLES]
    for report in reports:
        proven_by = report.bound_source if report.bound is not None else "-"
        figures = (report.heuristic, report.objective, report.bound)
        rows.append(
            (
                label(report),
                *(thousands(figure) for figure in figures),
                percent(report.gap),
                proven_by,
                duration(report.wall_time_s),
            )
        )
    figures = (total.heuristic, total.objective, total.bound)
    numbers = (thousands(figure) for figure in figures)
    gap = percent(total.gap)
    rows.append((f"total {total.unit}", *numbers, gap, "", duration(wall_time_s)))
    return aligned(rows)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table whose first row holds the titles; words to the left, figures to the right."""
    titles = rows[0]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if title in _LEFT else cell.rjust(width)
            for cell, width, title in zip(row, widths, titles, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def remarks(
    reports: Sequence[SolveReport], total: Total, limit: Limit | None, *, cut: bool = False
) -> Iterator[str]:
    """Lines under the table: what the bound means, which limits stopped what, what to know.

    ``cut`` is for a deterministic run that is not repeatable after all.
    """
    yield UNBOUNDED if total.bound is None else BOUNDED
    if limit is not None:
        yield f"The run stopped early: {limit}."
    if cut:
        yield CUT
    yield from endings([(label(report), report) for report in reports], most=4)


def endings(
    named: Sequence[tuple[str, SolveReport]], *, most: int, kind: str = ""
) -> Iterator[str]:
    """Which limits stopped which solves, and what to know about them.

    Parameters
    ----------
    named
        Reports with the names to print.
    most
        Names that are printed for each limit.
    kind
        Printed before the names, with a blank at its end.
    """
    stopped: dict[Limit, list[str]] = {}
    for name, report in named:
        if report.limit is not None:
            stopped.setdefault(report.limit, []).append(name)
    for reason, names in stopped.items():
        more = f" and {len(names) - most} more" if len(names) > most else ""
        yield f"Stopped by {reason}: {kind}{', '.join(names[:most])}{more}."
    for name, report in named:
        if report.run.note:
            yield f"Note on {kind}{name}: {report.run.note}"


def ending(report: SolveReport) -> Iterator[str]:
    """The same of a command with one solve, which needs no name."""
    if report.limit is not None:
        yield f"Stopped by {report.limit}."
    if report.run.note:
        yield f"Note: {report.run.note}"
