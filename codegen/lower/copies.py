"""Local copies: pieces of equal length at equal distances become fewer calls (lowering.md 2.4)."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from ipuopt.codegen.lower.moves import Moves
from ipuopt.codegen.lower.pieces import NO_LIMIT, cut
from ipuopt.compiled import small_kernel
from ipuopt.layout import IntArray
from ipuopt.target.kernels import copy_cycles, paced_copy_cycles

STRIDED_BYTES = 512
"""Most bytes of one strided call (lowering.md 2.4)."""
GRAIN_BYTES = 8
"""Only pieces of a multiple of this are merged (lowering.md 2.4)."""


class Pricing(IntEnum):
    """Which formula of the cost model covers a copy."""

    CALL = 0  # 288 cycles a call and its bytes at the copy rate (cost-model.md 3.6)
    PACED = 1  # all calls of one view together at the paced rate (cost-model.md 3.3)
    FREE = 2  # the sum kernel's price counts reading the seed (cost-model.md 3.3)


@small_kernel
def _merge(
    move: IntArray,
    source: IntArray,
    destination: IntArray,
    size: IntArray,
    strided_bytes: int,
    grain: int,
    calls: IntArray,
) -> int:
    """Greedy runs of pieces with one length and constant positive strides, each one or more calls.

    ``calls`` has rows first piece, bytes of a row, rows, source stride, destination stride.
    """
    count, piece, pieces = 0, 0, len(move)
    while piece < pieces:
        length, stop = size[piece], piece + 1
        near = far = length
        if stop < pieces:
            near = source[stop] - source[piece]
            far = destination[stop] - destination[piece]
        while (
            length % grain == 0
            and near > 0
            and far > 0
            and stop < pieces
            and move[stop] == move[piece]
            and size[stop] == length
            and source[stop] - source[stop - 1] == near
            and destination[stop] - destination[stop - 1] == far
        ):
            stop += 1
        run = stop - piece
        # Strides equal to the length do not occur: such pieces are one span on both sides.
        step = run if run * length <= strided_bytes else 1
        run = step
        while piece < stop:
            calls[0, count] = piece
            calls[1, count] = length
            calls[2, count] = run
            calls[3, count] = near if run > 1 else length
            calls[4, count] = far if run > 1 else length
            count += 1
            piece += step
    return count


def copy_columns(
    shape: IntArray, moves: Moves, pricing: Pricing, where: str
) -> tuple[IntArray, ...]:
    """Copy calls of moves with one destination each, on the same tile as the source.

    Returns
    -------
    tuple of arrays
        Columns of :class:`ipuopt.program.CopyTable` from ``source`` to ``cycles``.
    """
    pieces = cut(shape, moves, NO_LIMIT, where)
    calls = np.zeros((5, len(pieces)), dtype=np.int64)
    count = _merge(
        pieces.move,
        pieces.source_offset,
        pieces.destination_offset,
        pieces.size_bytes,
        STRIDED_BYTES,
        GRAIN_BYTES,
        calls,
    )
    piece, size, rows, near, far = calls[:, :count]
    move = pieces.move[piece]
    if pricing is Pricing.CALL:
        cycles = copy_cycles(size * rows)
    else:
        cycles = np.zeros(count, dtype=np.int64)
    if pricing is Pricing.PACED:
        total = np.zeros(len(moves), dtype=np.int64)
        np.add.at(total, move, size * rows)
        first = np.flatnonzero(np.diff(move, prepend=-1))
        cycles[first] = paced_copy_cycles(total[move[first]])
    return (
        moves.source[move],
        pieces.source_offset[piece],
        moves.destination[move],
        moves.destination_base[move] + pieces.destination_offset[piece],
        size,
        rows,
        near,
        far,
        cycles,
    )
