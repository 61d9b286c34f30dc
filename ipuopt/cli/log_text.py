"""What ``ipuopt log`` prints of a log: its end, what was not understood, sums, tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from ipuopt.cli.table import aligned
from ipuopt.figures import percent, thousands
from ipuopt.peerlog import HorizonSum, Log, Status, Table, horizon_sums
from ipuopt.peerlog.messages import KNOWN
from ipuopt.peerlog.table import Cell

_ENDS = {
    Status.PASS: "the program ran on the device and passed",
    Status.BUILT: "the package was written, nothing was run",
    Status.FAIL: "the device test failed",
    Status.PANIC: "the compiler died",
    Status.CUT: "nothing in the log marks an end",
}
_WIDEST_CELL = 40
_SHOWN_UNREAD, _UNREAD_LENGTH = 5, 80


def as_object(
    file: Path, log: Log, shown: Sequence[Table], found: Mapping[str, Table]
) -> dict[str, Any]:
    """The JSON object of a log."""
    panic = log.panic and {"place": log.panic.place, "message": log.panic.message}
    return {
        "file": str(file),
        "name": log.name,
        "form": log.form,
        "status": log.status,
        "events": len(log.events),
        "foreign_events": _foreign(log),
        "panic": panic,
        "unread": log.unread,
        "sums": [_sum_object(part) for part in horizon_sums(found["exchange_phases"])],
        "tables": {
            table.name: [
                {column: _plain(row.get(column)) for column in table.columns} for row in table.rows
            ]
            for table in shown
        },
    }


def _plain(cell: Cell) -> int | bool | str | float | None:
    return float(cell) if isinstance(cell, Decimal) else cell


def _sum_object(part: HorizonSum) -> dict[str, Any]:
    names = ("build", "variant", "stage", "phases", "horizon", "bound", "gap")
    return {name: getattr(part, name) for name in names}


def _foreign(log: Log) -> int:
    """Events whose message no known version of the compiler prints."""
    return sum(event.message not in KNOWN for event in log.events)


def summary_lines(file: Path, log: Log, found: Mapping[str, Table]) -> Iterator[str]:
    """How the run ended, what was not understood, sums of horizons and bounds."""
    yield f"{file}: {log.form} form, {len(log.events)} events, {log.status}: {_ENDS[log.status]}"
    if log.panic is not None:
        yield f"Panic at {log.panic.place}: {log.panic.message}"
    foreign = _foreign(log)
    if foreign:
        yield f"Not understood: {foreign} event{'s' * (foreign > 1)} with unknown messages"
    for text in log.unread[:_SHOWN_UNREAD]:
        yield f"Not understood: {_short(' '.join(text.split()), _UNREAD_LENGTH)}"
    if len(log.unread) > _SHOWN_UNREAD:
        yield f"Not understood: {len(log.unread) - _SHOWN_UNREAD} more pieces of text"
    sums = horizon_sums(found["exchange_phases"])
    if sums:
        yield ""
        titles = ("build", "stage", "phases", "horizon", "bound", "horizon - bound", "gap")
        yield from aligned([titles, *(_sum_row(part) for part in sums)])


def _sum_row(part: HorizonSum) -> tuple[str, ...]:
    figures = (part.phases, part.horizon, part.bound, part.horizon - part.bound)
    name = " ".join(filter(None, (part.build, part.variant)))
    return (name, part.stage, *map(thousands, figures), percent(part.gap))


def table_lines(shown: Sequence[Table]) -> Iterator[str]:
    """Every table that has rows, without its empty columns."""
    for table in shown:
        if not table.rows:
            continue
        texts = table.texts()
        columns = list(zip(*texts, strict=True))
        kept = [i for i, column in enumerate(columns) if table.columns[i] != "seed" and any(column)]
        titles = [table.columns[i] for i in kept]
        rows = [[_short(row[i], _WIDEST_CELL) for i in kept] for row in texts]
        yield ""
        yield f"{table.name} ({len(rows)} row{'s' * (len(rows) > 1)})"
        yield from aligned([titles, *rows])


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 3]}..."
