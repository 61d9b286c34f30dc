"""Pointwise kernels: one run a shard (lowering.md 2.2)."""

from __future__ import annotations

import numpy as np

from ipuopt.codegen.lower.assembly import Assembler, Runs
from ipuopt.codegen.lower.values import Shards
from ipuopt.layout import IntArray, LayoutError
from ipuopt.orders import same_sequence
from ipuopt.plan import PointwiseStep
from ipuopt.program import Kernel
from ipuopt.target.kernels import add_cycles, cast_cycles, gelu_cycles

KERNELS = {"Gelu": (Kernel.GELU, 1), "Add": (Kernel.ADD, 2), "Cast": (Kernel.CAST, 1)}
"""Kernel and number of inputs of each operator."""


def lower_pointwise(
    assembler: Assembler, number: int, step: PointwiseStep, shards: tuple[Shards, ...]
) -> None:
    """Add the run step of one pointwise operation.

    Raises
    ------
    LayoutError
        For an operator without kernel, inputs that do not lie as the result does, or a type whose
        shards list their elements in another sequence.
    """
    values, output = assembler.plan.values, shards[step.result]
    kernel, operands = KERNELS.get(step.kind, (None, 0))
    if kernel is None or len(step.inputs) != operands:
        raise LayoutError(f"{step.name}: no kernel for {step.kind} of {len(step.inputs)} inputs")
    for index in step.inputs:
        if not _same_boxes(shards[index], output):
            raise LayoutError(
                f"{step.name}: {values[index].name} does not lie as {values[step.result].name}"
            )
    boxes, order = output.boxes, values[step.result].layout.order
    extents = boxes.row_stop - boxes.row_start, boxes.column_stop - boxes.column_start
    types = {values[index].dtype for index in (*step.inputs, step.result)}
    if len(types) > 1 and not same_sequence(order, *extents).all():
        raise LayoutError(f"{step.name}: {order} has another sequence for each of {sorted(types)}")
    # Rows of padding are computed too; empty shards do not exist.
    at = np.flatnonzero(boxes.logical_elements > 0)
    elements = boxes.elements[at]
    inputs = [shards[index].number[at] for index in step.inputs]
    sizes = [values[index].element_bytes for index in (step.inputs[0], step.result)]
    runs = Runs(
        tile=boxes.tile[at],
        kernel=kernel,
        output=output.number[at],
        input0=inputs[0],
        input1=inputs[1] if operands == 2 else -1,
        rows=elements,
        cycles=_cycles(kernel, elements, *sizes),
    )
    assembler.run(runs, number, f"{step.kind.lower()} {values[step.result].name}")


def _cycles(kernel: Kernel, elements: IntArray, input_bytes: int, output_bytes: int) -> IntArray:
    if kernel is Kernel.GELU:
        return gelu_cycles(elements)
    if kernel is Kernel.ADD:
        return add_cycles(elements)
    return cast_cycles(elements * input_bytes, elements * output_bytes)


def _same_boxes(one: Shards, other: Shards) -> bool:
    names = one.boxes.__slots__
    return len(one) == len(other) and all(
        np.array_equal(getattr(one.boxes, name), getattr(other.boxes, name)) for name in names
    )
