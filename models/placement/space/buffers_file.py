"""MiniMalloc's CSV files: buffers as a problem, and the same file with offsets."""

from __future__ import annotations

import csv
import io
import itertools
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ipuopt.errors import InputError
from ipuopt.models.placement.problem import IntArray
from ipuopt.models.placement.space.problem import MAX_NUMBER, Problem, Solution

NAMES = {
    "buffer": "id",
    "buffer_id": "id",
    "start": "lower",
    "begin": "lower",
    "end": "upper",
}
"""Other names of columns; ``end`` is the last step of life, ``upper`` the first one after it."""

REQUIRED = ("id", "lower", "upper", "size")
OFFSET = "offset"

MAX_LIVE = 20_000_000
"""Buffers times steps at which something starts while they live: about 1 GB of tables."""

_WHOLE = re.compile(r"[+-]?[0-9]{1,30}", re.ASCII)
_GAP = re.compile(
    r"([+-]?[0-9]{1,30})-([+-]?[0-9]{1,30})(?:@([+-]?[0-9]{1,30}):([+-]?[0-9]{1,30}))?", re.ASCII
)


Span = tuple[int, int, int, int]
"""Steps, half-open, and the bytes of the buffer that live in them, half-open."""


@dataclass(frozen=True, slots=True)
class BuffersFile:
    """What a file holds.

    Attributes
    ----------
    titles, rows
        Its cells as they stand, without blank lines.
    ids
        Name of every buffer.
    problem
        Buffers in the order of the rows, without capacity.
    hint
        Addresses to start from; None unless every buffer has one.
    """

    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    ids: tuple[str, ...]
    problem: Problem
    hint: Solution | None

    def text(self, solution: Solution) -> str:
        """The file with its offsets in a column; the last one if it had none."""
        names = [_name(title) for title in self.titles]
        at = names.index(OFFSET) if OFFSET in names else len(names)
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([*self.titles[:at], OFFSET, *self.titles[at + 1 :]])
        for row, address in zip(self.rows, solution.address.tolist(), strict=True):
            writer.writerow([*row[:at], address, *row[at + 1 :]])
        return out.getvalue()


def _name(title: str) -> str:
    name = title.strip().casefold()
    return NAMES.get(name, name)


def read_buffers(path: Path) -> BuffersFile:
    """Read a file; ``-`` is standard input.

    Raises
    ------
    InputError
        Naming file, line and column, what was found and what would be right.
    """
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        found = error.strerror or str(error)
        raise InputError(f"{path}: found {found}, expected a CSV file of buffers") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        found = f"byte {data[error.start]:#04x} at {error.start}"
        raise InputError(f"{path}: found {found}, expected text in UTF-8") from None
    return _Reader(str(path)).read(text)


