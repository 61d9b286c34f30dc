"""Rearrangements against an oracle that walks over elements and tiles one by one."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipuopt.layout import (
    COLUMNS,
    LEFT,
    LINEAR,
    ROW_MAJOR,
    ROWS,
    AxisTiling,
    Layout,
    MemoryClass,
    Order,
    OrderKind,
)
from ipuopt.models.mapping.peer.flow import flow
from ipuopt.models.mapping.peer.rearrange import IMPOSSIBLE, Rule, price_rearrangement
from ipuopt.models.mapping.peer.runs import cut_views
from ipuopt.orders import element_index
from ipuopt.rectangles import rectangles

S = MemoryClass.STANDARD
SIZE = 2
Box = tuple[int, int, int, int]


def linear(order: Order, tiles: int, block: int) -> Layout:
    return Layout(order, tiles, 1, (AxisTiling(LINEAR, tiles, block, block, pads=False),), S)


def grid(order: Order, rows: int, columns: int, replicas: int, row: int, column: int) -> Layout:
    """A grid of rows x columns parts with blocks of row x column elements."""
    axes = (AxisTiling(ROWS, rows, row, row), AxisTiling(COLUMNS, columns, column, column))
    return Layout(order, rows * columns * replicas, replicas, axes, S)


@st.composite
def layouts(draw: st.DrawFn, rows: int, columns: int) -> Layout:
    """Any layout of a value whose columns are a multiple of 16, on at most 24 tiles."""
    order = draw(st.sampled_from([ROW_MAJOR, LEFT, Order(OrderKind.BLOCK_MAJOR, 16)]))
    if order.kind is not OrderKind.BLOCK_MAJOR and draw(st.booleans()):
        return linear(order, draw(st.integers(1, min(24, rows * columns // 16))), 16)
    row = 16 if order.kind is OrderKind.BLOCK_MAJOR else draw(st.integers(1, 3))
    shape = (draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 2)))
    return grid(order, *shape, row, 16)


@st.composite
def changes(draw: st.DrawFn) -> tuple[Layout, Layout, int, int]:
    rows, columns = draw(st.integers(1, 20)), 16 * draw(st.integers(1, 5))
    return draw(layouts(rows, columns)), draw(layouts(rows, columns)), rows, columns


def boxes(layout: Layout, rows: int, columns: int) -> dict[Box, list[int]]:
    """Tiles of every non-empty logical rectangle, rising."""
    shards = rectangles(layout, rows, columns)
    tiles = defaultdict(list)
    columns_of = (shards.row_start, shards.row_end, shards.column_start, shards.column_end)
    for tile, *box in zip(shards.tile.tolist(), *(c.tolist() for c in columns_of), strict=True):
        if box[0] < box[1] and box[2] < box[3]:
            tiles[tuple(box)].append(tile)
    return tiles


def common(a: Box, b: Box) -> int:
    """Elements of the common rectangle."""
    height = min(a[1], b[1]) - max(a[0], b[0])
    width = min(a[3], b[3]) - max(a[2], b[2])
    return max(height, 0) * max(width, 0)


def rule_a_by_hand(
    source: Layout, target: Layout, rows: int, columns: int, tiles: int
) -> tuple[int, int, int]:
    """Cycles, exchange cycles and row bytes, straight from cost-model.md 3.6."""
    sent, sends, got, gets = (defaultdict[int, int](int) for _ in range(4))
    held, holds, taken, takes = (defaultdict[int, int](int) for _ in range(4))
    have = boxes(source, rows, columns)
    for (box, takers), (part, owners) in itertools.product(
        boxes(target, rows, columns).items(), have.items()
    ):
        size = common(box, part) * SIZE
        if not size:
            continue
        for tile in takers:
            taken[tile] += size
            takes[tile] += 1
            if tile in owners:
                held[tile] += size
                holds[tile] += 1
            else:
                got[tile] += size
                gets[tile] += 1
        if any(tile not in owners for tile in takers):
            sent[owners[0] // 2] += size
            sends[owners[0] // 2] += 1
    peak = max([*sent.values(), *got.values()], default=0)
    exchange = -(-peak // 4) + 600 if peak else 0
    chunks = max(-(-peak // 16592), *sends.values(), *gets.values(), 1) if peak else 0
    most_held = max(held.values(), default=0)
    if source.order == target.order:
        local = -(-most_held // 8) + 288 * max(holds.values(), default=0)
        chunks = max(chunks, max(takes.values()))
    else:
        local = -(-2 * max(taken.values()) // 8) + 288 * max(takes.values())
        chunks = max(chunks, -(-(max(taken.values()) - most_held) // 4))
    cycles = -(-(exchange + local) * tiles // max(source.tiles, target.tiles))
    equal = (source.tiles, source.replicas, source.axes) == (
        target.tiles,
        target.replicas,
        target.axes,
    )
    return cycles, exchange, 0 if equal else 4 * (1 + 42 * chunks)


@settings(max_examples=60, deadline=None)
@given(changes())
def test_rule_a_follows_the_text(change: tuple[Layout, Layout, int, int]) -> None:
    source, target, rows, columns = change
    price = price_rearrangement(source, target, rows, columns, SIZE, 32, Rule.A)
    if source.order != target.order and ROW_MAJOR not in (source.order, target.order):
        assert price.cycles >= IMPOSSIBLE
        return
    expected = rule_a_by_hand(source, target, rows, columns, 32)
    assert (price.cycles, price.exchange_cycles, price.row_bytes) == expected


@settings(max_examples=60, deadline=None)
@given(changes())
def test_intersections_partition_the_value(change: tuple[Layout, Layout, int, int]) -> None:
    source, target, rows, columns = change
    moved = flow(source, target, rows, columns, SIZE, 32)
    covered = np.zeros((rows, columns), dtype=np.int64)
    pairs = moved.pairs
    for top, bottom, left, right in zip(
        pairs.row_start.tolist(),
        pairs.row_end.tolist(),
        pairs.column_start.tolist(),
        pairs.column_end.tolist(),
        strict=True,
    ):
        covered[top:bottom, left:right] += 1
    assert (covered == 1).all()


@settings(max_examples=60, deadline=None)
@given(changes())
def test_runs_of_every_view(change: tuple[Layout, Layout, int, int]) -> None:
    """Views that are cut as a class are cut as each would be on its own."""
    source, target, rows, columns = change
    moved = flow(source, target, rows, columns, SIZE, 32)
    cuts = cut_views(moved, source.order, target.order, SIZE)
    pairs = moved.pairs
    for index in range(len(pairs.source)):
        top, bottom = int(pairs.row_start[index]), int(pairs.row_end[index])
        left, right = int(pairs.column_start[index]), int(pairs.column_end[index])
        position = []
        for order, parts, part in (
            (source.order, moved.source, pairs.source[index]),
            (target.order, moved.target, pairs.target[index]),
        ):
            r, c = np.indices((bottom - top, right - left), dtype=np.int64)
            r, c = r + top - parts.row_start[part], c + left - parts.column_start[part]
            extents = int(parts.height[part]), int(parts.width[part])
            position.append(element_index(order, r, c, *extents, SIZE).ravel().tolist())
        elements = list(zip(*position, strict=True))
        if source.order == target.order:
            elements.sort()
        begin = [0]
        for i in range(1, len(elements)):
            step = (elements[i][0] - elements[i - 1][0], elements[i][1] - elements[i - 1][1])
            if step != (1, 1) or i - begin[-1] == 8296:
                begin.append(i)
        assert cuts.runs[index] == len(begin)
        odd = any(offset % 2 for i in begin for offset in (*elements[i], i))
        assert cuts.aligned[index] == (not odd and len(elements) % 2 == 0)


def test_equal_layouts_move_nothing_but_copy() -> None:
    layout = grid(LEFT, 4, 2, 1, 2, 16)
    price = price_rearrangement(layout, layout, 16, 64, SIZE, 8, Rule.A)
    shard = 4 * 32 * SIZE
    assert dict(price.terms) == {"local copies": 288 + shard // 8}
    assert price.row_bytes == 0


def test_few_tiles_are_charged_as_idle() -> None:
    """4 of 8 tiles: the whole conversion counts twice, its exchange part does not."""
    source, target = linear(ROW_MAJOR, 4, 16), grid(ROW_MAJOR, 1, 4, 1, 1, 16)
    price = price_rearrangement(source, target, 4, 64, SIZE, 8, Rule.A)
    assert price.exchange_cycles == 192 // 4 + 600
    assert price.cycles == 2 * (price.exchange_cycles + 288 + 4)


def test_strided_calls_hold_at_most_512_bytes() -> None:
    """16 panels of 32 bytes are one call, 17 are 17 (cost-model.md 3.6, lowering.md 2.4)."""
    for panels, calls in ((16, 1), (17, 17)):
        source, target = linear(LEFT, 1, 16), grid(LEFT, 1, 1, 1, 2, 16)
        moved = flow(source, target, 1, 16 * panels, SIZE, 2)
        assert cut_views(moved, LEFT, LEFT, SIZE).calls.tolist() == [calls]


@pytest.mark.parametrize(
    ("columns", "bytes_copied", "calls"),
    [
        # ten panels a row: one strided call of 320 bytes, cheaper than staging
        (160, 20 * 160 * SIZE, 20),
        # twenty panels a row would be 20 calls each; a staged row is one, the transform one more
        (320, 2 * 20 * 320 * SIZE, 20 + 1),
    ],
)
def test_rule_b_takes_the_cheaper_way(columns: int, bytes_copied: int, calls: int) -> None:
    """20 rows on each of two tiles, all at home, from row-major to AMP left."""
    source, target = linear(ROW_MAJOR, 2, 16), grid(LEFT, 2, 1, 1, 2, 16)
    price = price_rearrangement(source, target, 40, columns, SIZE, 2, Rule.B)
    assert dict(price.terms) == {"local copies": bytes_copied // 8 + 288 * calls}


def test_rule_b_copies_to_row_major_directly() -> None:
    """AMP left to row-major: 20 rows of two panels."""
    source, target = grid(LEFT, 1, 1, 1, 2, 16), grid(ROW_MAJOR, 1, 1, 1, 2, 16)
    price = price_rearrangement(source, target, 20, 32, SIZE, 1, Rule.B)
    # 40 pieces of 32 bytes with uneven strides pair up into 20 calls; staging would add one more
    assert dict(price.terms) == {"local copies": 20 * 64 // 8 + 288 * 20}


def test_rule_b_charges_fragments_of_a_logical_exchange() -> None:
    """One tile sends 4 rows of 2 panels of 32 bytes to another, in another order."""
    source, target = grid(LEFT, 2, 1, 1, 4, 16), grid(Order(OrderKind.OUTPUT), 1, 1, 2, 8, 16)
    price = price_rearrangement(source, target, 8, 32, SIZE, 2, Rule.B)
    # pairs of 2 elements are adjacent on both sides: 4 rows x 16 pairs
    fragments = 4 * 16
    assert price.exchange_cycles == 2 * 4 * 64 // 4 + 600 + 160 * fragments
    assert price.row_bytes == 4 * (1 + 42 * 2 * fragments)


@pytest.mark.parametrize("rule", list(Rule))
def test_odd_runs_cannot_be_sent(rule: Rule) -> None:
    """Pieces of one float16 element are no whole word; rule A does not look at them."""
    source, target = linear(ROW_MAJOR, 3, 1), linear(ROW_MAJOR, 2, 1)
    price = price_rearrangement(source, target, 1, 9, SIZE, 4, rule)
    assert (price.cycles >= IMPOSSIBLE) == (rule is Rule.B)
