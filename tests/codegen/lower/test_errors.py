"""Plans whose steps and layouts do not belong together are refused with the step's name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ipuopt.codegen.lower import lower
from ipuopt.layout import COLUMNS, ROW_MAJOR, AxisTiling, LayoutError
from ipuopt.plan import ConversionMethod, ConversionStep, MatMulStep, Origin, Plan, PointwiseStep


def small(tools: Any) -> Plan:
    plan: Plan = tools.mlp(
        (8, 48, 96, 32),
        tools.Grid(rows=2, columns=2, inner=3),
        tools.Grid(rows=2, columns=2, inner=3),
    )
    return plan


def with_step(plan: Plan, number: int, **changes: Any) -> Plan:
    steps = list(plan.steps)
    steps[number] = replace(steps[number], **changes)
    return replace(plan, steps=tuple(steps))


def test_a_grid_of_another_size(tools: Any) -> None:
    plan = small(tools)
    assert isinstance(plan.steps[0], MatMulStep)
    with pytest.raises(LayoutError, match=r"h: the left operand has 12 shards .* expected 2"):
        lower(with_step(plan, 0, rows=4))


def test_an_inner_block_that_does_not_divide(tools: Any) -> None:
    with pytest.raises(LayoutError, match="no multiple of 32"):
        lower(with_step(small(tools), 0, block_inner=32))


def test_weights_of_another_product(tools: Any) -> None:
    plan = small(tools)
    narrow = replace(plan.values[1], columns=16)
    values = (plan.values[0], narrow, *plan.values[2:])
    with pytest.raises(LayoutError, match="no shard of w1 1 holds a whole weight panel"):
        lower(replace(plan, values=values))


def test_too_many_tiles(tools: Any) -> None:
    with pytest.raises(LayoutError, match="12 tiles of 8"):
        lower(replace(small(tools), tiles=8))


def test_a_retile_between_orders(tools: Any) -> None:
    planner = tools.Planner(16)
    x = planner.value("x", (8, 32), tools.linear(16, 16), Origin.INPUT)
    other = planner.convert(x, tools.linear(8, 16, ROW_MAJOR))
    plan = planner.plan(other)
    assert isinstance(plan.steps[0], ConversionStep)
    lower(plan)
    with pytest.raises(LayoutError, match="retile from amp_left to row_major"):
        lower(with_step(plan, 0, method=ConversionMethod.RETILE))


def test_a_conversion_that_changes_the_shape(tools: Any) -> None:
    planner = tools.Planner(16)
    x = planner.value("x", (8, 32), tools.linear(16, 16), Origin.INPUT)
    y = planner.value("x", (4, 64), tools.linear(8, 16))
    planner.steps.append(
        ConversionStep(name="c", value=x, result=y, method=ConversionMethod.RETILE)
    )
    with pytest.raises(LayoutError, match="differ in shape or dtype"):
        lower(planner.plan(y))


def test_pieces_that_are_no_words(tools: Any) -> None:
    """Rows of 3 float16 cut into single elements."""
    planner = tools.Planner(16)
    x = planner.value("x", (4, 3), tools.row_sharded(4), Origin.INPUT)
    plan = planner.plan(planner.convert(x, tools.linear(12, 1, ROW_MAJOR)))
    with pytest.raises(LayoutError, match="whole 4-byte words"):
        lower(plan)


def test_pointwise_operands_in_other_layouts(tools: Any) -> None:
    planner = tools.Planner(16)
    x = planner.value("x", (8, 32), tools.linear(16, 16), Origin.INPUT)
    y = planner.value("y", (8, 32), tools.linear(8, 16), Origin.INPUT)
    plan = planner.plan(planner.pointwise("s", "Add", x, y))
    assert isinstance(plan.steps[0], PointwiseStep)
    with pytest.raises(LayoutError, match="y 1 does not lie as s 2"):
        lower(plan)


def test_an_operator_without_kernel(tools: Any) -> None:
    planner = tools.Planner(16)
    x = planner.value("x", (8, 32), tools.linear(16, 16), Origin.INPUT)
    plan = planner.plan(planner.pointwise("z", "Softmax", x))
    with pytest.raises(LayoutError, match="z: no kernel for Softmax of 1 inputs"):
        lower(plan)


def test_a_retile_inside_panels(tools: Any) -> None:
    """Parts of 8 columns split the micro-panels of the source."""
    planner = tools.Planner(16)
    x = planner.value("x", (8, 32), tools.linear(16, 16), Origin.INPUT)
    grid = tools.Grid(rows=1, columns=1, inner=1).left(32)
    shifted = replace(grid, tiles=4, axes=(AxisTiling(COLUMNS, 4, 8, 8), *grid.axes[1:]))
    with pytest.raises(LayoutError, match="does not start at a panel of amp_left"):
        lower(planner.plan(planner.convert(x, shifted)))


def test_a_result_elsewhere(tools: Any) -> None:
    """With a whole inner axis the result lies where it is computed."""
    grid = tools.Grid(rows=2, columns=2, inner=1)
    plan = tools.mlp((8, 48, 32, 32), grid, grid)
    values = list(plan.values)
    values[2] = replace(values[2], tile_offset=1)
    with pytest.raises(LayoutError, match="result shards do not lie where the product"):
        lower(replace(plan, values=tuple(values)))
