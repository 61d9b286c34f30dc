"""Layouts that the public compiler tries for a float16 GeLU (cost-model.md 2.6)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ipuopt.layout import LEFT, LINEAR, ROW_MAJOR, AxisTiling, Layout, MemoryClass, Order

GRAIN = 4
"""Elements of one access of 8 bytes."""
PANEL = 16
"""Columns of a panel of the left order."""


def pointwise_formats(
    current: Layout, rows: int, columns: int, counts: Sequence[int]
) -> list[Layout]:
    """The current layout, then linear ones: row-major, and in the left order if that is current.

    Parameters
    ----------
    current
        Layout in which the value was made.
    rows, columns
        The value.
    counts
        Active tiles that are tried.
    """
    formats = [current]
    for tiles in _unbeaten_counts(rows, columns, counts):
        formats.append(_linear(ROW_MAJOR, MemoryClass.STANDARD, tiles, GRAIN))
        if current.order == LEFT and columns % PANEL == 0 and rows * columns // PANEL >= tiles:
            formats.append(_linear(LEFT, current.memory_class, tiles, PANEL))
    return list(dict.fromkeys(formats))


def _linear(order: Order, memory: MemoryClass, tiles: int, grain: int) -> Layout:
    return Layout(order, tiles, 1, (AxisTiling(LINEAR, tiles, grain, grain, pads=False),), memory)


def _unbeaten_counts(rows: int, columns: int, counts: Sequence[int]) -> list[int]:
    """Tile counts that no other beats in tiles and in tile boundaries inside rows."""
    grains, left = divmod(rows * columns, GRAIN)
    if left:
        return []
    figures = [(-t, _inner_boundaries(grains, t, columns)) for t in counts if t <= grains]
    return [
        -fewer
        for fewer, inside in figures
        if not any(
            other <= fewer and cuts <= inside and (other, cuts) != (fewer, inside)
            for other, cuts in figures
        )
    ]


def _inner_boundaries(grains: int, tiles: int, columns: int) -> int:
    """Boundaries between tiles that are no row end."""
    short, long_tiles = divmod(grains, tiles)
    tile = np.arange(1, tiles, dtype=np.int64)
    element = GRAIN * (tile * short + np.minimum(tile, long_tiles))
    return int(np.count_nonzero(element % columns))
