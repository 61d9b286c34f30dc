"""Compute grids of a matrix product in its physical orientation (cost-model.md 2.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.layout import IntArray
from ipuopt.target.kernels import ceil_div

GROUP = 16
"""Columns and inner elements that the kernel takes at a time (cost-model.md 1.6)."""
ROW_BLOCK = 2
"""Rows are cut in pairs: one exchange word of float16 (cost-model.md 2.2)."""
SMALL_TILES = 256
"""Up to here grids that use an eighth of the tiles are offered; beyond, only those that use half,
and those that may be as quick as is asked for."""


@dataclass(frozen=True, slots=True)
class Grids:
    """Grids without empty parts, shape ``(grids,)`` each.

    Attributes
    ----------
    rows, columns, inner
        Parts of each axis; their product is the number of tiles.
    row_parts
        Row parts of the result: the inner parts share the reduction where there are rows enough.
    result_rows
        Physical rows of the widest result shard.
    widest_rows, block_columns, block_inner
        Physical elements of the widest part; a tile's inner range is one block ``K_b``.
    """

    rows: IntArray
    columns: IntArray
    inner: IntArray
    row_parts: IntArray
    result_rows: IntArray
    widest_rows: IntArray
    block_columns: IntArray
    block_inner: IntArray

    def __len__(self) -> int:
        return len(self.rows)


def _widths(groups: int) -> list[int]:
    """Widest parts that some number of parts has; the least number of parts has each."""
    return sorted({ceil_div(groups, parts) for parts in range(1, groups + 1)})


def kernel_work(rows: int, columns: int, inner: int) -> int:
    """Least cycles of all tiles together: 4 a row, 16 columns and 16 inner (cost-model.md 3.3)."""
    return 4 * rows * ceil_div(columns, GROUP) * ceil_div(inner, GROUP)


def fewest_tiles(rows: int, columns: int, inner: int, tiles: int, spare: int | None) -> int:
    """Fewest tiles of the grids that :func:`enumerate_grids` finds for the same arguments."""
    parts = ceil_div(rows, ROW_BLOCK) * ceil_div(columns, GROUP) * ceil_div(inner, GROUP)
    least = ceil_div(min(tiles, parts), 2 if tiles > SMALL_TILES else 8)
    if spare is not None and spare > 0:  # some tile has the average of the work or more
        least = min(least, ceil_div(kernel_work(rows, columns, inner), spare))
    return least


def enumerate_grids(
    rows: int, columns: int, inner: int, tiles: int, spare: int | None = None
) -> Grids:
    """All grids that use enough tiles.

    A grid is named by its widest parts, since the kernel's time depends on them alone: along
    columns and inner the least number of parts of that width is taken (more parts would only add
    partial sums and copies of the left operand), along rows the greatest number (more parts share
    the reduction and the result).

    Parameters
    ----------
    rows, columns, inner
        Physical extents of the product.
    tiles
        Tiles of the target.
    spare
        All grids are offered whose kernel may take at most so many cycles.
    """
    row_blocks = ceil_div(rows, ROW_BLOCK)
    column_groups, inner_groups = ceil_div(columns, GROUP), ceil_div(inner, GROUP)
    least = fewest_tiles(rows, columns, inner, tiles, spare)
    found = []
    for lk in _widths(inner_groups):
        k = ceil_div(inner_groups, lk)
        for lc in _widths(column_groups):
            c = ceil_div(column_groups, lc)
            if c * k > tiles:
                continue
            r = min(tiles // (c * k), row_blocks)
            while r >= 1 and r * c * k >= least:
                lr = ceil_div(row_blocks, r)
                found.append((r, c, k, min(r * k, row_blocks), lr, lc, lk))
                r = 0 if lr == row_blocks else (row_blocks - 1) // lr  # next wider rows
    table = np.array(found, dtype=np.int64).reshape(-1, 7)
    return Grids(
        rows=table[:, 0],
        columns=table[:, 1],
        inner=table[:, 2],
        row_parts=table[:, 3],
        result_rows=ROW_BLOCK * -(-row_blocks // table[:, 3]),
        widest_rows=ROW_BLOCK * table[:, 4],
        block_columns=GROUP * table[:, 5],
        block_inner=GROUP * table[:, 6],
    )
