"""(L7) Shards are those of the plan, and suit the kernels that use them."""

from __future__ import annotations

import numpy as np

from ipuopt.codegen.check.reading import KINDS, Reading, Violations, first_of
from ipuopt.layout import IntArray, MemoryClass
from ipuopt.program import Kernel, Role
from ipuopt.rectangles import rectangles

_BOUNDS = ("row_start", "row_end", "row_stop", "column_start", "column_end", "column_stop")


def check_values(reading: Reading) -> Violations:
    """Value shards, sizes, alignments, pairs kept apart."""
    found: Violations = ()
    for value in range(len(reading.plan.values)):
        found += _value(reading, value)
    return found + _sizes(reading) + _apart(reading)


def _value(reading: Reading, index: int) -> Violations:
    shards, value = reading.program.shards, reading.plan.values[index]
    layout = value.layout
    boxes = rectangles(layout, value.rows, value.columns)
    some = boxes.elements > 0
    expected = [(boxes.tile[some] + value.tile_offset) % reading.plan.tiles]
    expected += [getattr(boxes, name)[some] for name in _BOUNDS]
    at = np.flatnonzero((shards.role == Role.VALUE) & (shards.value == index))
    actual = [shards.tile[at]] + [getattr(shards, name)[at] for name in _BOUNDS]
    if len(at) != len(expected[0]):
        return (("L7", f"{value.name}: {len(at)} shards, expected {len(expected[0])}"),)
    sort = (np.lexsort(expected), np.lexsort(actual))
    wrong = np.zeros(len(at), dtype=np.bool_)
    for here, there in zip(expected, actual, strict=True):
        wrong |= here[sort[0]] != there[sort[1]]
    wrong |= shards.order[at] != KINDS.index(layout.order.kind)
    wrong |= shards.order_block[at] != layout.order.block
    wrong |= shards.interleaved[at] != (layout.memory_class is MemoryClass.INTERLEAVED)
    return first_of(
        "L7", wrong, lambda i: f"{reading.name(at[sort[1][i]])} is not as the layout says"
    )


def _sizes(reading: Reading) -> Violations:
    """Room for the matrix, the tail of a physical left and all remote contributors; alignment."""
    shards, runs = reading.program.shards, reading.program.runs
    need, align = reading.matrix_bytes.copy(), np.full(len(shards), 8, dtype=np.int64)
    matmul, sums = runs.kernel == Kernel.MATMUL, runs.kernel == Kernel.SUM
    left = np.unique(runs.input0[matmul])
    need[left] += np.where(reading.element_bytes[left] == 4, 32, 16)
    remote = runs.input1[sums]
    need[remote] = reading.matrix_bytes[remote] * (runs.inner[sums] - 1)
    for operand in (runs.output, runs.input0, runs.input1):
        align[operand[matmul]] = 32
    found = first_of(
        "L7",
        shards.size_bytes < need,
        lambda i: f"{reading.name(i)} has {shards.size_bytes[i]} bytes, needs {need[i]}",
    )
    return found + first_of(
        "L7",
        (shards.alignment % align != 0) | (shards.alignment & (shards.alignment - 1) != 0),
        lambda i: f"{reading.name(i)} is aligned to {shards.alignment[i]}, needs {align[i]}",
    )


def _apart(reading: Reading) -> Violations:
    """Pairs of one class that lowering.md 5.2 names distinct are listed as such."""
    program, runs = reading.program, reading.program.runs
    shards, count = program.shards, len(program.shards)

    def key(one: IntArray, other: IntArray) -> IntArray:
        return np.minimum(one, other) * count + np.maximum(one, other)

    kernels = (Kernel.MATMUL, Kernel.SUM, Kernel.PACK, Kernel.UNPACK)
    at = np.flatnonzero(np.isin(runs.kernel, [int(kernel) for kernel in kernels]))
    output, operand = runs.output[at], runs.input0[at]
    listed = program.distinct
    missing = ~np.isin(key(output, operand), key(listed[:, 0], listed[:, 1]))
    missing &= shards.interleaved[output] == shards.interleaved[operand]
    found = first_of(
        "L7",
        missing,
        lambda i: f"{reading.name(output[i])} and {reading.name(operand[i])} may share an element",
    )
    strangers = shards.tile[listed[:, 0]] != shards.tile[listed[:, 1]]
    return found + first_of(
        "L7", strangers, lambda i: f"shards {listed[i, 0]} and {listed[i, 1]} are on two tiles"
    )
