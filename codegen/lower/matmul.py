"""Matrix products on a grid of tiles (lowering.md 2.3)."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from ipuopt.codegen.lower.assembly import Assembler, Runs
from ipuopt.codegen.lower.boxes import distinct, ranges, take, transposed
from ipuopt.codegen.lower.operands import BoolArray, fetch_panels
from ipuopt.codegen.lower.reduction import reduce_partials
from ipuopt.codegen.lower.values import (
    MATMUL_ALIGNMENT,
    Shards,
    physical_left,
    physical_right,
)
from ipuopt.layout import (
    COLUMNS,
    ROWS,
    AxisTiling,
    Cut,
    IntArray,
    LayoutError,
    MemoryClass,
    Rectangles,
    cut_axis,
)
from ipuopt.orders import PANEL_COLUMNS, element_index
from ipuopt.plan import MatMulStep, Orientation, PlannedValue
from ipuopt.program import Kernel, Role
from ipuopt.target.kernels import matmul_cycles


@dataclass(frozen=True, slots=True)
class Grid:
    """Compute tiles in the physical orientation, one entry a tile.

    Attributes
    ----------
    left
        Shard of the physical left.
    row, inner, column
        Part of each axis that the tile computes.
    partial
        Rectangle of the result that it contributes to, in the physical orientation.
    inner_start, inner_stop
        Physical range of the inner axis.
    """

    left: IntArray
    row: IntArray
    inner: IntArray
    column: IntArray
    partial: Rectangles
    inner_start: IntArray
    inner_stop: IntArray


def lower_matmul(
    assembler: Assembler,
    number: int,
    step: MatMulStep,
    shards: tuple[Shards, ...],
    join: int | None,
) -> None:
    """Add the steps of one matrix product.

    Parameters
    ----------
    join
        Plan step whose phase the weights may join; None for a phase of their own.

    Raises
    ------
    LayoutError
        If grid and layouts do not belong together.
    """
    swapped = step.orientation is Orientation.SWAPPED
    values = assembler.plan.values
    left, right = shards[physical_left(step)], shards[physical_right(step)]
    grid = compute_grid(step, _turned(left, swapped), values[step.result], swapped)
    needed = replace(
        grid.partial,
        row_start=grid.inner_start,
        row_end=grid.inner_stop,
        row_stop=grid.inner_stop,
    )
    panels = fetch_panels(
        assembler,
        number,
        step,
        transposed(needed) if swapped else needed,
        right,
        join,
    )
    partials = _partial_shards(assembler, step, shards[step.result], grid, swapped)
    runs = _runs(assembler, step, grid, _turned(left, swapped), panels, partials, swapped)
    assembler.run(runs, number, f"matmul {values[step.result].name}")
    assembler.keep_apart(partials.number, left.number[grid.left])
    if step.inner > 1:
        groups = grid.row * step.columns + grid.column
        reduce_partials(assembler, number, step, partials, groups, grid.inner, shards)


def _turned(shards: Shards, swapped: bool) -> Shards:
    return Shards(shards.number, transposed(shards.boxes)) if swapped else shards


def compute_grid(step: MatMulStep, left: Shards, result: PlannedValue, swapped: bool) -> Grid:
    """Roles of the compute tiles: they are the tiles of the left operand.

    Equal left shards are replicas in the order of their tiles; the j-th computes column part j.
    """
    boxes, groups = left.boxes, distinct(left.boxes)
    expected = step.rows * step.inner
    if len(groups.first) != expected or np.any(np.diff(groups.start) != step.columns):
        raise LayoutError(
            f"{step.name}: the left operand has {len(left)} shards with {len(groups.first)} "
            f"rectangles, expected {step.columns} of each of {expected}"
        )
    column = np.zeros(len(left), dtype=np.int64)
    column[groups.holder] = np.arange(len(left)) - np.repeat(groups.start[:-1], step.columns)
    cut = _column_cut(step, result, swapped)
    partial = replace(
        boxes,
        column_start=cut.start[column],
        column_end=cut.end[column],
        column_stop=cut.stop[column],
    )
    return Grid(
        left=np.arange(len(left), dtype=np.int64),
        row=_rank(boxes.row_start),
        inner=_rank(boxes.column_start),
        column=column,
        partial=partial,
        inner_start=boxes.column_start,
        inner_stop=boxes.column_stop,
    )


def _rank(start: IntArray) -> IntArray:
    return np.unique(start, return_inverse=True)[1].reshape(-1)


def _column_cut(step: MatMulStep, result: PlannedValue, swapped: bool) -> Cut:
    """Column parts: the result's own if it has as many, else its 16-column blocks divided anew."""
    extent = result.rows if swapped else result.columns
    tiling = result.layout.tiling(ROWS if swapped else COLUMNS)
    if tiling is not None and tiling.partitions == step.columns:
        return cut_axis(extent, tiling)
    groups = 1 if tiling is None else tiling.groups
    return cut_axis(
        extent,
        AxisTiling(COLUMNS, step.columns, PANEL_COLUMNS, PANEL_COLUMNS, groups=groups),
    )


