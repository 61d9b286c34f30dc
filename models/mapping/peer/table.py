"""Prices of all variants of a product with a reduction at once (cost-model.md 3.3, 4.2).

The same figures as :func:`ipuopt.models.mapping.peer.matmul.price_matmul` gives for each variant on
its own, a thousand times as fast: every grid is cut the same way, so shards, traffic and memory
have closed forms. A product keeps some thousand variants on each number of tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ipuopt.layout import IntArray, MemoryClass, round_up
from ipuopt.models.mapping.candidates.grids import GROUP
from ipuopt.models.mapping.peer.grids import Grid, Shape, Variant
from ipuopt.models.mapping.peer.memory import INTERLEAVED_BYTES, LEFT_TAIL_BYTES, TOTAL_BYTES
from ipuopt.models.mapping.peer.rearrange import IMPOSSIBLE
from ipuopt.models.mapping.peer.traffic import CHUNK_WORDS, MAX_BYTES
from ipuopt.plan import Epochs
from ipuopt.target.constants import EXCHANGE_BYTES_PER_CYCLE, SYNC_CYCLES, WORD_BYTES
from ipuopt.target.kernels import ceil_div, matmul_cycles, paced_copy_cycles, sum_cycles
from ipuopt.target.memory import STANDARD_ELEMENT

ELEMENT_BYTES = 2
"""Products with a reduction are float16 (cost-model.md 2.2)."""
PANEL_INNER = 64
"""Inner elements by which weight panels are counted (cost-model.md 4.2)."""


@dataclass(frozen=True, slots=True)
class Figures:
    """By what variants are compared, shape ``(variants,)`` each; the left operand comes in slices.

    Attributes
    ----------
    cycles
        With the impossible on top where an operator exceeds the memory of a tile.
    standard, interleaved, total
        Peak bytes.
    fetch
        Bytes of the staging of the left operand.
    row_bytes
        Bytes of exchange rows.
    """

    cycles: IntArray
    standard: IntArray
    interleaved: IntArray
    total: IntArray
    fetch: IntArray
    row_bytes: IntArray

    @property
    def vectors(self) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        """One row a variant (cost-model.md 2.2, retention)."""
        return np.stack(
            (
                self.cycles,
                self.standard,
                self.interleaved,
                self.total,
                self.fetch,
                self.row_bytes,
            ),
            axis=1,
        )


def price_variants(shape: Shape, variants: Sequence[Variant]) -> Figures:
    """Figures of ``variants`` of one product."""
    operands = {grid: _operand_traffic(shape, grid) for grid in {v.grid for v in variants}}
    table = np.array(
        [
            (
                *(v.grid.rows, v.grid.columns, v.grid.inner, v.row_split, v.column_split),
                *(v.memory is MemoryClass.INTERLEAVED, v.epochs is Epochs.COMPLETE, v.staged),
                *operands[v.grid],
            )
            for v in variants
        ],
        dtype=np.int64,
    ).reshape(-1, 10)
    r, c, k, row_split, column_split, interleaved, complete, staged, sent, pieces = table.T
    inner_groups, column_groups = ceil_div(shape.k, GROUP), ceil_div(shape.columns, GROUP)
    row_pairs = ceil_div(shape.rows, 2)
    block_inner, block_columns = GROUP * -(-inner_groups // k), GROUP * -(-column_groups // c)
    rows = -(-shape.rows // r)
    partial_bytes = rows * block_columns * ELEMENT_BYTES
    result_rows = 2 * -(-row_pairs // (r * row_split))
    result_columns = GROUP * -(-column_groups // (c * column_split))
    result_bytes = result_rows * result_columns * ELEMENT_BYTES
    piece = np.where(row_split * column_split > 1, result_bytes, partial_bytes)
    weight_bytes = block_inner * block_columns * ELEMENT_BYTES

    epochs = np.where(complete, 1, k - 1)
    fast = interleaved | staged
    cycles = matmul_cycles(rows, block_columns, block_inner, fast.astype(np.bool_))
    share = -(-weight_bytes // k)
    slower = -(-share // 8) - -(-share // 16)
    cycles += np.where(interleaved, 0, slower * -(-shape.k // block_inner))
    cycles += np.where(staged, paced_copy_cycles(weight_bytes), 0)
    cycles += _exchange(sent, 1) + _exchange(piece * np.maximum(2, k - 1), epochs)
    cycles += np.where(complete, sum_cycles(piece, k), (k - 1) * sum_cycles(piece, 2))
    cycles += paced_copy_cycles(result_bytes)

    phases = 1 + epochs
    chunks = np.maximum(np.maximum(-(-sent // MAX_BYTES), pieces), phases) * (sent > 0)
    row_bytes = WORD_BYTES * (phases + chunks * CHUNK_WORDS)
    tail = 0 if shape.swapped else LEFT_TAIL_BYTES[ELEMENT_BYTES]
    left_bytes = 2 * -(-row_pairs // r) * block_inner * ELEMENT_BYTES + tail
    fetch = -(-left_bytes // STANDARD_ELEMENT) * STANDARD_ELEMENT
    buffers = piece * (np.where(complete, k - 1, 1) + 2)
    panel = -(-ceil_div(shape.k, PANEL_INNER) // k) * PANEL_INNER * block_columns * ELEMENT_BYTES
    standard = np.where(interleaved, 0, weight_bytes) + np.maximum(fetch, buffers)
    most = np.where(interleaved, weight_bytes, 0) + result_bytes + panel + partial_bytes
    beyond = (most > INTERLEAVED_BYTES) | (standard + most > TOTAL_BYTES)
    cycles += np.where(beyond, IMPOSSIBLE, 0)
    return Figures(cycles, standard, most, standard + most, fetch, row_bytes)


def _exchange(peak_bytes: IntArray, phases: IntArray | int) -> IntArray:
    """``E(traffic, phases)`` of cost-model.md 3.2."""
    cycles: IntArray = -(-peak_bytes // EXCHANGE_BYTES_PER_CYCLE) + SYNC_CYCLES * phases
    return cycles * (peak_bytes > 0)


def _operand_traffic(shape: Shape, grid: Grid) -> tuple[int, int]:
    """Most bytes of a sending bus or a tile, and most pieces, of what brings the operands.

    Swapped operands have a copy where each is used. Else every panel of the weights is sent once
    from the tile of its column and inner part to the other row parts (cost-model.md 3.3).
    """
    if shape.swapped or grid.rows == 1:
        return 0, 0
    column_groups = ceil_div(shape.columns, GROUP)
    short, longer = divmod(column_groups, grid.columns)
    start = GROUP * (
        np.arange(grid.columns + 1) * short + np.minimum(np.arange(grid.columns + 1), longer)
    )
    width = np.diff(np.minimum(start, shape.columns))
    block = GROUP * ceil_div(ceil_div(shape.k, GROUP), grid.inner)
    height = np.diff(np.minimum(block * np.arange(grid.inner + 1), shape.k))
    size = np.outer(height, width).ravel() * ELEMENT_BYTES
    padded = np.zeros(round_up(len(size), 2), dtype=np.int64)
    padded[: len(size)] = size
    return int(padded.reshape(-1, 2).sum(axis=1).max()), 2 if len(size) > 1 else 1
