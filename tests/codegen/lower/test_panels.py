"""Conversions between orders with the same micro-panels, carried out in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipuopt.codegen.check import check
from ipuopt.codegen.lower import lower
from ipuopt.layout import (
    COLUMNS,
    LEFT,
    ROWS,
    TRANSPOSED_LEFT,
    AxisTiling,
    Layout,
    LayoutError,
    MemoryClass,
    Order,
    OrderKind,
)
from ipuopt.plan import ConversionMethod, ConversionStep, Origin, Plan
from ipuopt.program import StepKind

BLOCK = 48


def cut(order: Order, rows: int, columns: int, *, offset: int = 0) -> Layout:
    """Grid with parts that start at panels of ``order``; replicas where ``offset`` is not 0."""
    panels = {
        OrderKind.LEFT: (2, 16),
        OrderKind.TRANSPOSED_LEFT: (16, 2),
        OrderKind.TRANSPOSED_RIGHT: (16, 16),
        OrderKind.BLOCK_MAJOR: (BLOCK, 16),
        OrderKind.TRANSPOSED_BLOCK_MAJOR: (16, BLOCK),
    }
    high, wide = panels[order.kind]
    axes = (AxisTiling(ROWS, rows, high, high), AxisTiling(COLUMNS, columns, wide, wide))
    copies = 1 + offset
    return Layout(order, rows * columns * copies, copies, axes, MemoryClass.STANDARD)


def converted(tools: Any, shape: tuple[int, int], source: Layout, target: Layout) -> Plan:
    planner = tools.Planner(64)
    x = planner.value("x", shape, source, Origin.INPUT)
    plan: Plan = planner.plan(planner.convert(x, target))
    return plan


FAMILIES = (
    (LEFT, Order(OrderKind.TRANSPOSED_RIGHT), Order(OrderKind.TRANSPOSED_BLOCK_MAJOR, BLOCK)),
    (TRANSPOSED_LEFT, Order(OrderKind.BLOCK_MAJOR, BLOCK)),
)
PAIRS = [(a, b) for family in FAMILIES for a in family for b in family if a != b]


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=lambda order: order.kind.value)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(data=st.data())
def test_both_directions_move_the_elements(
    tools: Any, source: Order, target: Order, data: st.DataObject
) -> None:
    """Any cut of both sides; ragged ends, padding, replicas of the target, local pieces."""
    shape = (data.draw(st.integers(1, 150)), data.draw(st.integers(1, 150)))
    counts = st.integers(1, 4)
    layouts = [
        cut(order, data.draw(counts), data.draw(counts), offset=copies)
        for order, copies in ((source, 0), (target, data.draw(st.integers(0, 2))))
    ]
    plan = converted(tools, shape, *layouts)
    program = lower(plan)
    assert check(plan, program) == ()
    tensors = tools.tensors(plan)
    np.testing.assert_array_equal(tools.interpret(plan, program, tensors)["x"], tensors["x"])
    assert program.transfers.words.max(initial=0) * 4 <= 16 * max(150, BLOCK) * 2


def test_pieces_are_whole_panels_where_both_sides_hold_them(tools: Any) -> None:
    """64 x 96 from 2 row parts to 3 column parts in panels of 16 x 16: 24 pieces of 128 words."""
    axes = (AxisTiling(ROWS, 4, 16, 16), AxisTiling(COLUMNS, 3, 32, 32))
    order = Order(OrderKind.TRANSPOSED_BLOCK_MAJOR, 32)
    target = Layout(order, 12, 1, axes, MemoryClass.STANDARD)
    plan = converted(tools, (64, 96), cut(LEFT, 2, 1), target)
    program = lower(plan)
    assert check(plan, program) == ()
    moved = int(program.transfers.words.sum() * 4 + program.copies.size_bytes.sum())
    assert moved == 64 * 96 * 2
    assert set(program.transfers.words.tolist()) == {128}
    assert {step.kind for step in program.steps} == {StepKind.PHASE, StepKind.COPY}


def test_orders_with_other_panels_are_refused(tools: Any) -> None:
    planner = tools.Planner(16)
    x = planner.value("x", (32, 32), cut(LEFT, 1, 1), Origin.INPUT)
    y = planner.value("x", (32, 32), cut(TRANSPOSED_LEFT, 1, 1))
    planner.steps.append(
        ConversionStep(name="c", value=x, result=y, method=ConversionMethod.PANELS)
    )
    with pytest.raises(LayoutError, match="panels of amp_left are not those of amp_transposed"):
        lower(planner.plan(y))


def test_shards_that_start_inside_a_panel_are_refused(tools: Any) -> None:
    """Rows of transposed right come in panels of 16."""
    axis = AxisTiling(ROWS, 2, 8, 8, shard_multiple=16)
    target = Layout(Order(OrderKind.TRANSPOSED_RIGHT), 2, 1, (axis,), MemoryClass.STANDARD)
    with pytest.raises(LayoutError, match="does not start at a panel"):
        lower(converted(tools, (40, 16), cut(LEFT, 1, 1), target))
