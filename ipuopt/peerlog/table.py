"""A table of a log, and its text."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

Cell = int | bool | str | Decimal | None
"""Printed decimals keep their digits; None where the log has nothing."""

Row = Mapping[str, Cell]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows in the order of the file; a row may lack columns, which are then empty."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def texts(self) -> list[list[str]]:
        """Every cell as the CSV prints it."""
        return [[text(row.get(column)) for column in self.columns] for row in self.rows]

    def csv(self) -> str:
        """The table as CSV with a header line."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.texts())
        return stream.getvalue()


def names(listed: str) -> tuple[str, ...]:
    """Names of columns, listed with blanks between them."""
    return tuple(listed.split())


def text(cell: Cell) -> str:
    """A cell in a CSV: nothing for None, ``true`` and ``false``, decimals without exponent."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return f"{cell:f}" if isinstance(cell, Decimal) else str(cell)


def difference(first: int | None, second: int | None) -> int | None:
    """``first - second``; None unless both are known."""
    return None if first is None or second is None else first - second


def rounded(value: float, digits: int) -> Decimal:
    """A derived decimal, rounded, without trailing zeros but with one digit after the point."""
    return Decimal(repr(round(value, digits)))
