"""Does a plan compute its workload? Written from the records alone, without candidates or prices.

(W1) every operation of the workload is made by exactly one step, after its operands
(W2) operands and results hold the tensors of the workload, in their shapes and types
(W3) the shards of a value cover it, and equal coordinates are replicas
(W4) kernel rules: orders and blocks of the operands are those the kernel reads
(W5) outputs of the workload are computed and kept to the end
(W6) conversions keep the tensor
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ipuopt.layout import COLUMNS, ROWS, Layout, LayoutError, OrderKind, cut_axis, whole_axis
from ipuopt.plan import (
    ConversionMethod,
    ConversionStep,
    MatMulStep,
    Orientation,
    Origin,
    Plan,
    PlannedValue,
    PlanStep,
    PointwiseStep,
)
from ipuopt.rectangles import rectangles
from ipuopt.workload.model import Operation, TensorKind, Workload

Violation = tuple[str, str]

ALIKE = (
    {OrderKind.LEFT, OrderKind.TRANSPOSED_RIGHT, OrderKind.TRANSPOSED_BLOCK_MAJOR},
    {OrderKind.TRANSPOSED_LEFT, OrderKind.BLOCK_MAJOR},
)
"""Orders with the same micro-panels of float16 (cost-model.md 1.6)."""
GROUP = 16
"""Columns and inner elements that the float16 matrix kernel takes at a time."""


def check_plan(workload: Workload, plan: Plan) -> tuple[Violation, ...]:
    """Every violation as ``(label, message)``; empty for a plan that computes the workload."""
    values = tuple(_values(workload, plan))
    # (W4) applies the layouts, which a value that breaks (W3) does not allow.
    applicable = all(label != "W3" for label, _ in values)
    return (
        *_operations(workload, plan),
        *values,
        *(_kernels(plan) if applicable else ()),
        *_outputs(workload, plan),
    )


def _operands(step: PlanStep) -> tuple[int, ...]:
    match step:
        case ConversionStep():
            return (step.value,)
        case MatMulStep():
            return (step.left, step.right)
        case PointwiseStep():
            return step.inputs


def _operations(workload: Workload, plan: Plan) -> Iterator[Violation]:
    """(W1), (W2), (W6)."""
    by_name = {operation.name: operation for operation in workload.operations}
    loaded = {i for i, value in enumerate(plan.values) if value.origin is not Origin.COMPUTED}
    made: set[str] = set()
    known = set(loaded)
    for step in plan.steps:
        operands = _operands(step)
        for operand in operands:
            if operand not in known:
                yield "W1", f"step {step.name} reads value {operand} before it is made"
        if step.result in known:
            yield "W1", f"step {step.name} makes value {step.result} a second time"
        known.add(step.result)
        tensors = tuple(plan.values[operand].tensor for operand in operands)
        result = plan.values[step.result].tensor
        if isinstance(step, ConversionStep):
            if tensors != (result,):
                yield "W6", f"conversion {step.name} turns {tensors[0]} into {result}"
            continue
        operation = by_name.get(result)
        if operation is None:
            yield "W2", f"step {step.name} makes {result}, which no operation does"
            continue
        if result in made:
            yield "W1", f"operation {result} is made twice"
        made.add(result)
        yield from _matches(operation, step, tensors)
    for name in by_name.keys() - made:
        yield "W1", f"operation {name} is not made by any step"


def _matches(
    operation: Operation, step: MatMulStep | PointwiseStep, tensors: tuple[str, ...]
) -> Iterator[Violation]:
    kind = "MatMul" if isinstance(step, MatMulStep) else step.kind
    if kind.lower() != operation.kind.lower():
        yield "W2", f"operation {operation.name} is {operation.kind}, its step is {kind}"
    if tensors != operation.inputs:
        yield "W2", f"operation {operation.name} reads {operation.inputs}, its step {tensors}"


def _values(workload: Workload, plan: Plan) -> Iterator[Violation]:
    """(W2), (W3)."""
    origins = {
        TensorKind.INPUT: Origin.INPUT,
        TensorKind.PARAMETER: Origin.PARAMETER,
        TensorKind.RESULT: Origin.COMPUTED,
    }
    for value in plan.values:
        tensor = workload.tensors.get(value.tensor)
        if tensor is None:
            yield "W2", f"value {value.name} holds {value.tensor}, which is no tensor"
            continue
        if (tensor.rows, tensor.columns, tensor.dtype) != (value.rows, value.columns, value.dtype):
            yield "W2", f"value {value.name} is {value.rows}x{value.columns} {value.dtype}"
        if value.origin is Origin.COMPUTED and origins[tensor.kind] is not Origin.COMPUTED:
            continue  # the result of a conversion of a loaded value
        if value.origin is not origins[tensor.kind]:
            yield "W2", f"value {value.name} is {value.origin}, its tensor {tensor.kind}"
    for value in plan.values:
        yield from _covers(value, plan.tiles)


def _covers(value: PlannedValue, tiles: int) -> Iterator[Violation]:
    """(W3): distinct rectangles add up to the whole value, and lie on tiles of the program."""
    if value.layout.tiles > tiles:
        yield "W3", f"value {value.name} uses {value.layout.tiles} of {tiles} tiles"
    try:
        shards = rectangles(value.layout, value.rows, value.columns)
    except LayoutError as error:
        yield "W3", f"value {value.name}: {error}"
        return
    bounds = np.stack([shards.row_start, shards.row_end, shards.column_start, shards.column_end])
    distinct = np.unique(bounds, axis=1)
    area = int(((distinct[1] - distinct[0]) * (distinct[3] - distinct[2])).sum())
    if area != value.rows * value.columns:
        yield "W3", f"value {value.name}: shards hold {area} of {value.rows * value.columns}"


def _kernels(plan: Plan) -> Iterator[Violation]:
    """(W4)."""
    for step in plan.steps:
        if isinstance(step, PointwiseStep):
            values = [plan.values[i] for i in (*step.inputs, step.result)]
            if len({(value.layout, value.tile_offset % plan.tiles) for value in values}) != 1:
                yield "W4", f"step {step.name}: operands and result differ in layout or tiles"
            if len({value.dtype for value in values}) > 1 and _has_panels(values[-1]):
                yield "W4", f"step {step.name}: panels of {values[0].dtype} and {values[-1].dtype}"
        elif isinstance(step, ConversionStep):
            orders = {plan.values[i].layout.order for i in (step.value, step.result)}
            if step.method is ConversionMethod.RETILE and len(orders) != 1:
                yield "W4", f"conversion {step.name} retiles between different orders"
            kinds, dtype = {order.kind for order in orders}, plan.values[step.value].dtype
            if step.method is ConversionMethod.PANELS and (
                dtype != "float16" or not any(kinds <= alike for alike in ALIKE)
            ):
                names = ", ".join(sorted(kinds))
                yield "W4", f"conversion {step.name}: {dtype} panels of {names} differ"
        else:
            yield from _matmul(plan, step)


def _has_panels(value: PlannedValue) -> bool:
    """Whether some shard has more than one line of micro-panels, whose width a type decides."""
    shards = rectangles(value.layout, value.rows, value.columns)
    match value.layout.order.kind:
        case OrderKind.ROW_MAJOR | OrderKind.OUTPUT | OrderKind.TRANSPOSED_OUTPUT:
            return False
        case OrderKind.LEFT:
            return bool((shards.row_stop - shards.row_start > 1).any())
        case OrderKind.TRANSPOSED_LEFT:
            return bool((shards.column_stop - shards.column_start > 1).any())
        case _:
            return True


def _matmul(plan: Plan, step: MatMulStep) -> Iterator[Violation]:
    swapped = step.orientation is Orientation.SWAPPED
    left, right, result = (plan.values[i] for i in (step.left, step.right, step.result))
    physical = (right, left) if swapped else (left, right)
    expected = (
        (OrderKind.TRANSPOSED_LEFT, OrderKind.TRANSPOSED_BLOCK_MAJOR, OrderKind.TRANSPOSED_LEFT)
        if swapped
        else (OrderKind.LEFT, OrderKind.BLOCK_MAJOR, OrderKind.LEFT)
    )
    found = (*(value.layout.order.kind for value in physical), result.layout.order.kind)
    if found != expected:
        yield "W4", f"step {step.name}: orders {found}, the kernel takes {expected}"
    if physical[1].layout.order.block != step.block_inner:
        yield "W4", f"step {step.name}: weights are in blocks of {physical[1].layout.order.block}"
    if step.block_inner % GROUP or step.block_columns % GROUP:
        yield "W4", f"step {step.name}: blocks are no multiple of {GROUP}"
    tiles = step.rows * step.columns * step.inner
    if physical[0].layout.tiles != tiles or tiles > plan.tiles:
        yield "W4", f"step {step.name}: a grid of {tiles} tiles on {physical[0].layout.tiles}"
    inner_axis = ROWS if swapped else COLUMNS
    for value, axis in ((physical[0], inner_axis), (physical[1], COLUMNS if swapped else ROWS)):
        extent = value.columns if axis == COLUMNS else value.rows
        widths = _widths(value.layout, axis, extent)
        if len(widths) != step.inner or np.any(widths % step.block_inner):
            yield "W4", f"step {step.name}: {value.name} is cut {widths.tolist()[:4]} along inner"


def _widths(layout: Layout, axis: int, extent: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    tiling = layout.tiling(axis)
    cut = whole_axis(extent) if tiling is None else cut_axis(extent, tiling)
    return np.asarray(cut.stop - cut.start, dtype=np.int64)


def _outputs(workload: Workload, plan: Plan) -> Iterator[Violation]:
    """(W5)."""
    kept = {value.tensor for value in plan.values if value.is_output}
    for name in workload.outputs:
        if name not in kept:
            yield "W5", f"output {name} is not kept to the end"
