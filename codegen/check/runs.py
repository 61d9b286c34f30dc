"""(L3) Kernel runs fit their shards, and products and sums are complete."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ipuopt.codegen.check.products import check_products
from ipuopt.codegen.check.reading import KINDS, Reading, Violations, first_of
from ipuopt.codegen.check.sums import check_sums
from ipuopt.layout import IntArray, OrderKind
from ipuopt.plan import PointwiseStep
from ipuopt.program import Kernel, Role

BoolArray = npt.NDArray[np.bool_]

_OPERANDS = {
    Kernel.MATMUL: 2,
    Kernel.SUM: 2,
    Kernel.GELU: 1,
    Kernel.ADD: 2,
    Kernel.CAST: 1,
    Kernel.PACK: 1,
    Kernel.UNPACK: 1,
    Kernel.CLEAR: 0,
}
_ACROSS = {OrderKind.ROW_MAJOR: 0, OrderKind.LEFT: 1, OrderKind.TRANSPOSED_LEFT: 2}
"""Orders without panels whose width depends on the type, and those of panels in lines of rows or columns."""
_POINTWISE = {"Gelu": Kernel.GELU, "Add": Kernel.ADD, "Cast": Kernel.CAST}


def check_runs(reading: Reading) -> Violations:
    """Operands of every run, then what the runs of a step do together."""
    found = _operands(reading) or _elementwise(reading)
    if found:
        return found
    return _pointwise(reading) + check_products(reading) + check_sums(reading)


def _operands(reading: Reading) -> Violations:
    runs = reading.program.runs
    known = np.isin(runs.kernel, [int(kernel) for kernel in _OPERANDS])
    found = first_of("L3", ~known, lambda i: f"run {i}: kernel {runs.kernel[i]} does not exist")
    if found:
        return found
    operands = np.array([_OPERANDS[kernel] for kernel in Kernel])[runs.kernel]
    given = (runs.input0 >= 0).astype(np.int64) + (runs.input1 >= 0)
    return first_of(
        "L3",
        (given != operands) | ((operands == 1) & (runs.input0 < 0)) | (runs.rows < 1),
        lambda i: (
            f"run {i} of {Kernel(runs.kernel[i]).name}: {given[i]} inputs and "
            f"{runs.rows[i]} rows, expected {operands[i]} inputs"
        ),
    )


def _elementwise(reading: Reading) -> Violations:
    """Kernels that turn a whole shard into a whole shard of the same rectangle."""
    runs, shards = reading.program.runs, reading.program.shards
    at = np.flatnonzero((runs.kernel != Kernel.MATMUL) & (runs.kernel != Kernel.CLEAR))
    output, kernel = runs.output[at], runs.kernel[at]
    staged = (kernel == Kernel.PACK) | (kernel == Kernel.UNPACK)
    wrong = np.zeros(len(at), dtype=np.bool_)
    for name in ("input0", "input1"):
        operand = getattr(runs, name)[at]
        used = operand >= 0
        for column in ("row_start", "row_end", "column_start", "column_end"):
            bound = getattr(shards, column)
            wrong |= used & (bound[operand] != bound[output])
        # Staging of the pack kernels has less padding; all other kernels run over padding too.
        for extent in (reading.rows, reading.columns):
            wrong |= used & ~staged & (extent[operand] != extent[output])
        same_order = (shards.order[operand] == shards.order[output]) & (
            shards.order_block[operand] == shards.order_block[output]
        )
        wrong |= used & (same_order == staged)
        resized = reading.element_bytes[operand] != reading.element_bytes[output]
        wrong |= used & resized & ~_one_line(reading, output)
        wrong |= getattr(runs, f"{name}_offset")[at] != 0
    packed = np.where(kernel == Kernel.UNPACK, runs.input0[at], output)
    elements = reading.rows[packed] * reading.columns[packed]
    wrong |= (runs.rows[at] != elements) | (runs.output_offset[at] != 0)
    found = first_of(
        "L3",
        wrong,
        lambda i: (
            f"run {at[i]} of {Kernel(kernel[i]).name}: {runs.rows[at[i]]} elements into "
            f"{reading.name(output[i])} do not fit its operands"
        ),
    )
    clears = np.flatnonzero(runs.kernel == Kernel.CLEAR)
    output = runs.output[clears]
    stop = runs.output_offset[clears] + runs.rows[clears] * reading.element_bytes[output]
    return found + first_of(
        "L3",
        stop > reading.matrix_bytes[output],
        lambda i: f"run {clears[i]} of CLEAR: ends at byte {stop[i]} of {reading.name(output[i])}",
    )


def _one_line(reading: Reading, shard: IntArray) -> BoolArray:
    """Whether the sequence of elements is one for every type: no panels, or one line of them."""
    order = np.array([_ACROSS.get(kind, -1) for kind in KINDS])[reading.program.shards.order[shard]]
    lines = np.where(order == 1, reading.rows[shard], reading.columns[shard])
    one: BoolArray = (order == 0) | ((order > 0) & (lines == 1))
    return one


def _pointwise(reading: Reading) -> Violations:
    """Every shard of the result of a pointwise step is computed once, from the right values."""
    program, plan = reading.program, reading.plan
    runs, shards = program.runs, program.shards
    owner = np.array([step.plan_step for step in program.steps], dtype=np.int64)[runs.step]
    found: Violations = ()
    for number, step in enumerate(plan.steps):
        if not isinstance(step, PointwiseStep):
            continue
        at = np.flatnonzero((owner == number) & (runs.kernel == _POINTWISE[step.kind]))
        logical = (shards.row_end > shards.row_start) & (shards.column_end > shards.column_start)
        value_shards = (shards.role == Role.VALUE) & (shards.value == step.result) & logical
        wanted = np.flatnonzero(value_shards)
        if not np.array_equal(np.sort(runs.output[at]), wanted):
            found += (
                ("L3", f"{step.name}: {len(at)} runs do not compute its {len(wanted)} shards"),
            )
        for value, operand in zip(step.inputs, (runs.input0, runs.input1), strict=False):
            strange = at[shards.value[operand[at]] != value]
            found += tuple(
                ("L3", f"{step.name}: reads {reading.name(operand[i])}") for i in strange[:1]
            )
    return found
