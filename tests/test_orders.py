"""Element orders: bijections, and the consequences that cost-model.md 1.6 draws from them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipuopt.layout import LEFT, ROW_MAJOR, IntArray, LayoutError, Order, OrderKind
from ipuopt.orders import element_index, grain


def whole_shard(order: Order, rows: int, columns: int, element_bytes: int = 2) -> IntArray:
    """Index of every element of a shard, shape ``(rows, columns)``."""
    r, c = np.indices((rows, columns), dtype=np.int64)
    return element_index(order, r, c, rows, columns, element_bytes)


@st.composite
def shards(draw: st.DrawFn) -> tuple[Order, int, int, int]:
    """An order, legal extents and an element size."""
    element_bytes = draw(st.sampled_from([1, 2, 4]))
    kind = draw(st.sampled_from(list(OrderKind)))
    blocked = kind in (OrderKind.BLOCK_MAJOR, OrderKind.TRANSPOSED_BLOCK_MAJOR)
    order = Order(kind, 32 * draw(st.integers(1, 3)) if blocked else 0)
    rows, columns = grain(order, element_bytes)
    return (
        order,
        rows * draw(st.integers(1, 5)),
        columns * draw(st.integers(1, 5)),
        element_bytes,
    )


@given(shards())
def test_every_order_is_a_bijection(shard: tuple[Order, int, int, int]) -> None:
    order, rows, columns, element_bytes = shard
    index = whole_shard(order, rows, columns, element_bytes)
    assert index.dtype == np.int64
    assert np.array_equal(np.sort(index, axis=None), np.arange(rows * columns))


@given(st.integers(1, 30), st.integers(1, 4), st.integers(0, 30), st.integers(0, 30))
def test_rows_of_left_are_one_run_a_panel(rows: int, panels: int, a: int, b: int) -> None:
    low, high = sorted((a % rows, b % rows))
    index = whole_shard(LEFT, rows, 16 * panels)[low : high + 1]
    for panel in range(panels):
        run = index[:, 16 * panel : 16 * panel + 16].ravel()
        assert np.array_equal(run, run[0] + np.arange((high + 1 - low) * 16))
    one_run = bool(np.ptp(index) + 1 == index.size)
    assert one_run == (panels == 1 or (low, high) == (0, rows - 1))


@given(st.integers(1, 3), st.integers(1, 4), st.integers(0, 8), st.integers(0, 8))
def test_whole_blocks_of_block_major_are_contiguous(
    blocks: int, panels: int, a: int, b: int
) -> None:
    order = Order(OrderKind.BLOCK_MAJOR, 48)
    index = whole_shard(order, 48 * blocks, 16 * panels)
    low, high = sorted((a % panels, b % panels))
    for block in range(blocks):
        part = index[48 * block : 48 * block + 48, 16 * low : 16 * (high + 1)]
        assert np.ptp(part) + 1 == part.size


@given(st.integers(1, 9))
def test_one_row_left_is_row_major(panels: int) -> None:
    assert np.array_equal(whole_shard(LEFT, 1, 16 * panels), whole_shard(ROW_MAJOR, 1, 16 * panels))


@pytest.mark.parametrize(
    "alike",
    [
        (OrderKind.LEFT, OrderKind.TRANSPOSED_RIGHT, OrderKind.TRANSPOSED_BLOCK_MAJOR),
        (OrderKind.TRANSPOSED_LEFT, OrderKind.BLOCK_MAJOR),
    ],
)
def test_orders_that_traverse_a_panel_alike(alike: tuple[OrderKind, ...]) -> None:
    """Micro-panel exchange is possible inside the two groups of cost-model.md 1.6."""
    traversals = {whole_shard(Order(kind, 16), 16, 16).tobytes() for kind in alike}
    assert len(traversals) == 1


def test_output_order_interleaves_pairs() -> None:
    """Pairs 0, 4, 1, 5, 2, 6, 3, 7 follow each other in a row of 16."""
    index = whole_shard(Order(OrderKind.OUTPUT), 1, 16)[0]
    assert (np.argsort(index)[::2] // 2).tolist() == [0, 4, 1, 5, 2, 6, 3, 7]


def test_extents_may_differ_by_element() -> None:
    one = np.array([1, 1], dtype=np.int64)
    heights = np.array([3, 5], dtype=np.int64)
    assert element_index(LEFT, one, 16 * one, heights, 32, 2).tolist() == [64, 96]


@pytest.mark.parametrize(
    ("order", "rows", "columns"),
    [
        (LEFT, 4, 24),
        (Order(OrderKind.TRANSPOSED_RIGHT), 24, 16),
        (Order(OrderKind.BLOCK_MAJOR, 64), 96, 16),
        (Order(OrderKind.BLOCK_MAJOR, 24), 48, 16),
        (Order(OrderKind.BLOCK_MAJOR), 48, 16),
    ],
)
def test_wrong_extents_are_refused(order: Order, rows: int, columns: int) -> None:
    with pytest.raises(LayoutError, match="multiple"):
        whole_shard(order, rows, columns)
