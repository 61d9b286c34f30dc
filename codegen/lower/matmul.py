"""Matrix products on a grid of tiles (lowering.md 2.3)."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from ipuopt.codegen.lower.assembly import Assembler, Runs
from ipuopt.codegen.lower.boxes import take, transposed
from ipuopt.codegen.lower.grid import Grid, compute_grid
from ipuopt.codegen.lower.operands import BoolArray, fetch_panels
from ipuopt.codegen.lower.reduction import reduce_partials
from ipuopt.codegen.lower.values import (
    MATMUL_ALIGNMENT,
    Shards,
    physical_left,
    physical_right,
)
from ipuopt.layout import IntArray, LayoutError, MemoryClass
from ipuopt.orders import element_index
from ipuopt.plan import MatMulStep, Orientation
from ipuopt.program import Kernel, Role
from ipuopt.ranges import ranges
from ipuopt.rectangles import Rectangles
from ipuopt.target.kernels import matmul_cycles


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
