"""Candidates of matrix products: grids, prices of reductions, layouts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipuopt.layout import COLUMNS, ROWS, AxisTiling, MemoryClass, cut_axis
from ipuopt.models.mapping.candidates.grids import enumerate_grids
from ipuopt.models.mapping.candidates.matmul_layouts import (
    physical_left,
    physical_right,
    product,
)
from ipuopt.models.mapping.candidates.variants import (
    COLUMNS as GRID_COLUMNS,
)
from ipuopt.models.mapping.candidates.variants import (
    INNER,
    ROW_PARTS,
    STORED_ONCE,
    STREAMED,
    SWAPPED,
    Product,
    price_variants,
)
from ipuopt.models.mapping.candidates.variants import ROWS as GRID_ROWS
from ipuopt.models.mapping.endpoint import latency
from ipuopt.rectangles import rectangles
from ipuopt.target.kernels import matmul_cycles, paced_copy_cycles, sum_cycles


@given(st.integers(1, 70), st.integers(1, 200), st.integers(1, 200), st.integers(1, 60))
@settings(deadline=None)
def test_grids_have_no_empty_part_and_fit(rows: int, columns: int, inner: int, tiles: int) -> None:
    grids = enumerate_grids(rows, columns, inner, tiles)
    assert len(grids) > 0
    assert np.all(grids.rows * grids.columns * grids.inner <= tiles)
    for i in range(len(grids)):
        block = int(grids.block_inner[i])
        for extent, parts, grain in (
            (rows, grids.rows[i], 2),
            (rows, grids.row_parts[i], 2),
            (columns, grids.columns[i], 16),
            (inner, grids.inner[i], block),
        ):
            cut = cut_axis(extent, AxisTiling(ROWS, int(parts), grain, grain))
            assert np.all(cut.end > cut.start)
        widest = cut_axis(rows, AxisTiling(ROWS, int(grids.rows[i]), 2, 2))
        assert grids.widest_rows[i] == (widest.stop - widest.start).max()


def test_grids_have_every_widest_part_that_uses_half_of_the_tiles() -> None:
    """Any grid on 300 tiles is matched by a listed one with the same widest parts."""
    grids = enumerate_grids(90, 320, 160, 300)
    listed = set(
        zip(
            grids.widest_rows.tolist(),
            grids.block_columns.tolist(),
            grids.block_inner.tolist(),
            strict=True,
        )
    )
    for k in range(1, 11):
        for c in range(1, 21):
            for r in range(1, 46):
                if not 150 <= r * c * k <= 300 or (k - 1) * -(-10 // k) >= 10:
                    continue
                lc = -(-20 // c)
                lk = -(-10 // k)
                least = -(-20 // lc) * -(-10 // lk)
                if r * least < 150:
                    continue  # the same parts on fewer tiles than half of them
                assert (2 * -(-45 // r), 16 * lc, 16 * lk) in listed


@pytest.mark.parametrize("swapped", [False, True])
def test_compute_tiles_hold_their_operands(swapped: bool) -> None:
    """Tile j + c(q + k i) holds rows i and inner q of the left, column j and inner q of weights."""
    r, c, k, block = 3, 2, 2, 32
    left = rectangles(
        physical_left(r, c, k, block, swapped=swapped), *((64, 11) if swapped else (11, 64))
    )
    layout = physical_right(c, k, r, block, MemoryClass.STANDARD, swapped=swapped)
    right = rectangles(layout, *((32, 64) if swapped else (64, 32)))
    for i in range(r):
        for q in range(k):
            for j in range(c):
                tile = j + c * (q + k * i)
                held = (left.column_start, left.row_start)
                inner, rows = held[::-1] if swapped else held
                assert inner[tile] == block * q
                assert rows[tile] == [0, 4, 8][i]
                held = (right.row_start, right.column_start)
                inner, columns = held[::-1] if swapped else held
                assert inner[tile] == block * q
                assert columns[tile] == 16 * j


def reduction_by_hand(
    rows: int, columns: int, grid: tuple[int, int, int], parts: int, tiles: int
) -> tuple[int, int, int, int]:
    """Exchange bound, sum and copy cycles, bytes of roots: loops over roots and rectangles."""
    r, c, k = grid
    row_cut = cut_axis(rows, AxisTiling(ROWS, r, 2, 2))
    part_cut = cut_axis(rows, AxisTiling(ROWS, parts, 2, 2))
    column_cut = cut_axis(columns, AxisTiling(COLUMNS, c, 16, 16))
    sends, receives = np.zeros(tiles, dtype=np.int64), np.zeros(tiles, dtype=np.int64)
    sums, copies, held = (np.zeros(tiles, dtype=np.int64) for _ in range(3))
    for j in range(c):
        width = int(column_cut.stop[j] - column_cut.start[j])
        wide = int(column_cut.end[j] - column_cut.start[j])
        for p in range(parts):
            for i in range(r):
                low = max(row_cut.start[i], part_cut.start[p])
                high = min(row_cut.stop[i], part_cut.stop[p])
                if low >= high:
                    continue
                root = j + c * p
                size_bytes = int(high - low) * width * 2
                sums[root] += sum_cycles(size_bytes, k)
                copies[root] += paced_copy_cycles(size_bytes)
                held[root] += size_bytes
                elements = int(min(high, rows) - low) * wide
                for q in range(k):
                    tile = j + c * (q + k * i)
                    if tile != root:
                        sends[tile] += elements
                        receives[root] += elements
    events = latency(tiles)
    bound = 0
    for load, extra in ((sends, events.depart), (receives, events.arrive)):
        words = -(-load * 2 // 4)
        bound = max(bound, int((words + extra)[load > 0].max(initial=0)))
    return bound, int(sums.max()), int(copies.max()), int(held.max())


@settings(max_examples=20, deadline=None)
@given(rows=st.integers(2, 40), columns=st.integers(1, 60), inner=st.integers(17, 90))
def test_reductions_are_priced_root_by_root(rows: int, columns: int, inner: int) -> None:
    tiles = 24
    variants = price_variants(Product(rows, inner, columns, tiles, False))
    for index, row in enumerate(variants.parameters):
        if row[STREAMED] or row[INNER] == 1:
            continue
        grid = (int(row[GRID_ROWS]), int(row[GRID_COLUMNS]), int(row[INNER]))
        physical = (columns, rows) if row[SWAPPED] else (rows, columns)
        bound, sums, copies, held = reduction_by_hand(*physical, grid, int(row[ROW_PARTS]), tiles)
        assert variants.terms["reduction exchange"][index] == bound + 600
        assert variants.terms["reduction"][index] == sums
        assert variants.terms["result copy"][index] == copies
        assert variants.sizes["roots"][index] == held * (grid[2] + 1)


def test_streaming_costs_more_cycles_and_less_memory() -> None:
    variants = price_variants(Product(64, 160, 64, 64, False))
    streamed = variants.parameters[:, STREAMED] == 1
    key = np.delete(variants.parameters, STREAMED, axis=1)
    for index in np.flatnonzero(streamed):
        twin = np.flatnonzero(~streamed & (key == key[index]).all(axis=1))[0]
        assert variants.cost[index] > variants.cost[twin]
        assert variants.sizes["roots"][index] < variants.sizes["roots"][twin]


def test_one_copy_of_the_weights_never_pays_for_one_reader() -> None:
    """It costs an exchange and saves nothing on the fullest tile, so only readers in common see it."""
    variants = price_variants(Product(64, 160, 64, 64, True))
    once = variants.parameters[:, STORED_ONCE] == 1
    key = np.delete(variants.parameters, STORED_ONCE, axis=1)
    for index in np.flatnonzero(once):
        twin = np.flatnonzero(~once & (key == key[index]).all(axis=1))[0]
        assert variants.cost[index] > variants.cost[twin] + 600
        assert all(size[index] >= size[twin] for size in variants.sizes.values())


def test_kernel_of_the_widest_part() -> None:
    """5 x 269 x 1 of 729 x 1152 x 4304: 146 rows, 16 columns, all of K in one block."""
    variants = price_variants(Product(729, 1152, 4304, 1472, False))
    grid = variants.parameters[:, [SWAPPED, GRID_ROWS, GRID_COLUMNS, INNER]]
    found = np.flatnonzero((grid == (0, 5, 269, 1)).all(axis=1))
    expected = {matmul_cycles(146, 16, 1152, kind) for kind in (True, False)}
    assert {int(cost) for cost in variants.cost[found]} == expected
    assert product(269, 5, swapped=False).tiles == 1345
