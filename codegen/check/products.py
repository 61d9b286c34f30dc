"""(L3) Matrix runs: matching rectangles, and the inner axis covered once."""

from __future__ import annotations

import numpy as np

from ipuopt.codegen.check.orders import element_at
from ipuopt.codegen.check.reading import Reading, Violations, first_of
from ipuopt.layout import IntArray
from ipuopt.plan import MatMulStep, Orientation
from ipuopt.program import Kernel


def check_products(reading: Reading) -> Violations:
    """Runs of every product of the plan."""
    program = reading.program
    owner = np.array([step.plan_step for step in program.steps], dtype=np.int64)
    step_of = owner[program.runs.step]
    found: Violations = ()
    is_matmul = program.runs.kernel == Kernel.MATMUL
    for number, step in enumerate(reading.plan.steps):
        if isinstance(step, MatMulStep):
            at = np.flatnonzero(is_matmul & (step_of == number))
            found += _matching(reading, step, at) or _complete(reading, step, at)
            is_matmul[at] = False
    return found + first_of(
        "L3", is_matmul, lambda i: f"run {i} of MATMUL belongs to no product of the plan"
    )


def position(
    reading: Reading, step: MatMulStep, shard: IntArray, offset: IntArray
) -> tuple[IntArray, IntArray]:
    """Element at an operand's start, in the physical orientation."""
    row, column = element_at(reading, shard, offset)
    return (row, column) if step.orientation is Orientation.NORMAL else (column, row)


def _ends(reading: Reading, step: MatMulStep, shard: IntArray) -> tuple[IntArray, IntArray]:
    """Physical ends of rows and columns of a shard, in the physical orientation."""
    shards = reading.program.shards
    rows, columns = shards.row_stop[shard], shards.column_stop[shard]
    return (rows, columns) if step.orientation is Orientation.NORMAL else (columns, rows)


def _matching(reading: Reading, step: MatMulStep, at: IntArray) -> Violations:
    """Output rows and columns, left rows, weight columns, and both inner ranges agree."""
    runs, value = reading.program.runs, reading.program.shards.value
    output, left, right = runs.output[at], runs.input0[at], runs.input1[at]
    operands = (step.left, step.right)
    if step.orientation is Orientation.SWAPPED:
        operands = operands[::-1]
    rows, columns, inner = runs.rows[at], runs.columns[at], runs.inner[at]
    row, column = position(reading, step, output, runs.output_offset[at])
    left_row, left_inner = position(reading, step, left, runs.input0_offset[at])
    right_inner, right_column = position(reading, step, right, runs.input1_offset[at])
    ends = [_ends(reading, step, shard) for shard in (output, left, right)]
    wrong = (value[output] != step.result) | (value[left] != operands[0])
    wrong |= (value[right] != operands[1]) | (columns < 1) | (inner < 1)
    wrong |= (left_row != row) | (right_column != column) | (left_inner != right_inner)
    wrong |= (row + rows != ends[0][0]) | (row + rows != ends[1][0])
    wrong |= (column + columns > ends[0][1]) | (column + columns > ends[2][1])
    wrong |= (left_inner + inner > ends[1][1]) | (left_inner + inner > ends[2][0])
    return first_of(
        "L3",
        wrong,
        lambda i: (
            f"{step.name}: run {at[i]} multiplies {rows[i]} x {inner[i]} at row "
            f"{left_row[i]}, inner {left_inner[i]} with {inner[i]} x {columns[i]} at inner "
            f"{right_inner[i]}, column {right_column[i]} into row {row[i]}, column {column[i]} of "
            f"{reading.name(output[i])}"
        ),
    )


def _complete(reading: Reading, step: MatMulStep, at: IntArray) -> Violations:
    """Every element of the result gets every inner index once; the first run initialises."""
    runs, values = reading.program.runs, reading.plan.values
    row, column = position(reading, step, runs.output[at], runs.output_offset[at])
    inner_start = position(reading, step, runs.input0[at], runs.input0_offset[at])[1]
    inner, columns = runs.inner[at], runs.columns[at]

    # Runs into the same block of the same shard, in order of execution.
    order = np.lexsort((at, column, runs.output[at]))
    same = np.zeros(len(at), dtype=np.bool_)
    same[1:] = (np.diff(runs.output[at][order]) == 0) & (np.diff(column[order]) == 0)
    found = first_of(
        "L3",
        runs.accumulate[at][order] != same,
        lambda i: (
            f"{step.name}: run {at[order[i]]} of {reading.name(runs.output[at[order[i]]])} "
            f"{'initialises' if same[i] else 'accumulates'} although it is "
            f"{'not ' if same[i] else ''}the first"
        ),
    )

    # Runs over the same block of the result, wherever it is summed: the inner ranges join.
    order = np.lexsort((inner_start, column, row))
    start, stop = inner_start[order], (inner_start + inner)[order]
    first = np.ones(len(at), dtype=np.bool_)
    first[1:] = (np.diff(row[order]) != 0) | (np.diff(column[order]) != 0)
    last = np.roll(first, -1)
    extent = values[step.left].columns
    wrong = first & (start != 0)
    wrong[1:] |= ~first[1:] & (start[1:] != stop[:-1])
    wrong |= last & (stop < extent)
    found += first_of(
        "L3",
        wrong,
        lambda i: (
            f"{step.name}: inner range {start[i]}..{stop[i]} of row {row[order[i]]}, column "
            f"{column[order[i]]} leaves a gap, overlaps, or ends before {extent}"
        ),
    )

    # The blocks tile the result: areas of blocks that differ add up, and none overlaps.
    blocks = order[first]
    size = (runs.rows[at][blocks], columns[blocks])
    shape = (values[step.result].rows, values[step.result].columns)
    if step.orientation is Orientation.SWAPPED:
        shape = shape[::-1]
    height = np.minimum(size[0], shape[0] - row[blocks])
    width = np.minimum(size[1], shape[1] - column[blocks])
    area = int((np.maximum(height, 0) * np.maximum(width, 0)).sum())
    if area != shape[0] * shape[1]:
        found += (("L3", f"{step.name}: runs compute {area} elements of {shape[0] * shape[1]}"),)
    return found
