"""Distinct rectangles of a layout, who owns them, and how two layouts intersect."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.layout import IntArray, Layout
from ipuopt.ranges import ranges
from ipuopt.rectangles import rectangles


@dataclass(frozen=True, slots=True)
class Parts:
    """Distinct non-empty logical rectangles of one value.

    Attributes
    ----------
    row_start, row_end, column_start, column_end
        Half-open logical ranges, shape ``(parts,)``.
    height, width
        Physical extents, shape ``(parts,)``.
    owner
        Tiles that hold the parts, by part, then rising; shape ``(owners,)``.
    bounds
        Range of each part in ``owner``, shape ``(parts + 1,)``.
    value_columns
        Columns of the value.
    is_linear
        Whether every part lies in one row and parts follow the row-major sequence.
    """

    row_start: IntArray
    row_end: IntArray
    column_start: IntArray
    column_end: IntArray
    height: IntArray
    width: IntArray
    owner: IntArray
    bounds: IntArray
    value_columns: int
    is_linear: bool

    def __len__(self) -> int:
        return len(self.row_start)

    @property
    def first_owner(self) -> IntArray:
        """Lowest tile that holds each part."""
        return self.owner[self.bounds[:-1]]

    @property
    def owners(self) -> IntArray:
        """Number of tiles that hold each part."""
        return np.diff(self.bounds)


def distinct_parts(layout: Layout, rows: int, columns: int) -> Parts:
    """Group the shards of a value by logical rectangle (cost-model.md 3.6)."""
    shards = rectangles(layout, rows, columns)
    kept = np.flatnonzero(shards.logical_elements)
    # Parts are disjoint, so the first element of a part names it.
    corner = shards.row_start[kept] * columns + shards.column_start[kept]
    _, first, part = np.unique(corner, return_index=True, return_inverse=True)
    order = np.lexsort((shards.tile[kept], part))
    shown = kept[first]
    return Parts(
        row_start=shards.row_start[shown],
        row_end=shards.row_end[shown],
        column_start=shards.column_start[shown],
        column_end=shards.column_end[shown],
        height=shards.row_stop[shown] - shards.row_start[shown],
        width=shards.column_stop[shown] - shards.column_start[shown],
        owner=shards.tile[kept][order],
        bounds=np.concatenate(([0], np.cumsum(np.bincount(part)))).astype(np.int64),
        value_columns=columns,
        is_linear=layout.is_linear,
    )


@dataclass(frozen=True, slots=True)
class Intersections:
    """Common rectangles of source and target parts, shape ``(intersections,)`` each."""

    source: IntArray
    target: IntArray
    row_start: IntArray
    row_end: IntArray
    column_start: IntArray
    column_end: IntArray

    @property
    def elements(self) -> IntArray:
        """Logical elements of each intersection."""
        return (self.row_end - self.row_start) * (self.column_end - self.column_start)


def intersect(source: Parts, target: Parts) -> Intersections:
    """All pairs of parts that share elements; both sides cover the same value."""
    if source.is_linear and target.is_linear:
        s, t = _sequences(source, target)
    elif source.is_linear:
        s, t = _pieces_in_grid(source, target)
    elif target.is_linear:
        t, s = _pieces_in_grid(target, source)
    else:
        s, t = _grids(source, target)
    return Intersections(
        s,
        t,
        np.maximum(source.row_start[s], target.row_start[t]),
        np.minimum(source.row_end[s], target.row_end[t]),
        np.maximum(source.column_start[s], target.column_start[t]),
        np.minimum(source.column_end[s], target.column_end[t]),
    )


def expand(first: IntArray, stop: IntArray) -> tuple[IntArray, IntArray]:
    """Members of many ranges ``[first, stop)``: index of the range, and the member."""
    count = np.maximum(stop - first, 0)
    index = np.repeat(np.arange(len(first), dtype=np.int64), count)
    return index, ranges(first, count)


def _covering(starts: IntArray, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Ranges of the sorted intervals (given by their starts) that meet ``[low, high)``."""
    first = np.searchsorted(starts, low, side="right") - 1
    return first.astype(np.int64), np.searchsorted(starts, high, side="left").astype(np.int64)


def _grid(parts: Parts) -> tuple[IntArray, IntArray, IntArray]:
    """Starts of the row and column intervals of a grid, and the part in each cell."""
    row_starts, row = np.unique(parts.row_start, return_inverse=True)
    column_starts, column = np.unique(parts.column_start, return_inverse=True)
    cell = np.empty((len(row_starts), len(column_starts)), dtype=np.int64)
    cell[row, column] = np.arange(len(parts))
    return row_starts, column_starts, cell


def _sequences(source: Parts, target: Parts) -> tuple[IntArray, IntArray]:
    """Linear with linear: intervals of the row-major sequence; parts are sorted by it."""
    start = source.row_start * source.value_columns + source.column_start
    low = target.row_start * target.value_columns + target.column_start
    high = low + target.column_end - target.column_start
    t, s = expand(*_covering(start, low, high))
    return s, t


def _pieces_in_grid(pieces: Parts, grid: Parts) -> tuple[IntArray, IntArray]:
    """Linear with grid: every piece lies in one row of cells."""
    row_starts, column_starts, cell = _grid(grid)
    row, _ = _covering(row_starts, pieces.row_start, pieces.row_end)
    piece, column = expand(*_covering(column_starts, pieces.column_start, pieces.column_end))
    return piece, cell[row[piece], column]


def _grids(source: Parts, target: Parts) -> tuple[IntArray, IntArray]:
    """Grid with grid: pairs of row intervals times pairs of column intervals."""
    (row_a, column_a, cell_a), (row_b, column_b, cell_b) = _grid(source), _grid(target)
    i, j = expand(*_covering(row_a, row_b, _ends(row_b)))
    k, m = expand(*_covering(column_a, column_b, _ends(column_b)))
    s = cell_a[j[:, None], m[None, :]].ravel()
    t = cell_b[i[:, None], k[None, :]].ravel()
    return s, t


def _ends(starts: IntArray) -> IntArray:
    """Ends of sorted intervals that follow each other; the last one reaches beyond the value."""
    return np.append(starts[1:], np.iinfo(np.int64).max)
