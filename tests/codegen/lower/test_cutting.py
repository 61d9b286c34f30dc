"""Spans and pieces against element positions worked out one by one."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipuopt.codegen.lower.boxes import Box
from ipuopt.codegen.lower.copies import Pricing, copy_columns
from ipuopt.codegen.lower.cutting import view_spans
from ipuopt.codegen.lower.moves import Moves, single
from ipuopt.codegen.lower.pieces import NO_LIMIT, cut
from ipuopt.codegen.lower.shapes import KINDS, most_spans, shapes
from ipuopt.layout import LEFT, ROW_MAJOR, LayoutError, Order, OrderKind
from ipuopt.orders import element_index, grain
from ipuopt.program import ShardTable

IntArray = npt.NDArray[np.int64]


def shard_table(order: Order, *boxes: tuple[int, int, int, int]) -> ShardTable:
    """Shards of one order; a box is row start, row stop, column start, column stop."""
    bounds = np.array(boxes, dtype=np.int64)
    columns = {column.name: np.zeros(len(boxes), dtype=np.int64) for column in fields(ShardTable)}
    columns |= {
        "order": np.full(len(boxes), KINDS.index(order.kind)),
        "order_block": np.full(len(boxes), order.block),
        "row_start": bounds[:, 0],
        "row_stop": bounds[:, 1],
        "column_start": bounds[:, 2],
        "column_stop": bounds[:, 3],
    }
    return ShardTable(**columns)


def view(*bounds: int) -> Box:
    row_start, row_stop, column_start, column_stop = (np.array([bound]) for bound in bounds)
    return row_start, row_stop, column_start, column_stop


def spans_one_by_one(
    order: Order, size: int, extent: tuple[int, int], inside: tuple[int, int, int, int]
) -> list[tuple[int, int]]:
    """Sorted element positions, joined where they are neighbours; offset and length in bytes."""
    r, c = np.arange(inside[0], inside[1]), np.arange(inside[2], inside[3])
    index = np.sort(element_index(order, r[:, None], c[None, :], *extent, size).ravel())
    cuts = np.flatnonzero(np.diff(index) != 1) + 1
    return [(int(run[0]) * size, len(run) * size) for run in np.split(index, cuts)]


@st.composite
def views(
    draw: st.DrawFn,
) -> tuple[Order, int, tuple[int, int], tuple[int, int, int, int]]:
    """A shard in any order, and a view of it."""
    kind = draw(st.sampled_from(KINDS))
    block = draw(st.sampled_from([16, 32, 48])) if "block" in kind else 0
    order, size = Order(kind, block), draw(st.sampled_from([2, 4]))
    row_grain, column_grain = grain(order, size)
    rows = row_grain * draw(st.integers(1, max(1, 48 // row_grain)))
    columns = column_grain * draw(st.integers(1, max(1, 64 // column_grain)))
    row_start, column_start = draw(st.integers(0, rows - 1)), draw(st.integers(0, columns - 1))
    row_stop, column_stop = (
        draw(st.integers(row_start + 1, rows)),
        draw(st.integers(column_start + 1, columns)),
    )
    if kind is OrderKind.OUTPUT:  # views hold whole micro-panels
        column_start, column_stop = column_start // 16 * 16, -(-column_stop // 16) * 16
    if kind is OrderKind.TRANSPOSED_OUTPUT:
        row_start, row_stop = row_start // 16 * 16, -(-row_stop // 16) * 16
    return order, size, (rows, columns), (row_start, row_stop, column_start, column_stop)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(case=views())
def test_spans_are_the_sorted_elements(
    case: tuple[Order, int, tuple[int, int], tuple[int, int, int, int]],
) -> None:
    order, size, (rows, columns), inside = case
    table = shard_table(order, (7, 7 + rows, 5, 5 + columns))
    shape = shapes(table, np.array([size]))
    box = np.array(inside) + np.array([7, 7, 5, 5])
    most = most_spans(shape, np.array([0]), box[None, :])
    offsets, lengths = np.zeros((2, most), dtype=np.int64)
    count = view_spans(shape[0], box, offsets, lengths)
    found = list(zip(offsets[:count].tolist(), lengths[:count].tolist(), strict=True))
    assert found == spans_one_by_one(order, size, (rows, columns), inside)


def test_pieces_end_where_either_side_does_and_at_the_limit() -> None:
    """Two panels of 6 and of 4 rows: 4 x 32 bytes each, the source being cut after each panel."""
    table = shard_table(LEFT, (0, 6, 0, 32), (0, 4, 0, 32))
    shape = shapes(table, np.array([2, 2]))
    moves = single(np.array([0]), np.array([1]), view(0, 4, 0, 32))
    pieces = cut(shape, moves, NO_LIMIT, "test")
    assert pieces.source_offset.tolist() == [0, 192]
    assert pieces.destination_offset.tolist() == [0, 128]
    assert pieces.size_bytes.tolist() == [128, 128]
    short = cut(shape, moves, 100, "test")
    assert short.size_bytes.tolist() == [100, 28, 100, 28]
    assert short.source_offset.tolist() == [0, 100, 192, 292]


def test_views_that_are_no_words_are_refused() -> None:
    """Three columns of float16 are six bytes."""
    table = shard_table(ROW_MAJOR, (0, 2, 0, 8), (0, 2, 0, 8))
    shape = shapes(table, np.array([2, 2]))
    moves = single(np.array([0]), np.array([1]), view(0, 2, 0, 3))
    with pytest.raises(LayoutError, match="whole 4-byte words"):
        cut(shape, moves, NO_LIMIT, "test")


def test_split_panels_of_permuted_elements_are_refused() -> None:
    table = shard_table(Order(OrderKind.OUTPUT), (0, 2, 0, 32), (0, 2, 0, 32))
    shape = shapes(table, np.array([4, 4]))
    moves = single(np.array([0]), np.array([1]), view(0, 2, 8, 24))
    with pytest.raises(LayoutError, match="splits"):
        cut(shape, moves, NO_LIMIT, "test")


def local_copies(rows: int, pricing: Pricing) -> tuple[IntArray, ...]:
    """A view of ``rows`` x 16 float16 between row-major shards of 32 and 48 columns."""
    table = shard_table(ROW_MAJOR, (0, 20, 0, 32), (0, 20, 0, 48))
    shape = shapes(table, np.array([2, 2]))
    moves: Moves = single(np.array([0]), np.array([1]), view(0, rows, 0, 16))
    return copy_columns(shape, moves, pricing, "test")


def test_equal_pieces_at_equal_strides_are_one_call_up_to_512_bytes() -> None:
    """16 rows of 32 bytes are 512: one strided call of 288 + 64 cycles; 18 are 18 calls."""
    _, _, _, _, size, count, near, far, cycles = local_copies(16, Pricing.CALL)
    assert (size.tolist(), count.tolist()) == ([32], [16])
    assert (near.tolist(), far.tolist(), cycles.tolist()) == ([64], [96], [288 + 64])
    _, offset, _, target, size, count, near, far, cycles = local_copies(18, Pricing.CALL)
    assert offset.tolist() == [64 * row for row in range(18)]
    assert target.tolist() == [96 * row for row in range(18)]
    assert set(size.tolist()) == set(near.tolist()) == set(far.tolist()) == {32}
    assert set(count.tolist()) == {1}
    assert cycles.tolist() == [288 + 4] * 18


def test_paced_and_free_copies_are_priced_as_a_whole() -> None:
    """18 rows of 32 bytes at 6 bytes a cycle: 96 + 11, on the first call."""
    assert local_copies(18, Pricing.PACED)[-1].tolist() == [107] + [0] * 17
    assert local_copies(18, Pricing.FREE)[-1].tolist() == [0] * 18
