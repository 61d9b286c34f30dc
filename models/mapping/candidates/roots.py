"""Compiled loop over grids: what partial sums cost to exchange, add up and copy.

For every row part and column part of a compute grid, ``inner`` tiles hold partial sums. A root is
the intersection of one such group with one shard of the result; it lies on the result's tile and
gets the partials of all other tiles (lowering.md 2.3, steps 4 and 5).
"""

from __future__ import annotations

from ipuopt.compiled import inner_kernel, kernel
from ipuopt.layout import IntArray
from ipuopt.target.constants import SYNC_CYCLES, WORD_BYTES
from ipuopt.target.kernels import LAUNCH_CYCLES, PACED_BYTES_PER_CYCLE

(
    EXCHANGE_COMPLETE,
    EXCHANGE_STREAMED,
    SUM_COMPLETE,
    SUM_STREAMED,
    COPY,
    ROOT_BYTES,
    LARGEST_ROOT,
    OPERAND_EXCHANGE,
) = range(8)
"""Columns of what :func:`price_reductions` writes."""

ROW_BLOCK, COLUMN_BLOCK = 2, 16
"""Grain of result shards, in physical rows and columns (cost-model.md 2.2)."""


@inner_kernel
def part_start(index: int, blocks: int, parts: int) -> int:
    """First block of part ``index``; the first parts have one block more (cost-model.md 1.2)."""
    return index * (blocks // parts) + min(index, blocks % parts)


@inner_kernel
def words_of(elements: int, element_bytes: int) -> int:
    """Words that hold ``elements``."""
    return -(-elements * element_bytes // WORD_BYTES)


@kernel
def price_reductions(
    shape: IntArray,
    element_bytes: int,
    grids: IntArray,
    arrive: IntArray,
    depart: IntArray,
    kept: IntArray,
    out: IntArray,
) -> None:
    """Price the reductions of many grids, and the exchange of operands that are stored once.

    Parameters
    ----------
    shape
        Physical rows, columns and inner extent of the product.
    element_bytes
        Of partial sums and operands.
    grids
        Rows, columns, inner, row parts of the result and inner block ``K_b`` of each grid, shape
        ``(grids, 5)``; no empty parts.
    arrive, depart
        See :class:`ipuopt.models.mapping.endpoint.Latency`.
    kept
        Scratch, shape ``(tiles,)``.
    out
        Written, shape ``(grids, 8)``. Exchanges in cycles with their syncs, sums and copies as
        the most cycles on one tile, the most bytes of roots on one tile and of one root.

    Notes
    -----
    Only logical elements count as words to move; sums and copies run over the physical ones. The
    streamed exchange takes ``inner - 1`` phases, each bounded by its receivers alone. Operands
    stored once lie on the tiles of row part 0; one multicast serves all tiles that need a panel.
    """
    row_blocks = -(-shape[0] // ROW_BLOCK)
    column_blocks = -(-shape[1] // COLUMN_BLOCK)
    for index in range(len(grids)):
        rows, columns, inner, parts, block = grids[index]
        complete = first = other = sums = rounds = copies = most = largest = panel = 0
        for column in range(columns):
            start = part_start(column, column_blocks, columns)
            stop = part_start(column + 1, column_blocks, columns)
            width = COLUMN_BLOCK * (stop - start)
            wide = min(shape[1], COLUMN_BLOCK * stop) - COLUMN_BLOCK * start
            group = 0
            for part in range(parts):
                tile = column + columns * part
                low = part_start(part, row_blocks, parts)
                high = part_start(part + 1, row_blocks, parts)
                while part_start(group + 1, row_blocks, rows) <= low:
                    group += 1
                received = seeds = held = added = streamed = copied = total = 0
                at, home = low, group
                while at < high:
                    end = min(high, part_start(home + 1, row_blocks, rows))
                    logical = min(shape[0], ROW_BLOCK * end) - ROW_BLOCK * at
                    size_bytes = ROW_BLOCK * (end - at) * width * element_bytes
                    own = 1 if part // inner == home and part < rows * inner else 0
                    held += own * logical * wide
                    seeds += (1 - own) * logical * wide
                    received += logical * wide
                    added += inner * size_bytes + LAUNCH_CYCLES
                    streamed += (inner - 1) * (2 * size_bytes + LAUNCH_CYCLES)
                    copied += -(-size_bytes // PACED_BYTES_PER_CYCLE) + LAUNCH_CYCLES
                    total += size_bytes
                    largest = max(largest, size_bytes)
                    at, home = end, home + 1
                kept[tile] = held
                sums, rounds = max(sums, added), max(rounds, streamed)
                copies, most = max(copies, copied), max(most, total)
                remote = (inner - 1) * received + seeds
                if remote > 0:
                    complete = max(complete, words_of(remote, element_bytes) + arrive[tile])
                    words = words_of(received + seeds, element_bytes)
                    first = max(first, words + arrive[tile])
                    other = max(other, words_of(received, element_bytes) + arrive[tile])
            for row in range(rows):
                low = part_start(row, row_blocks, rows)
                high = part_start(row + 1, row_blocks, rows)
                partial = (min(shape[0], ROW_BLOCK * high) - ROW_BLOCK * low) * wide
                for layer in range(inner):
                    tile = column + columns * (layer + inner * row)
                    sent = partial - (kept[tile] if layer + inner * row < parts else 0)
                    if sent > 0 and inner > 1:
                        words = words_of(sent, element_bytes)
                        complete = max(complete, words + depart[tile])
                    if rows > 1:
                        deep = min(shape[2], block * (layer + 1)) - block * layer
                        words = words_of(deep * wide, element_bytes)
                        panel = max(panel, words + (arrive[tile] if row else depart[tile]))
        out[index, EXCHANGE_COMPLETE] = complete + SYNC_CYCLES if inner > 1 else 0
        streaming = (inner - 1) * SYNC_CYCLES + first + (inner - 2) * other
        out[index, EXCHANGE_STREAMED] = streaming if inner > 1 else 0
        out[index, SUM_COMPLETE] = sums if inner > 1 else 0
        out[index, SUM_STREAMED] = rounds if inner > 1 else 0
        out[index, COPY] = copies if inner > 1 else 0
        out[index, ROOT_BYTES] = most if inner > 1 else 0
        out[index, LARGEST_ROOT] = largest if inner > 1 else 0
        out[index, OPERAND_EXCHANGE] = panel + SYNC_CYCLES if rows > 1 else 0
