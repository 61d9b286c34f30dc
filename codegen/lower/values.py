"""Shards of the planned values (lowering.md 1 and 5.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ipuopt.codegen.lower.assembly import Assembler
from ipuopt.codegen.lower.boxes import take
from ipuopt.layout import IntArray, LayoutError
from ipuopt.plan import MatMulStep, Orientation, Plan
from ipuopt.program import Role
from ipuopt.rectangles import Rectangles, rectangles

MATMUL_ALIGNMENT = 32
"""Operands, partial sums and results of the matrix kernel (lowering.md 5.2)."""
ALIGNMENT = 8
"""Operands of other kernels and of local copies (lowering.md 5.2)."""
TAIL_BYTES = {2: 16, 4: 32}
"""Bytes that the matrix kernel may read past its left operand, by element bytes (cost-model.md 2.5)."""


@dataclass(frozen=True, slots=True)
class Shards:
    """Shards of one value, or temporaries of one kind: numbers and rectangles, on actual tiles."""

    number: IntArray
    boxes: Rectangles

    def __len__(self) -> int:
        return len(self.number)


def physical_left(step: MatMulStep) -> int:
    """The value whose rows the kernel streams."""
    return step.left if step.orientation is Orientation.NORMAL else step.right


def physical_right(step: MatMulStep) -> int:
    """The value that the kernel loads as weights."""
    return step.right if step.orientation is Orientation.NORMAL else step.left


def value_shards(plan: Plan, assembler: Assembler) -> tuple[Shards, ...]:
    """Shards of every value; rectangles without elements get none.

    Raises
    ------
    LayoutError
        If a layout does not fit its value or needs more tiles than the plan has.
    """
    products = [step for step in plan.steps if isinstance(step, MatMulStep)]
    streamed = {physical_left(step) for step in products}
    multiplied = {v for step in products for v in (step.left, step.right, step.result)}
    result = []
    for index, value in enumerate(plan.values):
        if value.layout.tiles > plan.tiles:
            raise LayoutError(f"{value.name}: {value.layout.tiles} tiles of {plan.tiles}")
        boxes = rectangles(value.layout, value.rows, value.columns)
        boxes = take(boxes, np.flatnonzero(boxes.elements > 0))
        boxes = replace(boxes, tile=(boxes.tile + value.tile_offset) % plan.tiles)
        tail = TAIL_BYTES[value.element_bytes] if index in streamed else 0
        numbers = assembler.shards(
            boxes,
            value=index,
            role=Role.VALUE,
            order=value.layout.order,
            memory_class=value.layout.memory_class,
            size_bytes=boxes.elements * value.element_bytes + tail,
            alignment=MATMUL_ALIGNMENT if index in multiplied else ALIGNMENT,
        )
        result.append(Shards(numbers, boxes))
    return tuple(result)
