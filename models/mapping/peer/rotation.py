"""Where the shards of parameters lie: the rotation of the public compiler (lowering.md 1)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ipuopt.layout import IntArray
from ipuopt.plan import Origin, PlannedValue
from ipuopt.rectangles import rectangles


def rotate_parameters(values: tuple[PlannedValue, ...], tiles: int) -> tuple[PlannedValue, ...]:
    """Give every parameter the tile offset that levels the parameter bytes of the tiles.

    In order of the values: the offset that makes the largest sum of parameter bytes over tiles
    least, the smallest such offset on ties (lowering.md 1).
    """
    load = np.zeros(tiles, dtype=np.int64)
    rotated = []
    for value in values:
        if value.origin is Origin.PARAMETER:
            size = _bytes_by_tile(value, tiles)
            peaks = [int((load + np.roll(size, offset)).max()) for offset in range(tiles)]
            offset = peaks.index(min(peaks))
            load += np.roll(size, offset)
            value = replace(value, tile_offset=offset)
        rotated.append(value)
    return tuple(rotated)


def _bytes_by_tile(value: PlannedValue, tiles: int) -> IntArray:
    """Physical bytes that each tile holds of a value before rotation."""
    shards = rectangles(value.layout, value.rows, value.columns)
    size = np.zeros(tiles, dtype=np.int64)
    np.add.at(size, shards.tile, shards.elements * value.element_bytes)
    return size
