"""Products without a reduction, and weights on a grid of their own (cost-model.md 2.3 to 2.5).

These are candidates beside the retained ones; none is dropped for another. Left out is what costs
more than another candidate with the same layouts and memory: copies of local weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from ipuopt.layout import (
    COLUMNS,
    LEFT,
    ROWS,
    AxisTiling,
    Layout,
    MemoryClass,
    Order,
    OrderKind,
    cut_axis,
    widest_part,
)
from ipuopt.plan import Epochs, MatMulStep, Orientation
from ipuopt.target.kernels import ceil_div

INNER = 64
"""Inner block of products without a reduction (cost-model.md 2.3)."""
LEAST_STORED_COLUMNS = 64
"""Columns of a block from which weights may lie on a grid of their own (cost-model.md 2.4)."""
STANDARD, INTERLEAVED = MemoryClass.STANDARD, MemoryClass.INTERLEAVED

Layouts = tuple[Layout, Layout, Layout]
"""Of activation, weight and result."""


def stationary(m: int, k: int, n: int, active: int) -> Iterator[tuple[Layouts, MatMulStep]]:
    """Products of M x K by K x N on ``active`` tiles whose sums stay where they are made.

    Those with an empty part of the result, or of replicated or cut operands, are left out
    (cost-model.md 2.5).
    """
    for columns in (c for c in range(1, active + 1) if active % c == 0):
        rows = active // columns
        for block in (64, 128, 32):
            blocks = ceil_div(n, block)
            if rows > m or columns > blocks:
                continue  # an empty part of the result
            step = _step(rows, columns, block)
            for weight in _weights(rows, columns, block):
                inner = weight.tiling(ROWS)
                if inner is None or not _leaves_empty(k, inner):
                    yield (_left(rows, columns), weight, _result(rows, columns, block)), step
    for block in (64, 128):
        widest = AxisTiling(COLUMNS, active, LEAST_STORED_COLUMNS, LEAST_STORED_COLUMNS, stride=1)
        if active <= m and widest_part(n, widest) >= block:
            weight = _stored(active, 1, 1, LEAST_STORED_COLUMNS, INNER, STANDARD)
            layouts = _left(active, 1), weight, _result(active, 1, block)
            yield layouts, _step(active, 1, block)


def _weights(rows: int, columns: int, block: int) -> Iterator[Layout]:
    """Where the weights may lie: whole columns on every tile, or shared by the tiles of a column."""
    if block != 32:
        axes = (
            AxisTiling(ROWS, 1, INNER, INNER),
            AxisTiling(COLUMNS, columns, block, block, stride=1),
        )
        order = Order(OrderKind.BLOCK_MAJOR, INNER)
        yield Layout(order, rows * columns, rows, axes, STANDARD)
    yield _stored(columns, 1, rows, block, INNER, INTERLEAVED)
    if block == 32:
        return
    if rows > 1:
        for memory in MemoryClass:
            yield _stored(columns, rows, 1, block, INNER, memory)
    if rows > 2 and rows % 2 == 0:
        yield _stored(columns, 2, rows // 2, block, INNER, INTERLEAVED)


@lru_cache(maxsize=4096)
def own_grid(block: tuple[int, int], extents: tuple[int, int], tiles: int) -> Layout | None:
    """Weights once, on the grid that spreads them best over all tiles; None where not offered.

    Parameters
    ----------
    block
        ``K_b`` and ``N_b`` of the product.
    extents
        Rows and columns of the weights.
    tiles
        Tiles of the chip; the layout is for standard memory.
    """
    deep, wide = block
    if wide < LEAST_STORED_COLUMNS:
        return None
    inner_blocks, column_blocks = ceil_div(extents[0], deep), ceil_div(extents[1], wide)
    _, _, columns, inner = min(
        (ceil_div(inner_blocks, ip) * ceil_div(column_blocks, cp), -ip * cp, cp, ip)
        for ip in range(1, min(inner_blocks, tiles) + 1)
        for cp in range(1, min(tiles // ip, column_blocks) + 1)
    )
    return _stored(columns, inner, 1, wide, deep, STANDARD)


def _leaves_empty(extent: int, tiling: AxisTiling) -> bool:
    """Whether the last part of an axis has no element."""
    cut = cut_axis(extent, tiling)
    return bool(cut.end[-1] <= cut.start[-1])


def _stored(
    columns: int, inner: int, copies: int, wide: int, deep: int, memory: MemoryClass
) -> Layout:
    """The weights storage of cost-model.md 1.7."""
    axes = (
        AxisTiling(COLUMNS, columns, wide, wide, stride=1),
        AxisTiling(ROWS, inner, deep, deep),
    )
    order = Order(OrderKind.BLOCK_MAJOR, deep)
    return Layout(order, columns * inner * copies, copies, axes, memory)


def _left(rows: int, columns: int) -> Layout:
    """The left grid of cost-model.md 1.7."""
    axes = (
        AxisTiling(ROWS, rows, 1, 1, pads=False, stride=columns),
        AxisTiling(COLUMNS, 1, INNER, INNER),
    )
    return Layout(LEFT, rows * columns, columns, axes, STANDARD)


def _result(rows: int, columns: int, block: int) -> Layout:
    """The result grid of cost-model.md 1.7."""
    axes = (
        AxisTiling(COLUMNS, columns, block, block, stride=1),
        AxisTiling(ROWS, rows, 1, 1, pads=False, stride=columns),
    )
    return Layout(LEFT, rows * columns, 1, axes, INTERLEAVED)


def _step(rows: int, columns: int, block: int) -> MatMulStep:
    return MatMulStep(
        name="y",
        left=0,
        right=1,
        result=2,
        orientation=Orientation.NORMAL,
        rows=rows,
        columns=columns,
        inner=1,
        block_inner=INNER,
        block_columns=block,
        epochs=Epochs.COMPLETE,
    )
