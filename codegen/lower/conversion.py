"""Conversions: a value moves into another layout (lowering.md 2.1)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ipuopt.codegen.lower.assembly import Assembler, Runs
from ipuopt.codegen.lower.boxes import take
from ipuopt.codegen.lower.copies import Pricing
from ipuopt.codegen.lower.exchange import fetch, panel_width, panels_along_rows
from ipuopt.codegen.lower.moves import Moves
from ipuopt.codegen.lower.panels import check_aligned, exchange_panels
from ipuopt.codegen.lower.values import ALIGNMENT, Shards
from ipuopt.layout import ROW_MAJOR, IntArray, LayoutError, MemoryClass, OrderKind
from ipuopt.plan import ConversionMethod, ConversionStep, PlannedValue
from ipuopt.program import Kernel, Role
from ipuopt.target.constants import WORD_BYTES
from ipuopt.target.kernels import clear_cycles, pack_cycles, unpack_cycles

_PANELS_LAST = (OrderKind.LEFT, OrderKind.OUTPUT, OrderKind.TRANSPOSED_LEFT)
"""Orders in which the panels of the last columns, or rows if transposed, are the last bytes."""


def lower_conversion(
    assembler: Assembler, number: int, step: ConversionStep, shards: tuple[Shards, ...]
) -> None:
    """Add the steps of one conversion.

    Raises
    ------
    LayoutError
        If the two layouts cannot be converted by the step's method.
    """
    values = assembler.plan.values
    source, target = values[step.value], values[step.result]
    if (source.rows, source.columns, source.dtype) != (target.rows, target.columns, target.dtype):
        raise LayoutError(f"{step.name}: {source.name} and {target.name} differ in shape or dtype")
    match step.method:
        case ConversionMethod.RETILE:
            _retile(assembler, number, step, shards)
        case ConversionMethod.PANELS:
            exchange_panels(assembler, number, step, shards)
        case ConversionMethod.STAGE:
            _stage(assembler, number, step, shards)


def _retile(
    assembler: Assembler, number: int, step: ConversionStep, shards: tuple[Shards, ...]
) -> None:
    source, target = (assembler.plan.values[v] for v in (step.value, step.result))
    if source.layout.order != target.layout.order:
        raise LayoutError(
            f"{step.name}: retile from {source.layout.order} to {target.layout.order}"
        )
    needed = shards[step.result]
    order, size = target.layout.order, target.element_bytes
    between, inside = fetch(needed, shards[step.value], order, size, assembler.plan.tiles)
    check_aligned(step.name, shards[step.value].boxes, source)
    check_aligned(step.name, needed.boxes, target)
    assembler.run(_clear(needed, target, (between, inside)), number, f"clear {target.name}")
    assembler.phase(between, number, f"retile {target.name}")
    assembler.copy(inside, Pricing.CALL, number, f"copy {target.name}")


def _clear(needed: Shards, value: PlannedValue, filled: tuple[Moves, ...]) -> Runs:
    """Zero panels that stay unfilled; the next kernel multiplies them with padding of weights."""
    boxes, order, size = needed.boxes, value.layout.order, value.element_bytes
    along_rows = panels_along_rows(order)
    start = boxes.row_start if along_rows else boxes.column_start
    stop = boxes.row_stop if along_rows else boxes.column_stop
    covered = start.copy()
    for moves in filled:
        end = moves.box[1 if along_rows else 3]
        end = np.repeat(end, np.diff(moves.destination_start))
        np.maximum.at(covered, moves.destination - needed.number[0], end)
    whole = np.zeros_like(covered)
    if order.kind in _PANELS_LAST:
        width = panel_width(order, size)
        across = boxes.elements // (stop - start)
        offset = (covered - start) // width * width * across
        unfilled = covered < stop
    else:
        padded = (boxes.row_end < boxes.row_stop) | (boxes.column_end < boxes.column_stop)
        offset, unfilled = whole, (covered < stop) | padded
    at = np.flatnonzero(unfilled)
    elements = (boxes.elements - offset)[at]
    return Runs(
        tile=boxes.tile[at],
        kernel=Kernel.CLEAR,
        output=needed.number[at],
        output_offset=offset[at] * size,
        rows=elements,
        cycles=clear_cycles(elements * size),
    )


def _stage(
    assembler: Assembler, number: int, step: ConversionStep, shards: tuple[Shards, ...]
) -> None:
    """Through row-major: unpack where it lies, exchange, copy, pack where it goes."""
    source, target = (assembler.plan.values[v] for v in (step.value, step.result))
    held, needed, size = shards[step.value], shards[step.result], source.element_bytes
    from_packed = source.layout.order.kind is not OrderKind.ROW_MAJOR
    to_packed = target.layout.order.kind is not OrderKind.ROW_MAJOR
    if from_packed:
        used = _used(assembler, needed, held, size)
        packed = Shards(held.number[used], take(held.boxes, used))
        held = _row_major(assembler, packed, step.result, size)
        elements = packed.boxes.elements
        unpack = Runs(
            tile=packed.boxes.tile,
            kernel=Kernel.UNPACK,
            output=held.number,
            input0=packed.number,
            rows=elements,
            cycles=unpack_cycles(source.layout.order.kind, elements),
        )
        assembler.run(unpack, number, f"unpack {source.name}")
        assembler.keep_apart(held.number, packed.number)
    staged = _row_major(assembler, needed, step.result, size) if to_packed else needed
    between, inside = fetch(staged, held, ROW_MAJOR, size, assembler.plan.tiles)
    assembler.phase(between, number, f"stage {target.name}")
    assembler.copy(inside, Pricing.CALL, number, f"copy {target.name}")
    if to_packed:
        order, elements = target.layout.order, needed.boxes.elements
        pack = Runs(
            tile=needed.boxes.tile,
            kernel=Kernel.PACK,
            output=needed.number,
            input0=staged.number,
            rows=elements,
            cycles=pack_cycles(order.kind, elements, order.block),
        )
        assembler.run(pack, number, f"pack {target.name}")
        assembler.keep_apart(needed.number, staged.number)


def _used(assembler: Assembler, needed: Shards, held: Shards, size: int) -> IntArray:
    """Positions of the source shards that the exchange will read; replicas may not be."""
    moves = fetch(needed, held, ROW_MAJOR, size, assembler.plan.tiles)
    numbers: IntArray = np.unique(np.concatenate([part.source for part in moves]))
    positions: IntArray = numbers - held.number[0]
    return positions


def _row_major(assembler: Assembler, packed: Shards, value: int, size: int) -> Shards:
    """Row-major staging for the logical part of shards; rows start at word boundaries."""
    boxes, word = packed.boxes, max(1, WORD_BYTES // size)
    width = -(-(boxes.column_end - boxes.column_start) // word) * word
    boxes = replace(boxes, row_stop=boxes.row_end, column_stop=boxes.column_start + width)
    numbers = assembler.shards(
        boxes,
        value=value,
        role=Role.STAGING,
        order=ROW_MAJOR,
        memory_class=MemoryClass.STANDARD,
        size_bytes=boxes.elements * size,
        alignment=ALIGNMENT,
    )
    return Shards(numbers, boxes)
