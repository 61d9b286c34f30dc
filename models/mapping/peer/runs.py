"""Runs of bytes and local copy calls of the intersections of a rearrangement.

Source and destination views become spans, in address order where the element orders are equal, else
in row-major order of the elements; the common sequence is cut at every span end and at the longest
transfer (lowering.md 4.1). Views that differ by whole grains of both element orders are cut alike, so
each such class is cut once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.layout import IntArray, Order, OrderKind
from ipuopt.models.mapping.peer.flow import Flow
from ipuopt.models.mapping.peer.parts import Parts
from ipuopt.models.mapping.peer.traffic import MAX_BYTES
from ipuopt.orders import element_index, grain
from ipuopt.target.constants import WORD_BYTES

STRIDED_CALL_BYTES = 512
"""Most bytes that one strided copy call moves (lowering.md 2.4)."""
COPY_GRAIN_BYTES = 8
"""Pieces of other lengths are not merged into one call (lowering.md 2.4)."""

_COLUMN_PITCH = (
    OrderKind.ROW_MAJOR,
    OrderKind.TRANSPOSED_RIGHT,
    OrderKind.BLOCK_MAJOR,
    OrderKind.TRANSPOSED_LEFT,
    OrderKind.TRANSPOSED_OUTPUT,
)
"""Orders whose index depends on the shard's columns; that of the others on its rows."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """How the intersections are cut, shape ``(intersections,)`` each.

    Attributes
    ----------
    runs
        Pieces of at most the longest transfer.
    calls
        Local copy calls after merging (lowering.md 2.4).
    aligned
        Whether all offsets and lengths are whole words.
    """

    runs: IntArray
    calls: IntArray
    aligned: np.ndarray[tuple[int], np.dtype[np.bool_]]


def cut_views(flow: Flow, source: Order, target: Order, element_bytes: int) -> Cuts:
    """Cut every intersection between parts in order ``source`` and parts in order ``target``."""
    pairs = flow.pairs
    height, width = pairs.row_end - pairs.row_start, pairs.column_end - pairs.column_start
    sides = [
        _side(order, parts, part, pairs.row_start, pairs.column_start, element_bytes)
        for order, parts, part in (
            (source, flow.source, pairs.source),
            (target, flow.target, pairs.target),
        )
    ]
    table = np.stack([height, width, *sides[0], *sides[1]], axis=1)
    classes, member = np.unique(table, axis=0, return_inverse=True)
    cuts = [_cut_class(row, source, target, element_bytes) for row in classes.tolist()]
    runs, calls, aligned = zip(*cuts, strict=True)
    member = member.ravel()
    return Cuts(
        np.array(runs, dtype=np.int64)[member],
        np.array(calls, dtype=np.int64)[member],
        np.array(aligned, dtype=np.bool_)[member],
    )


def _side(
    order: Order, parts: Parts, part: IntArray, row: IntArray, column: IntArray, size: int
) -> tuple[IntArray, ...]:
    """What the cuts of a view depend on: pitch of its shard, offset in the grain, offset in words."""
    row_grain, column_grain = grain(order, size)
    r, c = row - parts.row_start[part], column - parts.column_start[part]
    height, width = parts.height[part], parts.width[part]
    pitch = width if order.kind in _COLUMN_PITCH else height
    offset = element_index(order, r, c, height, width, size) * size % WORD_BYTES
    return pitch, r % row_grain, c % column_grain, offset


def _cut_class(row: list[int], source: Order, target: Order, size: int) -> tuple[int, int, bool]:
    """Runs, copy calls and alignment of one class of views."""
    height, width = row[:2]
    offsets = [
        _offsets(order, height, width, side, size)
        for order, side in ((source, row[2:6]), (target, row[6:10]))
    ]
    if source == target:
        ranking = np.argsort(offsets[0])
        offsets = [offset[ranking] for offset in offsets]
    jumps = (np.diff(offsets[0]) != size) | (np.diff(offsets[1]) != size)
    begin = np.append(0, np.flatnonzero(jumps) + 1)
    length = np.diff(np.append(begin, height * width)) * size
    pieces = [offset[begin] for offset in offsets]
    aligned = not any(np.any(column % WORD_BYTES) for column in (*pieces, length))
    calls = _copy_calls(pieces[0], pieces[1], length)
    return int((-(-length // MAX_BYTES)).sum()), calls, aligned


def _offsets(order: Order, height: int, width: int, side: list[int], size: int) -> IntArray:
    """Byte offset of every element of a view, row-major, counted from some whole word."""
    pitch, row, column, offset = side
    row_grain, column_grain = grain(order, size)
    by_columns = order.kind in _COLUMN_PITCH
    rows, columns = (row_grain, pitch) if by_columns else (pitch, column_grain)
    r, c = np.indices((height, width), dtype=np.int64)
    index = element_index(order, r + row, c + column, rows, columns, size).ravel()
    relative: IntArray = (index - index[0]) * size + offset
    return relative


def _copy_calls(source: IntArray, target: IntArray, length: IntArray) -> int:
    """Local copy calls for pieces in their order (lowering.md 2.4).

    Consecutive pieces of one length with constant positive strides on both sides share one strided
    call if they hold at most 512 bytes together; else every piece is a call. Pieces that would be
    contiguous on both sides are one piece already.
    """
    calls, first, count = 0, 0, len(length)
    steps = np.stack([np.diff(source), np.diff(target)], axis=1)
    merges = (
        (np.diff(length) == 0) & (length[:-1] % COPY_GRAIN_BYTES == 0) & (steps > 0).all(axis=1)
    )
    same = (np.diff(steps, axis=0) == 0).all(axis=1)
    while first < count:
        last = first
        if first < count - 1 and merges[first]:
            last += 1
            while last < count - 1 and merges[last] and same[last - 1]:
                last += 1
        pieces = last - first + 1
        calls += 1 if pieces * int(length[first]) <= STRIDED_CALL_BYTES else pieces
        first = last + 1
    return calls
