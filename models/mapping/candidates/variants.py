"""Prices and memory of all variants of the grids of a matrix product, before layouts are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ipuopt.layout import IntArray
from ipuopt.models.mapping.candidates.grids import (
    Grids,
    enumerate_grids,
    fewest_tiles,
    kernel_work,
)
from ipuopt.models.mapping.candidates.roots import (
    COPY,
    EXCHANGE_COMPLETE,
    EXCHANGE_STREAMED,
    LARGEST_ROOT,
    OPERAND_EXCHANGE,
    ROOT_BYTES,
    SUM_COMPLETE,
    SUM_STREAMED,
    price_reductions,
)
from ipuopt.models.mapping.endpoint import latency
from ipuopt.target.kernels import matmul_cycles

TAIL_BYTES = 16
"""Bytes that the kernel may read past its left operand (cost-model.md 2.5)."""
ELEMENT_BYTES = 2
"""The matrix kernel takes float16 (cost-model.md 2.2)."""

(
    SWAPPED,
    INTERLEAVED,
    STORED_ONCE,
    STREAMED,
    ROWS,
    COLUMNS,
    INNER,
    ROW_PARTS,
    BLOCK_COLUMNS,
    BLOCK_INNER,
) = range(10)
"""Columns of ``Variants.parameters``: flags, grid in the physical orientation, kernel block."""


@dataclass(frozen=True, slots=True)
class Product:
    """A matrix product as its candidates see it.

    Attributes
    ----------
    rows, inner, columns
        Extents M, K, N in the workload's orientation.
    tiles
        Tiles of the target.
    shares_weights
        Whether other operations read the same loaded operand; only then is one copy of it worth
        offering, since copies on every row part cost neither cycles nor bytes of the fullest tile.
    spare
        Grids with kernels of at most so many cycles are all offered; None: those of enough tiles.
    """

    rows: int
    inner: int
    columns: int
    tiles: int
    shares_weights: bool
    spare: int | None = None


@dataclass(frozen=True, slots=True)
class Variants:
    """Priced variants, one entry each.

    Attributes
    ----------
    parameters
        Shape ``(variants, 10)``, see the column constants.
    terms
        Cycles by name.
    sizes
        Bytes on the fullest tile: ``left`` and ``panel`` (operands in the physical orientation),
        ``staging`` (of panels), ``partial``, ``roots`` (buffers of the reduction), ``root`` and
        ``remote`` (the two buffers of the largest root, and the one for its remote partials),
        ``result``.
    """

    parameters: IntArray
    terms: Mapping[str, IntArray]
    sizes: Mapping[str, IntArray]

    def __len__(self) -> int:
        return len(self.parameters)

    @property
    def cost(self) -> IntArray:
        """Cycles of each variant."""
        total: IntArray = np.sum(list(self.terms.values()), axis=0, dtype=np.int64)
        return total

    def take(self, index: IntArray) -> Variants:
        """The given variants, in that order."""
        return Variants(
            self.parameters[index],
            {name: cycles[index] for name, cycles in self.terms.items()},
            {name: size[index] for name, size in self.sizes.items()},
        )


def price_variants(of: Product) -> Variants:
    """All variants of all grids, in both orientations."""
    parts = [_oriented(of, swapped) for swapped in (False, True)]
    return Variants(
        np.concatenate([part.parameters for part in parts]),
        {name: np.concatenate([part.terms[name] for part in parts]) for name in parts[0].terms},
        {name: np.concatenate([part.sizes[name] for part in parts]) for name in parts[0].sizes},
    )


def least_untried(of: Product) -> int:
    """Cycles that no grid on fewer tiles than those that are tried is below."""
    bounds = []
    for rows, columns in ((of.rows, of.columns), (of.columns, of.rows)):
        shape = (rows, columns, of.inner)
        tiles = max(1, fewest_tiles(*shape, of.tiles, of.spare) - 1)
        bounds.append(kernel_work(*shape) // tiles)
    return min(bounds)


def _oriented(of: Product, swapped: bool) -> Variants:
    """Variants of one orientation: weight memory, copies of the weights, staging of sums."""
    rows, columns = (of.columns, of.rows) if swapped else (of.rows, of.columns)
    grids = enumerate_grids(rows, columns, of.inner, of.tiles, of.spare)
    prices = _prices(grids, rows, columns, of)
    variants = [
        (interleaved, once, streamed)
        for interleaved in (1, 0)
        for once in ((0, 1) if of.shares_weights else (0,))
        for streamed in (0, 1)
    ]
    grid = np.repeat(np.arange(len(grids), dtype=np.int64), len(variants))
    interleaved, once, streamed = np.tile(np.array(variants, dtype=np.int64), (len(grids), 1)).T
    # Streaming two contributors is the complete reduction; one row part has its weights at home.
    keep = ((streamed == 0) | (grids.inner[grid] > 2)) & ((once == 0) | (grids.rows[grid] > 1))
    grid, interleaved, once, streamed = (x[keep] for x in (grid, interleaved, once, streamed))
    parameters = np.column_stack(
        (
            np.full(len(grid), int(swapped), dtype=np.int64),
            interleaved,
            once,
            streamed,
            grids.rows[grid],
            grids.columns[grid],
            grids.inner[grid],
            grids.row_parts[grid],
            grids.block_columns[grid],
            grids.block_inner[grid],
        )
    )
    cost, wide = prices[grid], grids.widest_rows[grid]
    narrow, deep = grids.block_columns[grid], grids.block_inner[grid]
    kernel = matmul_cycles(wide, narrow, deep, interleaved.astype(np.bool_))
    terms = {
        "operand exchange": cost[:, OPERAND_EXCHANGE] * once,
        "kernel": kernel,
        "reduction exchange": np.where(
            streamed, cost[:, EXCHANGE_STREAMED], cost[:, EXCHANGE_COMPLETE]
        ),
        "reduction": np.where(streamed, cost[:, SUM_STREAMED], cost[:, SUM_COMPLETE]),
        "result copy": cost[:, COPY],
    }
    split = grids.inner[grid] > 1
    remote = np.where(streamed, 1, grids.inner[grid] - 1)
    panel = narrow * deep * ELEMENT_BYTES
    sizes = {
        "left": wide * deep * ELEMENT_BYTES + TAIL_BYTES,
        "panel": panel,
        "staging": panel * once * (1 - interleaved),
        "partial": np.where(split, wide * narrow * ELEMENT_BYTES, 0),
        "roots": cost[:, ROOT_BYTES] * (remote + 2),
        "root": cost[:, LARGEST_ROOT],
        "remote": cost[:, LARGEST_ROOT] * remote,
        "result": grids.result_rows[grid] * narrow * ELEMENT_BYTES,
    }
    return Variants(parameters, terms, sizes)


def _prices(grids: Grids, rows: int, columns: int, of: Product) -> IntArray:
    """What :func:`price_reductions` finds, shape ``(grids, 8)``."""
    events = latency(of.tiles)
    out = np.zeros((len(grids), 8), dtype=np.int64)
    price_reductions(
        np.array([rows, columns, of.inner], dtype=np.int64),
        ELEMENT_BYTES,
        np.column_stack(
            (grids.rows, grids.columns, grids.inner, grids.row_parts, grids.block_inner)
        ),
        events.arrive,
        events.depart,
        np.zeros(of.tiles, dtype=np.int64),
        out,
    )
    return out
