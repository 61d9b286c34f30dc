"""Products that were never built but whose estimates cost-model.md 5 gives."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ipuopt.layout import (
    COLUMNS,
    ROWS,
    AxisTiling,
    Layout,
    LayoutError,
    MemoryClass,
    Order,
    OrderKind,
)
from ipuopt.models.mapping.peer import price_plan
from ipuopt.plan import Epochs, MatMulStep, Orientation, Origin, Plan, PlannedValue
from ipuopt.target.kernels import ceil_div

NORMAL, SWAPPED = Orientation.NORMAL, Orientation.SWAPPED


def parallel_product(
    shape: tuple[int, int, int],
    grid: tuple[int, int, int],
    row_split: int,
    orientation: Orientation = NORMAL,
    weights: MemoryClass = MemoryClass.INTERLEAVED,
    epochs: Epochs = Epochs.COMPLETE,
) -> Plan:
    """A product with the layouts of cost-model.md 1.7 for a compute grid rows x columns x inner."""
    (m, n, k), (rows, columns, inner) = shape, grid
    normal = orientation is NORMAL
    row_axis, column_axis = (ROWS, COLUMNS) if normal else (COLUMNS, ROWS)
    left_order = Order(OrderKind.LEFT if normal else OrderKind.TRANSPOSED_LEFT)
    block_inner = 16 * ceil_div(ceil_div(k, 16), inner)
    block_columns = 16 * ceil_div(ceil_div(n if normal else m, 16), columns)
    right_kind = OrderKind.BLOCK_MAJOR if normal else OrderKind.TRANSPOSED_BLOCK_MAJOR
    copies = 1 if normal else rows
    left = Layout(
        left_order,
        rows * columns * inner,
        columns,
        (
            AxisTiling(column_axis, inner, block_inner, block_inner),
            AxisTiling(row_axis, rows, 2, 2),
        ),
        MemoryClass.STANDARD,
    )
    right = Layout(
        Order(right_kind, block_inner),
        columns * inner * copies,
        copies,
        (
            AxisTiling(column_axis, columns, 16, 16, stride=1),
            AxisTiling(row_axis, inner, block_inner, block_inner),
        ),
        weights,
    )
    result = Layout(
        left_order,
        rows * columns * row_split,
        1,
        (
            AxisTiling(column_axis, columns, 16, 16, stride=1),
            AxisTiling(row_axis, rows * row_split, 2, 2, stride=columns),
        ),
        MemoryClass.INTERLEAVED,
    )
    x, w = (left, right) if normal else (right, left)
    return Plan(
        tiles=1472,
        values=(
            PlannedValue("x", "x", m, k, "float16", x, Origin.INPUT),
            PlannedValue("w", "w", k, n, "float16", w, Origin.PARAMETER),
            PlannedValue("y", "y", m, n, "float16", result, Origin.COMPUTED, is_output=True),
        ),
        steps=(
            MatMulStep(
                name="y",
                left=0,
                right=1,
                result=2,
                orientation=orientation,
                rows=rows,
                columns=columns,
                inner=inner,
                block_inner=block_inner,
                block_columns=block_columns,
                epochs=epochs,
            ),
        ),
    )


FIRST, SECOND = (729, 4304, 1152), (729, 1152, 4304)


@pytest.mark.parametrize(
    ("shape", "grid", "split", "orientation", "cycles"),
    [
        (FIRST, (2, 135, 5), 5, NORMAL, 89252),
        (SECOND, (4, 24, 15), 15, NORMAL, 92646),
        (FIRST, (1, 269, 5), 5, NORMAL, 76992),
        (SECOND, (2, 72, 10), 10, NORMAL, 69292),
        (SECOND, (4, 36, 10), 10, NORMAL, 83452),
        (SECOND, (4, 72, 5), 5, NORMAL, 75057),
        (FIRST, (16, 46, 2), 2, SWAPPED, 59718),
        (SECOND, (4, 46, 8), 8, SWAPPED, 59498),
    ],
)
def test_estimates_of_other_grids(
    shape: tuple[int, int, int],
    grid: tuple[int, int, int],
    split: int,
    orientation: Orientation,
    cycles: int,
) -> None:
    """Cheapest retained candidates and the trials that memory refuses (cost-model.md 5)."""
    assert price_plan(parallel_product(shape, grid, split, orientation)).cycles == cycles


@pytest.mark.parametrize(
    ("shape", "grid", "split"), [(FIRST, (1, 269, 5), 5), (SECOND, (2, 72, 10), 10)]
)
def test_left_shards_that_no_contiguous_range_holds(
    shape: tuple[int, int, int], grid: tuple[int, int, int], split: int
) -> None:
    report = price_plan(parallel_product(shape, grid, split))
    assert [text.split(":")[0] for text in report.violations] == ["largest standard allocation"]


def test_streamed_partials_trade_cycles_for_memory() -> None:
    complete = price_plan(parallel_product(SECOND, (4, 24, 15), 15)).steps[0]
    streamed = price_plan(parallel_product(SECOND, (4, 24, 15), 15, epochs=Epochs.STREAMED))
    step, piece, epochs = streamed.steps[0], 1344, 14
    assert step.terms["reduction"] == (epochs + epochs) * piece + 11 * epochs
    assert step.terms["partial exchange"] == epochs * piece // 4 + 600 * epochs
    assert step.temporary.standard == 3 * piece < complete.temporary.standard
    # 15 phases of words, and as many chunks as phases: more than the 4 of the payload
    assert step.row_bytes == 4 * (1 + epochs + (1 + epochs) * 42)


def test_standard_weights_load_slower() -> None:
    fast = price_plan(parallel_product(SECOND, (4, 24, 15), 15)).steps[0]
    slow = price_plan(parallel_product(SECOND, (4, 24, 15), 15, weights=MemoryClass.STANDARD))
    terms = slow.steps[0].terms
    assert terms["kernel"] == 294 + 18 * (2196 + 798)  # ceil(3*1063/4)
    share = -(-48 * 288 * 2 // 15)
    assert terms["weight owners"] == (-(-share // 8) - -(-share // 16)) * 15
    assert {n: c for n, c in terms.items() if n not in ("kernel", "weight owners")} == {
        n: c for n, c in fast.terms.items() if n != "kernel"
    }


def test_replicas_that_lie_there_already_travel_not() -> None:
    plan = parallel_product(FIRST, (2, 135, 5), 5)
    weights = plan.values[1]
    twice = replace(weights, layout=replace(weights.layout, replicas=2, tiles=1350))
    values = (plan.values[0], twice, plan.values[2])
    assert "operand exchange" not in price_plan(replace(plan, values=values)).steps[0].terms


def test_a_grid_beyond_the_chip_is_refused() -> None:
    plan = parallel_product(FIRST, (2, 135, 5), 5)
    step = plan.steps[0]
    assert isinstance(step, MatMulStep)
    with pytest.raises(LayoutError, match="4 replicas need 2700 tiles"):
        price_plan(replace(plan, steps=(replace(step, rows=4),)))


def stationary_product(parts: int) -> Plan:
    """256 x 256 times 256 x 256 on 4 x 4 tiles, weights' inner axis cut into ``parts``."""
    standard = MemoryClass.STANDARD
    row = AxisTiling(ROWS, 4, 1, 1, pads=False, stride=4)
    left = Layout(Order(OrderKind.LEFT), 16, 4, (row, AxisTiling(COLUMNS, 1, 64, 64)), standard)
    inner = AxisTiling(ROWS, parts, 64, 64)
    column = AxisTiling(COLUMNS, 4, 64, 64, stride=1)
    right = Layout(Order(OrderKind.BLOCK_MAJOR, 64), 16, 4 // parts, (column, inner), standard)
    result = Layout(
        Order(OrderKind.LEFT),
        16,
        1,
        (AxisTiling(COLUMNS, 4, 64, 64, stride=1), row),
        MemoryClass.INTERLEAVED,
    )
    return Plan(
        tiles=16,
        values=(
            PlannedValue("x", "x", 256, 256, "float16", left, Origin.INPUT),
            PlannedValue("w", "w", 256, 256, "float16", right, Origin.PARAMETER),
            PlannedValue("y", "y", 256, 256, "float16", result, Origin.COMPUTED, is_output=True),
        ),
        steps=(
            MatMulStep(
                name="y",
                left=0,
                right=1,
                result=2,
                orientation=NORMAL,
                rows=4,
                columns=4,
                inner=1,
                block_inner=64,
                block_columns=64,
                epochs=Epochs.COMPLETE,
            ),
        ),
    )


def test_output_stationary_product_with_resident_weights() -> None:
    """Standard weights are re-read by block: the owners pay, nothing travels."""
    step = price_plan(stationary_product(1)).steps[0]
    weights = 64 * 256 * 2
    assert dict(step.terms) == {
        "kernel": 4 * (294 + 4 * (1024 + 1063)),
        "weight owners": (weights // 8 - weights // 16) * 4,
    }
    assert (step.exchange_cycles, step.row_bytes) == (0, 4 * 4)
    assert step.temporary.interleaved == 64 * 64 * 2


def test_output_stationary_product_with_split_weights() -> None:
    """Each tile holds a quarter of its weights and receives the rest, in four phases."""
    step = price_plan(stationary_product(4)).steps[0]
    received = 64 * 256 * 2 * 3 // 4
    sent = 2 * 64 * 64 * 2  # two tiles of a bus, one shard each
    assert step.terms["operand exchange"] == max(received, sent) // 4 + 4 * 600
    assert step.exchange_cycles == step.terms["operand exchange"]
    assert step.row_bytes == 4 * (4 + 4 * 42)
