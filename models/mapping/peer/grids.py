"""Grids and variants of a product that the public compiler generates (cost-model.md 2.1, 2.2)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ipuopt.layout import Layout, MemoryClass
from ipuopt.models.mapping.candidates.grids import GROUP
from ipuopt.models.mapping.candidates.matmul_layouts import (
    physical_left,
    physical_right,
    product,
)
from ipuopt.models.mapping.dominance import nondominated
from ipuopt.models.mapping.peer.memory import INTERLEAVED_BYTES, TOTAL_BYTES
from ipuopt.plan import Epochs
from ipuopt.target.kernels import ceil_div


@dataclass(frozen=True, slots=True)
class Shape:
    """A product of M x K by K x N, float16; swapped: the transposed product is computed."""

    m: int
    k: int
    n: int
    swapped: bool

    @property
    def rows(self) -> int:
        """Physical rows."""
        return self.n if self.swapped else self.m

    @property
    def columns(self) -> int:
        """Physical columns."""
        return self.m if self.swapped else self.n


@dataclass(frozen=True, slots=True)
class Grid:
    """A compute grid with the figures by which the compiler screens it."""

    rows: int
    columns: int
    inner: int
    compute: int
    talk: int
    space: int


@dataclass(frozen=True, slots=True)
class Variant:
    """A grid with all that a candidate decides.

    Attributes
    ----------
    row_split, column_split
        Parts of the result in one row and column part of the grid.
    rows_fast
        Order of the result's tiles.
    memory
        Class of the physical right.
    staged
        Whether a tile copies weights that it holds into staging ("match remote").
    """

    grid: Grid
    row_split: int
    column_split: int
    rows_fast: bool
    memory: MemoryClass
    epochs: Epochs
    staged: bool = False


def tile_counts(tiles: int, extents: Sequence[int]) -> list[int]:
    """Active tiles that are tried (cost-model.md 2.1)."""
    powers = [1 << bit for bit in reversed(range(tiles.bit_length())) if 1 << bit <= tiles]
    whole = {tiles // x * x for x in extents if 1 < x <= tiles}
    fitting = sorted((t for t in whole if ceil_div(tiles, 2) <= t < tiles), reverse=True)
    return list(dict.fromkeys([tiles, *powers, *fitting]))


def generate(shape: Shape, tiles: int) -> list[Grid]:
    """Grids of ``tiles`` active tiles (cost-model.md 2.2)."""
    found = []
    inner_groups, column_groups = ceil_div(shape.k, GROUP), ceil_div(shape.columns, GROUP)
    for k in range(2, min(inner_groups, tiles) + 1):
        lk = ceil_div(inner_groups, k)
        if (k - 1) * lk >= inner_groups:
            continue
        for c in range(1, min(column_groups, tiles // k) + 1):
            r = min(tiles // k // c, shape.rows)
            if r * c * k < ceil_div(tiles, 2):
                continue
            lr, lc = ceil_div(shape.rows, r), ceil_div(column_groups, c)
            partial = lr * lc * 32
            space = max(lr * lk * 32 + lc * lk * 512 + partial, 4 * partial)
            if space <= TOTAL_BYTES and lc * lk * 512 + partial <= INTERLEAVED_BYTES:
                compute = lc * lk * (4 * lr + 160)
                talk = lc * lk + lr * lk + lr * lc * (k - 1)
                found.append(Grid(r, c, k, compute, talk, space))
    return found


def frontier(grids: Sequence[Grid]) -> list[Grid]:
    """Grids that no other one with as many inner parts beats in every figure."""
    by_inner: dict[int, list[Grid]] = {}
    for grid in grids:
        by_inner.setdefault(grid.inner, []).append(grid)
    kept = []
    for group in by_inner.values():
        figures = np.array([(g.compute + g.talk, g.talk, g.space) for g in group])
        kept += [group[i] for i in unbeaten(figures)]
    return kept


def unbeaten(figures: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> list[int]:
    """Rows that no other row is as good as everywhere and better than somewhere."""
    rows, same = np.unique(figures, axis=0, return_inverse=True)
    kept = nondominated(np.zeros(len(rows), dtype=np.int64), rows)
    found: list[int] = np.flatnonzero(kept[same.ravel()]).tolist()
    return found


def variants(shape: Shape, grids: Sequence[Grid], *, spread: bool = True) -> Iterator[Variant]:
    """Splits and tile orders of the result, weight memory, staging of sums and of local weights.

    ``spread``: whether the result may lie on the tiles of all inner parts: it is an output, or its
    one reader takes any layout (cost-model.md 2.2).
    """
    most_rows, column_groups = ceil_div(shape.rows, 2), ceil_div(shape.columns, GROUP)
    staging = (False, True) if shape.swapped else (False,)
    for grid in grids:
        r, c, k = grid.rows, grid.columns, grid.inner
        splits = [(1, 1, False)]
        if r > 1 and c > 1:
            splits.append((1, 1, True))
        if spread and k <= shape.rows // r:
            splits.append((k, 1, False))
        elif spread and k <= column_groups // c:
            splits.append((1, k, False))
        for row_split, column_split, rows_fast in splits:
            if r * row_split <= most_rows:
                for memory in MemoryClass:
                    for epochs, staged in itertools.product(Epochs, staging):
                        yield Variant(
                            grid, row_split, column_split, rows_fast, memory, epochs, staged
                        )


def blocks(shape: Shape, grid: Grid) -> tuple[int, int]:
    """Kernel blocks ``K_b`` and ``N_b``."""
    inner = ceil_div(ceil_div(shape.k, GROUP), grid.inner)
    return GROUP * inner, GROUP * ceil_div(ceil_div(shape.columns, GROUP), grid.columns)


def layouts(shape: Shape, variant: Variant) -> tuple[Layout, Layout, Layout]:
    """Physical left, physical right and result (cost-model.md 1.7)."""
    grid, swapped, block = variant.grid, shape.swapped, blocks(shape, variant.grid)[0]
    r, c, k = grid.rows, grid.columns, grid.inner
    copies = r if swapped else 1
    wide, tall = c * variant.column_split, r * variant.row_split
    return (
        physical_left(r, c, k, block, swapped=swapped),
        physical_right(c, k, copies, block, variant.memory, swapped=swapped, copies_last=False),
        product(wide, tall, swapped=swapped, rows_fast=variant.rows_fast),
    )
