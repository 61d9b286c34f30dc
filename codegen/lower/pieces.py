"""Pieces: views of a source and a destination cut at each other's span ends (lowering.md 4.1).

Spans are already joined where they touch, and a pair of shards meets in one rectangle at most, so
no two pieces of a phase continue each other on both sides but at the length limit: the merging
of consecutive pieces in lowering.md 4.1 has nothing left to do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.codegen.lower.cutting import cut_views
from ipuopt.codegen.lower.moves import Moves
from ipuopt.codegen.lower.shapes import most_spans
from ipuopt.layout import IntArray, LayoutError
from ipuopt.ranges import ranges
from ipuopt.target.constants import WORD_BYTES

NO_LIMIT = 1 << 62


@dataclass(frozen=True, slots=True)
class Pieces:
    """Contiguous bytes on both sides, shape ``(pieces,)`` each, sorted by move.

    Attributes
    ----------
    move
        Index of the move cut.
    source_offset, destination_offset
        Bytes from the start of the source shard and of the destination's matrix.
    size_bytes
        Length.
    """

    move: IntArray
    source_offset: IntArray
    destination_offset: IntArray
    size_bytes: IntArray

    def __len__(self) -> int:
        return len(self.move)


def cut(shape: IntArray, moves: Moves, limit_bytes: int, where: str) -> Pieces:
    """Pieces of all moves.

    Parameters
    ----------
    shape
        See :func:`ipuopt.codegen.lower.shapes.shapes`.
    limit_bytes
        Longest piece, :data:`NO_LIMIT` for none.
    where
        Named in errors.

    Raises
    ------
    LayoutError
        If a piece is not made of whole words, or the two sides differ in bytes.
    """
    box = np.stack(moves.box, axis=1)
    first = moves.destination[moves.destination_start[:-1]]
    most = max(most_spans(shape, moves.source, box), most_spans(shape, first, box))
    spans = np.zeros((4, most), dtype=np.int64)
    pieces = np.zeros((4, 0), dtype=np.int64)
    count = cut_views(shape, moves.source, first, box, limit_bytes, spans, pieces)
    if count < 0:
        raise LayoutError(f"{where}: move {-1 - count} has other bytes at its destination")
    pieces = np.zeros((4, count), dtype=np.int64)
    cut_views(shape, moves.source, first, box, limit_bytes, spans, pieces)
    odd = np.flatnonzero((pieces[1] | pieces[2] | pieces[3]) % WORD_BYTES)
    if len(odd):
        at = pieces[:, odd[0]]
        raise LayoutError(
            f"{where}: a piece of {at[3]} bytes from offset {at[1]} to offset {at[2]} is not made "
            f"of whole {WORD_BYTES}-byte words"
        )
    return Pieces(*pieces)


def receivers(moves: Moves, pieces: Pieces) -> tuple[IntArray, IntArray, IntArray]:
    """Receivers of each piece: how many, their shards, and byte offsets inside these."""
    count = np.diff(moves.destination_start)[pieces.move]
    entry = ranges(moves.destination_start[pieces.move], count)
    offset = moves.destination_base[entry]
    offset += np.repeat(pieces.destination_offset, count)
    return count, moves.destination[entry], offset