def _partial_shards(
    assembler: Assembler, step: MatMulStep, result: Shards, grid: Grid, swapped: bool
) -> Shards:
    """Where each compute tile sums: new partial shards, or the result itself if nothing is cut."""
    boxes = transposed(grid.partial) if swapped else grid.partial
    value = assembler.plan.values[step.result]
    if step.inner > 1:
        numbers = assembler.shards(
            boxes,
            value=step.result,
            role=Role.PARTIAL,
            order=value.layout.order,
            memory_class=MemoryClass.INTERLEAVED,
            size_bytes=boxes.elements * value.element_bytes,
            alignment=MATMUL_ALIGNMENT,
        )
        return Shards(numbers, boxes)
    by_tile = np.full(assembler.plan.tiles, -1, dtype=np.int64)
    by_tile[result.boxes.tile] = np.arange(len(result))
    at = by_tile[boxes.tile]
    own = take(result.boxes, at)
    bounds = [c.name for c in fields(boxes) if not c.name.endswith("_end")]
    if np.any(at < 0) or any(np.any(getattr(own, n) != getattr(boxes, n)) for n in bounds):
        raise LayoutError(f"{step.name}: result shards do not lie where the product is computed")
    return Shards(result.number[at], own)


def _runs(
    assembler: Assembler,
    step: MatMulStep,
    grid: Grid,
    left: Shards,
    panels: tuple[Shards, BoolArray],
    partials: Shards,
    swapped: bool,
) -> Runs:
    """One run a tile, inner block and column block; the first inner block initialises."""
    values = assembler.plan.values
    weights, interleaved = panels
    size = values[step.left].element_bytes
    blocks, odd = np.divmod(grid.inner_stop - grid.inner_start, step.block_inner)
    if np.any(odd):
        raise LayoutError(f"{step.name}: a left shard is no multiple of {step.block_inner} inner")
    width = grid.partial.column_stop - grid.partial.column_start
    wide = -(-width // step.block_columns)
    count = blocks * wide
    tile = np.repeat(np.arange(len(count)), count)
    part = ranges(np.zeros_like(count), count)
    block, group = part // wide[tile], part % wide[tile]
    inner_at, column_at = block * step.block_inner, group * step.block_columns
    columns = np.minimum(step.block_columns, width[tile] - column_at)
    rows = (left.boxes.row_stop - left.boxes.row_start)[tile]

    def offset(value: int, boxes: Rectangles, row: IntArray, column: IntArray) -> IntArray:
        """Bytes from the start of a shard to an element given in the physical orientation."""
        if swapped:
            row, column = column, row
        high = (boxes.row_stop - boxes.row_start)[tile]
        wide = (boxes.column_stop - boxes.column_start)[tile]
        planned = values[value]
        index = element_index(planned.layout.order, row, column, high, wide, planned.element_bytes)
        return index * planned.element_bytes

    held = _turned(weights, swapped).boxes
    zero = np.zeros_like(tile)
    left_boxes = _turned(left, swapped).boxes
    return Runs(
        tile=left.boxes.tile[tile],
        kernel=Kernel.MATMUL,
        output=partials.number[tile],
        input0=left.number[tile],
        input1=weights.number[tile],
        output_offset=offset(step.result, partials.boxes, zero, column_at),
        input0_offset=offset(physical_left(step), left_boxes, zero, inner_at),
        input1_offset=offset(
            physical_right(step),
            weights.boxes,
            (grid.inner_start - held.row_start)[tile] + inner_at,
            (grid.partial.column_start - held.column_start)[tile] + column_at,
        ),
        rows=rows,
        columns=columns,
        inner=np.full_like(tile, step.block_inner),
        accumulate=(block > 0).astype(np.int64),
        cycles=matmul_cycles(rows, columns, step.block_inner, interleaved[tile], size),
    )
