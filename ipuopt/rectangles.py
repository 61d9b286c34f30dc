"""Shards of a value: which rectangle each tile holds under a layout."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.layout import (
    COLUMNS,
    ROWS,
    IntArray,
    Layout,
    LayoutError,
    cut_axis,
    whole_axis,
    widest_part,
)


@dataclass(frozen=True, slots=True)
class Rectangles:
    """Shards of a value, one entry a shard, sorted by tile.

    Attributes
    ----------
    tile
        Logical tile, shape ``(shards,)``.
    row_start, row_end, row_stop
        Logical range ``[start, end)`` and physical range ``[start, stop)`` of rows.
    column_start, column_end, column_stop
        The same for columns.
    """

    tile: IntArray
    row_start: IntArray
    row_end: IntArray
    row_stop: IntArray
    column_start: IntArray
    column_end: IntArray
    column_stop: IntArray

    def __len__(self) -> int:
        return len(self.tile)

    @property
    def elements(self) -> IntArray:
        """Physical elements of each shard, padding included."""
        return (self.row_stop - self.row_start) * (self.column_stop - self.column_start)

    @property
    def logical_elements(self) -> IntArray:
        """Elements of each shard without padding."""
        return (self.row_end - self.row_start) * (self.column_end - self.column_start)


def axis_strides(layout: Layout) -> dict[int, int]:
    """Tiles between neighbouring parts of each listed axis."""
    strides, packed = {}, layout.replicas
    for tiling in layout.axes:
        if tiling.axis in strides:
            raise LayoutError(f"axis {tiling.axis} is listed twice")
        strides[tiling.axis] = packed if tiling.stride is None else tiling.stride
        packed *= tiling.partitions
    if packed != layout.tiles:
        raise LayoutError(f"{layout.tiles} tiles, but replicas and partitions make {packed}")
    return strides


def tile_coordinate(layout: Layout, axis: int) -> IntArray:
    """Part of ``axis`` that each tile holds, shape ``(tiles,)``; zeros for an axis not listed."""
    tile = np.arange(layout.tiles, dtype=np.int64)
    tiling = layout.tiling(axis)
    if tiling is None:
        return np.zeros_like(tile)
    return (tile // axis_strides(layout)[axis]) % tiling.partitions


def rectangles(layout: Layout, rows: int, columns: int) -> Rectangles:
    """Shards of a ``rows x columns`` value under ``layout``.

    Raises
    ------
    LayoutError
        If the layout does not fit the shape, or tiles and coordinates do not match.
    """
    if layout.is_linear:
        return _linear_rectangles(layout, rows, columns)
    coordinates = {axis: tile_coordinate(layout, axis) for axis in (ROWS, COLUMNS)}
    parts = {a: t.partitions if (t := layout.tiling(a)) else 1 for a in (ROWS, COLUMNS)}
    hits = np.bincount(
        coordinates[ROWS] * parts[COLUMNS] + coordinates[COLUMNS],
        minlength=parts[ROWS] * parts[COLUMNS],
    )
    if np.any(hits != layout.replicas):
        raise LayoutError(f"some parts do not have {layout.replicas} replicas: strides clash")
    cuts = []
    for axis, extent in ((ROWS, rows), (COLUMNS, columns)):
        tiling = layout.tiling(axis)
        cut = whole_axis(extent) if tiling is None else cut_axis(extent, tiling)
        cuts += [bounds[coordinates[axis]] for bounds in (cut.start, cut.end, cut.stop)]
    return Rectangles(np.arange(layout.tiles, dtype=np.int64), *cuts)


def _linear_rectangles(layout: Layout, rows: int, columns: int) -> Rectangles:
    """Intervals of the row-major sequence, split at row ends into one-row rectangles."""
    if len(layout.axes) != 1 or layout.replicas != 1:
        raise LayoutError("a linear layout has one axis and no replicas")
    grain = layout.axes[0].block
    grains, left = divmod(rows * columns, grain)
    if left or grains < layout.tiles:
        raise LayoutError(f"{rows * columns} elements are not {layout.tiles} or more x {grain}")
    tile = np.arange(layout.tiles, dtype=np.int64)
    short, long_tiles = divmod(grains, layout.tiles)
    begin = grain * (tile * short + np.minimum(tile, long_tiles))
    end = begin + grain * (short + (tile < long_tiles))
    first_row, last_row = begin // columns, (end - 1) // columns
    count = last_row - first_row + 1
    owner = np.repeat(tile, count)
    row = first_row[owner] + np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    start = np.maximum(begin[owner], row * columns) - row * columns
    stop = np.minimum(end[owner], (row + 1) * columns) - row * columns
    return Rectangles(owner, row, row + 1, row + 1, start, stop, stop)


def max_shard_elements(layout: Layout, rows: int, columns: int) -> int:
    """Most physical elements that one tile holds."""
    if layout.is_linear:
        grain = layout.axes[0].block
        return -(-(rows * columns // grain) // layout.tiles) * grain
    tall = widest_part(rows, layout.tiling(ROWS))
    return tall * widest_part(columns, layout.tiling(COLUMNS))
