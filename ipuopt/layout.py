"""Layouts: how the elements of a value are cut over tiles and ordered inside a shard.

A value is seen as a matrix: its last axis gives the columns (axis 1), all axes before it are folded
into rows (axis 2). An axis that a layout does not list is whole on every tile. The record and the
rules of cutting follow the planner of the public compiler for this chip, so that its plans can be
read and priced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]

LINEAR = 0
"""Pseudo-axis: intervals of the row-major element sequence."""
COLUMNS = 1
"""The last axis of a value."""
ROWS = 2
"""All axes but the last, folded."""


class LayoutError(ValueError):
    """A layout cannot be applied to a shape; the message says which rule it breaks."""


class MemoryClass(StrEnum):
    """Region of a tile's memory that a shard lives in."""

    STANDARD = "standard"
    INTERLEAVED = "interleaved"


class OrderKind(StrEnum):
    """Order of the elements inside one shard; see :mod:`ipuopt.orders` for the index formulas."""

    ROW_MAJOR = "row_major"
    LEFT = "amp_left"
    OUTPUT = "amp_output"
    TRANSPOSED_LEFT = "amp_transposed_left"
    TRANSPOSED_OUTPUT = "amp_transposed_output"
    TRANSPOSED_RIGHT = "amp_transposed_right"
    BLOCK_MAJOR = "block_major"
    TRANSPOSED_BLOCK_MAJOR = "transposed_block_major"


@dataclass(frozen=True, slots=True)
class Order:
    """Element order; ``block`` is the inner block ``K_b`` of block-major orders, else 0."""

    kind: OrderKind
    block: int = 0

    def __str__(self) -> str:
        return f"{self.kind}({self.block})" if self.block else str(self.kind)


ROW_MAJOR = Order(OrderKind.ROW_MAJOR)
LEFT = Order(OrderKind.LEFT)
TRANSPOSED_LEFT = Order(OrderKind.TRANSPOSED_LEFT)


@dataclass(frozen=True, slots=True)
class AxisTiling:
    """How one axis is cut.

    Attributes
    ----------
    axis
        ``COLUMNS``, ``ROWS`` or ``LINEAR``.
    partitions
        Number of parts.
    block
        Grain of the cut, in elements.
    padding_multiple
        The extent is padded to a multiple of this; a multiple of ``block``.
    pads
        Whether padding is allowed (with zeros); otherwise the extent must be a multiple already.
    stride
        Tiles between neighbouring parts; None where packed after replicas and the axes before.
    groups
        Equal groups that are padded and cut on their own.
    shard_multiple
        The physical width of a part is a multiple of this.
    """

    axis: int
    partitions: int
    block: int
    padding_multiple: int
    pads: bool = True
    stride: int | None = None
    groups: int = 1
    shard_multiple: int = 1

    def __post_init__(self) -> None:
        counts = (self.partitions, self.block, self.padding_multiple, self.groups)
        if min(counts) < 1 or self.shard_multiple < 1:
            raise LayoutError(f"axis {self.axis}: counts and grains must be at least 1")


@dataclass(frozen=True, slots=True)
class Layout:
    """Order, tile group, replicas, cuts and memory class of a value; compared as a record."""

    order: Order
    tiles: int
    replicas: int
    axes: tuple[AxisTiling, ...]
    memory_class: MemoryClass

    @property
    def is_linear(self) -> bool:
        """Whether tiles own intervals of the row-major sequence."""
        return any(tiling.axis == LINEAR for tiling in self.axes)

    def tiling(self, axis: int) -> AxisTiling | None:
        """Cut of ``axis``; None where the axis is whole on every tile."""
        return next((tiling for tiling in self.axes if tiling.axis == axis), None)

    def to_json(self) -> dict[str, Any]:
        """Plain values for ``plan.json``."""
        return {
            "order": self.order.kind.value,
            "order_block": self.order.block,
            "tiles": self.tiles,
            "replicas": self.replicas,
            "memory_class": self.memory_class.value,
            "axes": [
                {name: getattr(tiling, name) for name in AxisTiling.__slots__}
                for tiling in self.axes
            ],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Layout:
        """Read what :meth:`to_json` wrote."""
        return cls(
            order=Order(OrderKind(data["order"]), data["order_block"]),
            tiles=data["tiles"],
            replicas=data["replicas"],
            axes=tuple(AxisTiling(**tiling) for tiling in data["axes"]),
            memory_class=MemoryClass(data["memory_class"]),
        )


def round_up(value: int, multiple: int) -> int:
    """Smallest multiple of ``multiple`` that is at least ``value``."""
    return -(-value // multiple) * multiple


@dataclass(frozen=True, slots=True)
class Cut:
    """Parts of one axis, arrays of shape ``(partitions,)`` in elements.

    ``[start, end)`` is the logical range, ``[start, stop)`` the physical one with padding.
    """

    start: IntArray
    end: IntArray
    stop: IntArray


def cut_axis(extent: int, tiling: AxisTiling) -> Cut:
    """Cut an axis of ``extent`` elements; the first parts get one block more where it is uneven.

    Raises
    ------
    LayoutError
        If the extent needs padding that the tiling rejects, or groups do not divide.
    """
    groups, parts = tiling.groups, tiling.partitions
    if extent % groups or parts % groups:
        raise LayoutError(f"axis {tiling.axis}: {groups} groups do not divide {extent} and {parts}")
    group_extent, group_parts = extent // groups, parts // groups
    padded = round_up(group_extent, tiling.padding_multiple)
    if not tiling.pads and padded != group_extent:
        raise LayoutError(
            f"axis {tiling.axis}: {group_extent} is no multiple of {tiling.padding_multiple}"
        )
    if padded % tiling.block:
        raise LayoutError(f"axis {tiling.axis}: {padded} is no multiple of {tiling.block}")
    short, long_parts = divmod(padded // tiling.block, group_parts)
    part = np.arange(group_parts, dtype=np.int64)
    start = tiling.block * (part * short + np.minimum(part, long_parts))
    width = tiling.block * (short + (part < long_parts))
    end = np.maximum(start, np.minimum(start + width, group_extent))
    stop = start + -(-width // tiling.shard_multiple) * tiling.shard_multiple
    base = np.repeat(np.arange(groups, dtype=np.int64) * group_extent, group_parts)
    return Cut(*(base + np.tile(bounds, groups) for bounds in (start, end, stop)))


def whole_axis(extent: int) -> Cut:
    """The cut of an axis that is whole on every tile."""
    one = np.array([extent], dtype=np.int64)
    return Cut(np.zeros(1, dtype=np.int64), one, one)


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
    widest = 1
    for axis, extent in ((ROWS, rows), (COLUMNS, columns)):
        tiling = layout.tiling(axis)
        cut = whole_axis(extent) if tiling is None else cut_axis(extent, tiling)
        widest *= int((cut.stop - cut.start).max())
    return widest
