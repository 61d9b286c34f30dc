"""Prices of conversions against loops over single elements."""

from __future__ import annotations

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
    TRANSPOSED_LEFT,
    AxisTiling,
    Layout,
    MemoryClass,
    Order,
    OrderKind,
)
from ipuopt.models.mapping.candidates.matmul_layouts import (
    physical_left,
    physical_right,
    product,
)
from ipuopt.models.mapping.endpoint import elements_before, latency
from ipuopt.models.mapping.footprint import footprints
from ipuopt.models.mapping.matrix import Matrix
from ipuopt.models.mapping.prices import conversions, method_of
from ipuopt.models.mapping.problem import FORBIDDEN
from ipuopt.plan import ConversionMethod
from ipuopt.rectangles import rectangles
from ipuopt.target.fabric import ROW, time_to_mux
from ipuopt.target.kernels import clear_cycles, pack_cycles, unpack_cycles

Cell = tuple[int, int]


def held_cells(layout: Layout, rows: int, columns: int) -> list[set[Cell]]:
    """Logical elements on every tile, one by one."""
    cells: list[set[Cell]] = [set() for _ in range(layout.tiles)]
    shards = rectangles(layout, rows, columns)
    for i, tile in enumerate(shards.tile):
        for row in range(shards.row_start[i], shards.row_end[i]):
            for column in range(shards.column_start[i], shards.column_end[i]):
                cells[tile].add((row, column))
    return cells


def brute_loads(
    source: Layout, target: Layout, matrix: Matrix
) -> tuple[dict[int, int], dict[int, int]]:
    """Elements that each tile sends and receives, from sets of single elements."""
    held = held_cells(source, matrix.rows, matrix.columns)
    wanted = held_cells(target, matrix.rows, matrix.columns)
    receives: dict[int, int] = defaultdict(int)
    sent: dict[int, set[tuple[Cell, int]]] = defaultdict(set)
    groups: dict[frozenset[Cell], int] = {}
    for tile, cells in enumerate(wanted):
        own = held[tile] if tile < len(held) else set()
        group = groups.setdefault(frozenset(cells), len(groups))
        for cell in cells - own:
            receives[tile] += 1
            first = next(t for t, has in enumerate(held) if cell in has)
            sent[first].add((cell, group))
    return {tile: len(cells) for tile, cells in sent.items()}, receives


