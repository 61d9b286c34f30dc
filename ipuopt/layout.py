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
from functools import lru_cache
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
        if isinstance(self.stride, int) and self.stride < 1:
            raise LayoutError(f"axis {self.axis}: stride {self.stride}, expected at least 1")


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


@lru_cache(maxsize=4096)
def widest_part(extent: int, tiling: AxisTiling | None) -> int:
    """Most physical elements of a part of an axis; None: the axis is whole.

    Raises
    ------
    LayoutError
        As :func:`cut_axis`.
    """
    cut = whole_axis(extent) if tiling is None else cut_axis(extent, tiling)
    return int((cut.stop - cut.start).max())


def whole_axis(extent: int) -> Cut:
    """The cut of an axis that is whole on every tile."""
    one = np.array([extent], dtype=np.int64)
    return Cut(np.zeros(1, dtype=np.int64), one, one)
