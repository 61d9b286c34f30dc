"""Conversions between orders that walk a micro-panel alike: panels travel as they are.

A piece is one micro-panel, or the part of it that both shards hold: up to 16 rows of 16 columns (16
columns of 16 rows in transposed orders), contiguous on both sides (cost-model.md 1.6, lowering.md
2.6).
"""

from __future__ import annotations

import numpy as np

from ipuopt.codegen.lower.assembly import Assembler, Runs
from ipuopt.codegen.lower.boxes import Box
from ipuopt.codegen.lower.copies import Pricing
from ipuopt.codegen.lower.exchange import fetch
from ipuopt.codegen.lower.moves import Moves, concatenate
from ipuopt.codegen.lower.shapes import Traversal, traversal
from ipuopt.codegen.lower.values import Shards
from ipuopt.layout import IntArray, LayoutError
from ipuopt.orders import PANEL_COLUMNS, walk_alike
from ipuopt.plan import ConversionStep, PlannedValue
from ipuopt.program import Kernel
from ipuopt.ranges import ranges
from ipuopt.rectangles import Rectangles
from ipuopt.target.kernels import clear_cycles


def exchange_panels(
    assembler: Assembler, number: int, step: ConversionStep, shards: tuple[Shards, ...]
) -> None:
    """Clear panels of padding, exchange the others, copy those that stay on their tile.

    Raises
    ------
    LayoutError
        If the orders walk micro-panels differently, or a shard does not start at a panel.
    """
    source, target = (assembler.plan.values[v] for v in (step.value, step.result))
    held, needed, size = shards[step.value], shards[step.result], target.element_bytes
    orders = source.layout.order, target.layout.order
    if not walk_alike(*orders, size):
        raise LayoutError(f"{step.name}: panels of {orders[0]} are not those of {orders[1]}")
    check_aligned(step.name, held.boxes, source)
    check_aligned(step.name, needed.boxes, target)
    between, inside = (
        _strips(moves, traversal(orders[0], size).along_rows)
        for moves in fetch(needed, held, orders[1], size, assembler.plan.tiles)
    )
    filled = concatenate((between, inside))
    assembler.run(_clear(needed, target, filled), number, f"clear {target.name}")
    assembler.phase(between, number, f"panels {target.name}")
    assembler.copy(inside, Pricing.CALL, number, f"copy {target.name}")


def check_aligned(name: str, boxes: Rectangles, value: PlannedValue) -> None:
    """Panels are exchanged as they are, so all shards start at panel boundaries."""
    walk = traversal(value.layout.order, value.element_bytes)
    a, b = _starts(boxes, walk)
    width, group = walk.block or walk.micro or 1, walk.group or 1
    if np.any(a % width) or np.any(b % group):
        raise LayoutError(f"{name}: a shard does not start at a panel of {value.layout.order}")


def _starts(boxes: Rectangles, walk: Traversal) -> tuple[IntArray, IntArray]:
    """Start of each shard along the micro axis and across it."""
    starts = boxes.column_start, boxes.row_start
    return starts[::-1] if walk.along_rows else starts


def _strips(moves: Moves, along_rows: bool) -> Moves:
    """Cut moves across the micro axis at multiples of 16, where panels of all shards end."""
    first, last = (2, 3) if along_rows else (0, 1)
    begin, end = moves.box[first], moves.box[last]
    strip = begin // PANEL_COLUMNS
    count = -(-end // PANEL_COLUMNS) - strip
    which = np.repeat(np.arange(len(moves), dtype=np.int64), count)
    strip = ranges(strip, count) * PANEL_COLUMNS
    parts = moves.take(which)
    bounds = list(parts.box)
    bounds[first] = np.maximum(bounds[first], strip)
    bounds[last] = np.minimum(bounds[last], strip + PANEL_COLUMNS)
    box: Box = (bounds[0], bounds[1], bounds[2], bounds[3])
    return Moves(
        parts.source, box, parts.destination_start, parts.destination, parts.destination_base
    )


def _clear(needed: Shards, value: PlannedValue, filled: Moves) -> Runs:
    """Zero panels behind the last filled one along the micro axis; the next kernel reads them.

    It multiplies them with padding of the other operand. Padding across the micro axis makes rows
    of padding only and is left as it was.
    """
    walk, size = traversal(value.layout.order, value.element_bytes), value.element_bytes
    boxes = needed.boxes
    start, other = _starts(boxes, walk)
    stop, across = boxes.column_stop - start, boxes.row_stop - other
    if walk.along_rows:
        stop, across = boxes.row_stop - start, boxes.column_stop - other
    covered = np.zeros_like(stop)
    end = np.repeat(filled.box[1 if walk.along_rows else 3], np.diff(filled.destination_start))
    at = filled.destination - needed.number[0]
    np.maximum.at(covered, at, end - start[at])
    first = -(-covered // walk.micro)
    # Along the micro axis panels lie side by side inside a block and a group; LEFT has one group.
    block, group = walk.block, np.full_like(across, walk.group) if walk.group else across
    block_panels = np.full_like(stop, block // walk.micro) if block else stop // walk.micro
    groups = across // group
    empty = (stop // walk.micro) - first
    shard = np.flatnonzero((empty > 0) & (stop > 0))
    blocks = (stop // walk.micro // np.maximum(1, block_panels))[shard]
    # One run for each block of panels and each group across that has panels to clear.
    runs = blocks * groups[shard]
    of = np.repeat(shard, runs)
    part = ranges(np.zeros_like(runs), runs)
    outer, middle = part // groups[of], part % groups[of]
    low = np.clip(first[of] - outer * block_panels[of], 0, block_panels[of])
    panel = group * walk.micro
    offset = ((outer * groups[of] + middle) * block_panels[of] + low) * panel[of]
    elements = (block_panels[of] - low) * panel[of]
    some = np.flatnonzero(elements)
    return Runs(
        tile=boxes.tile[of[some]],
        kernel=Kernel.CLEAR,
        output=needed.number[of[some]],
        output_offset=offset[some] * size,
        rows=elements[some],
        cycles=clear_cycles(elements[some] * size),
    )