class _Reader:
    """Reads one text; keeps the place for messages."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.line = 1

    def fail(self, found: str, expected: str, column: str = "") -> InputError:
        where = f", {column}" if column else ""
        return InputError(f"{self.path}:{self.line}{where}: found {found}, expected {expected}")

    def read(self, text: str) -> BuffersFile:
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        titles: tuple[str, ...] = ()
        rows: list[tuple[str, ...]] = []
        lines: list[int] = []
        try:
            for cells in reader:
                self.line = reader.line_num
                if not any(cell.strip() for cell in cells):
                    continue
                row = tuple(cell.strip() for cell in cells)
                if not titles:
                    titles = row
                    self._check_titles(titles)
                elif len(row) != len(titles):
                    raise self.fail(f"{len(row)} cells", f"{len(titles)}, as in the header")
                else:
                    rows.append(row)
                    lines.append(self.line)
        except csv.Error as error:
            self.line = reader.line_num
            raise self.fail(str(error), "cells between commas") from None
        if not titles:
            raise self.fail("no header", f"a line with {', '.join(REQUIRED)}")
        return self._buffers(titles, rows, lines)

    def _check_titles(self, titles: Sequence[str]) -> None:
        names = [_name(title) for title in titles]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise self.fail(f"column {titles[number]!r} twice", "each column once")
        missing = [name for name in REQUIRED if name not in names]
        if missing:
            raise self.fail(f"no column {missing[0]!r} in {', '.join(titles)}", ", ".join(REQUIRED))

    def _buffers(
        self, titles: tuple[str, ...], rows: list[tuple[str, ...]], lines: list[int]
    ) -> BuffersFile:
        names = [_name(title) for title in titles]
        inclusive = int("end" in [title.casefold() for title in titles])
        first: dict[str, int] = {}
        owners: list[int] = []
        spans: list[Span] = []
        columns: dict[str, list[int]] = {
            name: [] for name in ("size", "alignment", "low", "high", "hint")
        }
        for number, (row, self.line) in enumerate(zip(rows, lines, strict=True)):
            cell = dict(zip(names, row, strict=True))
            self._check_id(cell["id"], first)
            lower = self._whole(cell["lower"], "lower", -MAX_NUMBER)
            upper = self._whole(cell["upper"], "upper", -MAX_NUMBER) + inclusive
            if upper < lower:
                raise self.fail(
                    f"{cell['upper']} after {lower}", "no end before the start", "upper"
                )
            size = self._whole(cell["size"], "size", 0)
            alignment = self._optional(cell.get("alignment", ""), "alignment", 0) or 1
            offset = self._optional(cell.get(OFFSET, ""), OFFSET, -1)
            low, high = 0, MAX_NUMBER
            if offset is not None and offset >= 0:  # the buffer is fixed
                if offset % alignment:
                    raise self.fail(str(offset), f"a multiple of alignment {alignment}", OFFSET)
                low, high = offset, offset + size
            columns["size"].append(size)
            columns["alignment"].append(alignment)
            columns["low"].append(low)
            columns["high"].append(high)
            hint = self._optional(cell.get("hint", ""), "hint", -1)
            columns["hint"].append(-1 if hint is None else hint)
            for span in self._spans(lower, upper, size, cell.get("gaps", ""), inclusive):
                owners.append(number)
                spans.append(span)
        return BuffersFile(
            titles, tuple(rows), tuple(first), *self._problem(columns, owners, spans)
        )

    def _problem(
        self, columns: dict[str, list[int]], owners: list[int], spans: list[Span]
    ) -> tuple[Problem, Solution | None]:
        column = {name: np.array(values, dtype=np.int64) for name, values in columns.items()}
        rows = np.array(spans, dtype=np.int64).reshape(-1, 4)
        span, part = rows[:, :2], rows[:, 2:]
        whole = np.stack((part[:, 0] * 0, column["size"][owners]), axis=1)
        live = _entries(span)
        if live > MAX_LIVE:
            found = f"{live} pairs of a buffer and a start in its life"
            raise InputError(f"{self.path}: found {found}, expected at most {MAX_LIVE}")
        try:
            problem = Problem(
                name=self.path,
                size_bytes=column["size"],
                guard_bytes=np.zeros_like(column["size"]),
                alignment=column["alignment"],
                span_owner=np.array(owners, dtype=np.int64),
                span=span,
                part=part if np.any(part != whole) else part[:0],
                low=column["low"],
                high=column["high"],
                alias=np.full(len(column["size"]), -1),
            )
        except ValueError as error:
            raise InputError(str(error)) from None
        hint = column["hint"]
        return problem, Solution(hint) if len(hint) and hint.min() >= 0 else None

    def _check_id(self, name: str, first: dict[str, int]) -> None:
        if not name:
            raise self.fail("no name", "one of its own for every buffer", "id")
        if name in first:
            raise self.fail(f"{name!r} as in line {first[name]}", "each name once", "id")
        first[name] = self.line

    def _whole(self, text: str, column: str, least: int) -> int:
        if not _WHOLE.fullmatch(text) or not least <= int(text) <= MAX_NUMBER:
            found = repr(text) if len(text) <= 40 else f"{text[:40]!r}..."
            raise self.fail(found, f"a whole number from {least} to {MAX_NUMBER}", column)
        return int(text)

    def _optional(self, text: str, column: str, least: int) -> int | None:
        return self._whole(text, column, least) if text else None

    def _gap(self, text: str, size: int, inclusive: int) -> Span:
        match = _GAP.fullmatch(text)
        if match is None:
            expected = "gaps FIRST-LAST or FIRST-LAST@LOW:HIGH between blanks"
            raise self.fail(repr(text), expected, "gaps")
        begin, end = (self._whole(step, "gaps", -MAX_NUMBER) for step in match.groups()[:2])
        if end + inclusive < begin:
            raise self.fail(repr(text), "no end before the start", "gaps")
        if match[3] is None:
            return begin, end + inclusive, 0, 0
        low, high = (self._whole(byte, "gaps", 0) for byte in match.groups()[2:])
        if not low <= high <= size:
            raise self.fail(repr(text), f"bytes LOW:HIGH of the {size} of the buffer", "gaps")
        return begin, end + inclusive, low, high

    def _spans(self, lower: int, upper: int, size: int, gaps: str, inclusive: int) -> list[Span]:
        """The life of a buffer without its gaps; what lies outside of the life is no gap."""
        if not gaps:
            return [(lower, upper, 0, size)] if lower < upper and size else []
        taken = sorted(self._gap(text, size, inclusive) for text in gaps.split())
        taken = [gap for gap in taken if gap[0] < gap[1]]
        overlap = any(one[1] > other[0] for one, other in itertools.pairwise(taken))
        if overlap and any(low < high for *_, low, high in taken):
            raise self.fail(repr(gaps), "gaps that do not overlap, as one has LOW:HIGH", "gaps")
        spans: list[Span] = []
        for begin, end, low, high in taken:
            spans.append((lower, min(begin, upper), 0, size))
            spans.append((max(begin, lower), min(end, upper), low, high))
            lower = max(lower, end)
        spans.append((lower, upper, 0, size))
        return [span for span in spans if span[0] < span[1] and span[2] < span[3]]


def _entries(span: IntArray) -> int:
    """Buffers times starts in their lives."""
    starts = np.unique(span[:, 0])
    first, last = (np.searchsorted(starts, span[:, side]) for side in (0, 1))
    return int((last - first).sum())
