"""Layouts of a blocked matrix product on a grid of tiles (cost-model.md 1.7).

The tile of column part j, inner part q and row part i of the compute grid is
``j + columns * (q + inner * i)``.
"""

from __future__ import annotations

from ipuopt.layout import (
    COLUMNS,
    LEFT,
    ROWS,
    TRANSPOSED_LEFT,
    AxisTiling,
    Layout,
    MemoryClass,
    Order,
    OrderKind,
)
from ipuopt.models.mapping.candidates.grids import GROUP, ROW_BLOCK


def physical_left(rows: int, columns: int, inner: int, block: int, *, swapped: bool) -> Layout:
    """Streamed operand: cut in rows and inner parts, one copy a column part."""
    inner_axis, row_axis = (ROWS, COLUMNS) if swapped else (COLUMNS, ROWS)
    return Layout(
        order=TRANSPOSED_LEFT if swapped else LEFT,
        tiles=rows * columns * inner,
        replicas=columns,
        axes=(
            AxisTiling(inner_axis, inner, block, block),
            AxisTiling(row_axis, rows, ROW_BLOCK, ROW_BLOCK),
        ),
        memory_class=MemoryClass.STANDARD,
    )


def physical_right(
    columns: int,
    inner: int,
    copies: int,
    block: int,
    memory_class: MemoryClass,
    *,
    swapped: bool,
    copies_last: bool = True,
) -> Layout:
    """Loaded operand ("weights"): one panel a column and inner part, ``copies`` of them all.

    The copies are the outermost coordinate, so that with one copy a row part each compute tile
    holds the panel that it uses; unless ``copies_last``, they lie between the parts of the columns
    and those of the inner axis.
    """
    column_axis, inner_axis = (ROWS, COLUMNS) if swapped else (COLUMNS, ROWS)
    kind = OrderKind.TRANSPOSED_BLOCK_MAJOR if swapped else OrderKind.BLOCK_MAJOR
    stride = columns if copies > 1 and copies_last else None
    return Layout(
        order=Order(kind, block),
        tiles=columns * inner * copies,
        replicas=copies,
        axes=(
            AxisTiling(column_axis, columns, GROUP, GROUP, stride=1),
            AxisTiling(inner_axis, inner, block, block, stride=stride),
        ),
        memory_class=memory_class,
    )


def product(columns: int, row_parts: int, *, swapped: bool, rows_fast: bool = False) -> Layout:
    """Result: one shard a column and row part, columns fastest unless ``rows_fast``."""
    column_axis, row_axis = (ROWS, COLUMNS) if swapped else (COLUMNS, ROWS)
    across, down = (row_parts, 1) if rows_fast else (1, columns)
    return Layout(
        order=TRANSPOSED_LEFT if swapped else LEFT,
        tiles=columns * row_parts,
        replicas=1,
        axes=(
            AxisTiling(column_axis, columns, GROUP, GROUP, stride=across),
            AxisTiling(row_axis, row_parts, ROW_BLOCK, ROW_BLOCK, stride=down),
        ),
        memory_class=MemoryClass.INTERLEAVED,
    )