def brute_bound(source: Layout, target: Layout, matrix: Matrix, tiles: int) -> int:
    """The endpoint bound with heads and tails, from the formulas of ipu21.md 3.1."""
    sends, receives = brute_loads(source, target, matrix)
    time = time_to_mux(tiles)
    bound = 0
    for tile, count in receives.items():
        bound = max(bound, 1 + -(-count * matrix.element_bytes // 4) + 57 + 2 * int(ROW[tile]))
    for tile, count in sends.items():
        tail = min(int(time[tile, t]) + 58 + 2 * int(ROW[t]) for t in range(tiles) if t != tile)
        bound = max(bound, -(-count * matrix.element_bytes // 4) + max(0, tail))
    return bound


def layouts_for(rows: int, columns: int, tiles: int) -> list[Layout]:
    """Layouts as candidates use them, that fit a small value."""
    found = []
    row_blocks, groups = -(-rows // 2), -(-columns // 16)
    for r in range(1, min(4, row_blocks) + 1):
        for c in range(1, 4):
            for lk in range(1, groups + 1):
                k = -(-groups // lk)
                if r * c * k <= tiles:
                    found.append(physical_left(r, c, k, 16 * lk, swapped=False))
            if c <= groups and r * c <= tiles:
                found.append(product(c, r, swapped=False))
    elements = rows * columns
    if columns % 16 == 0 and elements // 16 >= tiles:
        axis = AxisTiling(LINEAR, tiles, 16, 16, pads=False)
        found.append(Layout(LEFT, tiles, 1, (axis,), MemoryClass.STANDARD))
    return list(dict.fromkeys(found))


def loaded_layouts(rows: int, columns: int, tiles: int) -> list[Layout]:
    """Layouts in which a swapped product loads its activation."""
    groups = -(-columns // 16)
    return [
        physical_right(c, -(-groups // lk), copies, 16 * lk, MemoryClass.INTERLEAVED, swapped=True)
        for lk in range(1, groups + 1)
        for c in range(1, -(-rows // 16) + 1)
        for copies in (1, 2, 3)
        if c * -(-groups // lk) * copies <= tiles
    ]


@settings(max_examples=40, deadline=None)
@given(rows=st.integers(1, 13), columns=st.sampled_from([7, 16, 33, 48, 64]), data=st.data())
def test_exchange_is_the_endpoint_bound_of_single_elements(
    rows: int, columns: int, data: st.DataObject
) -> None:
    """Equal to the loop where the source has one copy, never above it where it has more."""
    tiles = 12
    matrix = Matrix(rows, columns, 2)
    layouts = layouts_for(rows, columns, tiles)
    targets = [*layouts, *loaded_layouts(rows, columns, tiles)]
    source, target = (data.draw(st.sampled_from(x)) for x in (layouts, targets))
    table = conversions(matrix, (source,), (target,), tiles)
    price = int(table.terms["exchange"][0, 0])
    if source == target:
        assert price == 0
        assert table.equal[0, 0]
        return
    bound = brute_bound(source, target, matrix, tiles)
    expected = bound + 600 if bound else 0
    assert price <= expected
    if source.replicas == 1 or target.replicas == 1:
        assert price == expected


def test_many_pairs_are_priced_as_one_by_one() -> None:
    """The stacked loop gives each pair what the pair alone gives."""
    matrix = Matrix(12, 64, 2)
    layouts = layouts_for(12, 64, 12)
    together = conversions(matrix, layouts, layouts, 12)
    for row in range(0, len(layouts), 5):
        for column in range(0, len(layouts), 3):
            alone = conversions(matrix, (layouts[row],), (layouts[column],), 12)
            assert together.cost[row, column] == alone.cost[0, 0]


@settings(deadline=None)
@given(
    st.integers(1, 9),
    st.integers(1, 9),
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
    st.integers(0, 81),
)
def test_elements_before_an_index_are_counted(
    rows: int, columns: int, box: tuple[int, int, int, int], index: int
) -> None:
    top, bottom = sorted(min(b, rows) for b in box[:2])
    left, right = sorted(min(b, columns) for b in box[2:])
    index = min(index, rows * columns)
    cells = [divmod(i, columns) for i in range(index)]
    expected = sum(top <= r < bottom and left <= c < right for r, c in cells)
    assert elements_before(index, top, bottom, left, right, columns) == expected


def test_copies_of_whole_panels_are_one_call() -> None:
    """8 rows x 32 columns stay at home in both layouts and cover all rows: 288 + 512/8."""
    source = product(2, 1, swapped=False)  # 64 columns in two parts of 32
    target = Layout(LEFT, 2, 1, (AxisTiling(COLUMNS, 2, 32, 32),), MemoryClass.STANDARD)
    table = conversions(Matrix(8, 64, 2), (source,), (target,), 2)
    assert table.terms["exchange"][0, 0] == 0
    assert table.terms["copies"][0, 0] == 288 + 512 // 8


def test_copies_of_cut_panels_are_calls_of_their_own_beyond_512_bytes() -> None:
    """Rows 0-9 of 20 stay on tile 0: 4 panels of 320 B, 1280 B together, so 4 calls."""
    source = Layout(LEFT, 1, 1, (), MemoryClass.STANDARD)
    target = Layout(LEFT, 2, 1, (AxisTiling(ROWS, 2, 2, 2),), MemoryClass.STANDARD)
    table = conversions(Matrix(20, 64, 2), (source,), (target,), 2)
    assert table.terms["copies"][0, 0] == 4 * 288 + 1280 // 8
    short = conversions(Matrix(8, 64, 2), (source,), (target,), 2)  # 4 panels of 128 B: strided
    assert short.terms["copies"][0, 0] == 288 + 512 // 8


def test_padding_on_the_summed_axis_is_cleared() -> None:
    """48 columns in 2 blocks of 32: the second part has one panel of padding, 4 rows x 32 B."""
    target = physical_left(1, 1, 2, 32, swapped=False)
    source = product(1, 1, swapped=False)
    matrix = Matrix(4, 48, 2)
    table = conversions(matrix, (source,), (target,), 4, COLUMNS)
    assert table.terms["clear"][0, 0] == clear_cycles(4 * 32)
    assert conversions(matrix, (source,), (target,), 4).terms["clear"][0, 0] == 0


def test_squares_that_stay_are_copied_one_by_one() -> None:
    """32 of 48 rows x 32 columns stay: 4 squares of 512 B; 8 rows of them are one strided call."""
    source = Layout(LEFT, 1, 1, (), MemoryClass.STANDARD)
    target = physical_right(2, 1, 1, 32, MemoryClass.STANDARD, swapped=True)
    table = conversions(Matrix(48, 32, 2), (source,), (target,), 2)
    assert table.terms["copies"][0, 0] == 4 * (288 + 512 // 8)
    short = conversions(Matrix(8, 32, 2), (source,), (target,), 2)
    assert short.terms["copies"][0, 0] == 288 + 512 // 8


def test_padding_of_loaded_panels_is_cleared_in_every_group() -> None:
    """48 columns in 2 blocks of 32, 32 rows in one part: 2 squares of padding, a run each."""
    source = product(1, 1, swapped=False)
    target = physical_right(1, 2, 1, 32, MemoryClass.STANDARD, swapped=True)
    table = conversions(Matrix(32, 48, 2), (source,), (target,), 4, COLUMNS)
    assert table.terms["clear"][0, 0] == 2 * clear_cycles(512)


def test_staging_unpacks_and_packs() -> None:
    source, target = product(2, 2, swapped=True), physical_left(2, 2, 1, 64, swapped=False)
    matrix = Matrix(32, 64, 2)
    table = conversions(matrix, (source,), (target,), 4, COLUMNS)
    assert method_of(source.order, target.order) is ConversionMethod.STAGE
    assert table.terms["unpack"][0, 0] == unpack_cycles(OrderKind.TRANSPOSED_LEFT, 16 * 32)
    assert table.terms["pack"][0, 0] == pack_cycles(OrderKind.LEFT, 16 * 64)
    assert (table.unpacked[0, 0], table.packed[0, 0]) == (2 * 16 * 32, 2 * 16 * 64)


@pytest.mark.parametrize(
    ("source", "target", "method"),
    [
        (LEFT, LEFT, ConversionMethod.RETILE),
        (TRANSPOSED_LEFT, TRANSPOSED_LEFT, ConversionMethod.RETILE),
        (TRANSPOSED_LEFT, LEFT, ConversionMethod.STAGE),
        (ROW_MAJOR, LEFT, ConversionMethod.STAGE),
        (LEFT, ROW_MAJOR, ConversionMethod.STAGE),
        (LEFT, TRANSPOSED_LEFT, None),
        (LEFT, Order(OrderKind.BLOCK_MAJOR, 64), None),
        (LEFT, Order(OrderKind.TRANSPOSED_RIGHT), ConversionMethod.PANELS),
        (LEFT, Order(OrderKind.TRANSPOSED_BLOCK_MAJOR, 64), ConversionMethod.PANELS),
        (TRANSPOSED_LEFT, Order(OrderKind.BLOCK_MAJOR, 64), ConversionMethod.PANELS),
        (ROW_MAJOR, Order(OrderKind.TRANSPOSED_BLOCK_MAJOR, 64), None),
        (Order(OrderKind.BLOCK_MAJOR, 64), LEFT, None),
    ],
)
def test_which_orders_convert(
    source: Order, target: Order, method: ConversionMethod | None
) -> None:
    """cost-model.md 1.6: some orders need direct population, or an order with the same panels."""
    assert method_of(source, target) is method


def test_panels_of_float32_do_not_convert() -> None:
    """They are 16 x 8 in block-major orders and 8 wide in the others."""
    assert method_of(LEFT, Order(OrderKind.TRANSPOSED_RIGHT), 4) is None


def test_weights_do_not_convert_but_may_be_shared() -> None:
    one, two = (
        physical_right(2, 2, copies, 32, MemoryClass.INTERLEAVED, swapped=False)
        for copies in (1, 2)
    )
    cost = conversions(Matrix(64, 32, 2), (one, two), (one, two), 8).cost
    assert cost.tolist() == [[0, FORBIDDEN], [FORBIDDEN, 0]]


def test_row_major_needs_whole_words() -> None:
    """Rows of 17 float16 elements do not end at words: no conversion through row-major."""
    source, target = product(1, 2, swapped=False), Layout(ROW_MAJOR, 1, 1, (), MemoryClass.STANDARD)
    assert conversions(Matrix(4, 17, 2), (source,), (target,), 2).cost[0, 0] == FORBIDDEN
    assert conversions(Matrix(4, 18, 2), (source,), (target,), 2).cost[0, 0] > 0


def test_footprints_know_the_first_owner_of_replicas() -> None:
    stack = footprints([physical_left(2, 3, 1, 16, swapped=False)], 4, 16, 8)
    assert stack.owner[0].tolist() == [0, 0, 0, 3, 3, 3, 6, 7]
    assert stack.bounds[0, 1].tolist() == [2, 2, 2, 4, 4, 4, 0, 0]


def test_a_layout_on_more_tiles_than_there_are_is_refused() -> None:
    with pytest.raises(ValueError, match="uses 6 tiles of 4"):
        footprints([physical_left(2, 3, 1, 16, swapped=False)], 4, 16, 4)


def test_latency_of_one_tile() -> None:
    assert latency(1).depart.tolist() == [0]
    assert np.all(latency(64).depart >= 0)
