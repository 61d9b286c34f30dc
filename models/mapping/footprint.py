"""Where many layouts of one value put its elements, tile by tile, as stacked arrays.

Prices of conversions are computed for hundreds of thousands of pairs of layouts; the stacks let one
compiled loop walk over all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ipuopt.layout import LINEAR, IntArray, Layout
from ipuopt.rectangles import rectangles

Int32Array = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Footprints:
    """Logical ranges of every layout on every tile.

    Attributes
    ----------
    bounds
        Shape ``(layouts, 4, tiles)``. Grid layouts: row start, row end, column start, column end.
        Linear layouts: first and past-the-last element of the tile's interval, twice. Tiles
        outside a layout hold nothing: all zero.
    owner
        First tile that holds the same rectangle, shape ``(layouts, tiles)``; that tile sends.
    linear
        1 for linear layouts, shape ``(layouts,)``.
    replicas
        Full copies of the value, shape ``(layouts,)``.
    """

    bounds: Int32Array
    owner: Int32Array
    linear: IntArray
    replicas: IntArray

    def __len__(self) -> int:
        return len(self.linear)


def footprints(layouts: Sequence[Layout], rows: int, columns: int, tiles: int) -> Footprints:
    """Stack the shards of ``layouts`` of a ``rows x columns`` value on ``tiles`` tiles.

    Raises
    ------
    LayoutError
        If a layout does not fit the shape.
    ValueError
        If a layout uses more than ``tiles`` tiles, or the value has 2^31 elements or more.
    """
    if rows * columns >= 2**31:
        raise ValueError(f"{rows} x {columns} elements, expected fewer than 2^31")
    bounds = np.zeros((len(layouts), 4, tiles), dtype=np.int32)
    owner = np.tile(np.arange(tiles, dtype=np.int32), (len(layouts), 1))
    for index, layout in enumerate(layouts):
        if layout.tiles > tiles:
            raise ValueError(f"layout {index} uses {layout.tiles} tiles of {tiles}")
        held = bounds[index, :, : layout.tiles]
        if layout.is_linear:
            held[0::2], held[1::2] = _intervals(layout, rows * columns)
            continue
        shard = rectangles(layout, rows, columns)
        held[0], held[1] = shard.row_start, shard.row_end
        held[2], held[3] = shard.column_start, shard.column_end
        if layout.replicas > 1:
            part = shard.row_start * (columns + 1) + shard.column_start
            _, first, inverse = np.unique(part, return_index=True, return_inverse=True)
            owner[index, : layout.tiles] = first[inverse]
    return Footprints(
        bounds=bounds,
        owner=owner,
        linear=np.array([layout.is_linear for layout in layouts], dtype=np.int64),
        replicas=np.array([layout.replicas for layout in layouts], dtype=np.int64),
    )


def _intervals(layout: Layout, elements: int) -> tuple[IntArray, IntArray]:
    """Interval of the row-major sequence of every tile (cost-model.md 1.4)."""
    tiling = layout.tiling(LINEAR)
    assert tiling is not None
    short, long_tiles = divmod(elements // tiling.block, layout.tiles)
    tile = np.arange(layout.tiles, dtype=np.int64)
    begin = tiling.block * (tile * short + np.minimum(tile, long_tiles))
    return begin, begin + tiling.block * (short + (tile < long_tiles))
