"""Compiled loops over views: their spans in address order, and the pieces two views have in common.

Both stand in one file because numba notices changes of a cached function's own file only.
"""

from __future__ import annotations

from ipuopt.compiled import kernel, small_kernel
from ipuopt.layout import IntArray


@kernel
def view_spans(shape: IntArray, box: IntArray, offsets: IntArray, lengths: IntArray) -> int:
    """Spans of one view in address order, joined where they touch.

    Parameters
    ----------
    shape
        Row of :func:`ipuopt.codegen.lower.shapes.shapes` for the shard.
    box
        Row start, row stop, column start, column stop in the value; inside the shard, not empty.
    offsets, lengths
        Filled with bytes; must be large enough.

    Returns
    -------
    int
        Number of spans.
    """
    along_rows, block, group, micro, size, start_a, extent_a, start_b, extent_b, _ = shape
    turn = 0 if along_rows else 2
    a_start, a_stop = box[turn] - start_a, box[turn + 1] - start_a
    b_start, b_stop = box[2 - turn] - start_b, box[3 - turn] - start_b
    if a_stop - a_start == extent_a and b_stop - b_start == extent_b:
        offsets[0], lengths[0] = 0, extent_a * extent_b * size
        return 1
    count, end = 0, -1
    for outer in range(a_start // block, (a_stop - 1) // block + 1):
        first = max(a_start, outer * block)
        last = min(a_stop, outer * block + block)
        for middle in range(b_start // group, (b_stop - 1) // group + 1):
            for panel in range(first // micro, (last - 1) // micro + 1):
                low = max(first, panel * micro)
                length = (min(last, panel * micro + micro) - low) * size
                base = (outer * (extent_b // group) + middle) * block * group
                base += (panel - outer * (block // micro)) * micro * group + low - panel * micro
                for b in range(max(b_start, middle * group), min(b_stop, middle * group + group)):
                    offset = (base + (b - middle * group) * micro) * size
                    if offset == end:
                        lengths[count - 1] += length
                    else:
                        offsets[count], lengths[count] = offset, length
                        count += 1
                    end = offset + length
    return count


@small_kernel
def cut_views(
    shape: IntArray,
    source: IntArray,
    destination: IntArray,
    box: IntArray,
    limit: int,
    spans: IntArray,
    pieces: IntArray,
) -> int:
    """Cut views of a source and a destination at each other's span ends (lowering.md 4.1).

    Parameters
    ----------
    shape
        All shards, see :func:`ipuopt.codegen.lower.shapes.shapes`.
    source, destination
        Shard of each view, shape ``(moves,)``.
    box
        Row start, row stop, column start, column stop of each move, shape ``(moves, 4)``.
    limit
        Longest piece in bytes.
    spans
        Scratch, shape ``(4, most spans of a view)``.
    pieces
        Filled with move, source offset, destination offset, bytes, shape ``(4, pieces)``; pieces
        beyond the array are only counted.

    Returns
    -------
    int
        Number of pieces, or ``-1 - move`` if a move has different bytes on its two sides.
    """
    count = 0
    for move in range(len(source)):
        here = view_spans(shape[source[move]], box[move], spans[0], spans[1])
        there = view_spans(shape[destination[move]], box[move], spans[2], spans[3])
        i, j, left, right = 0, 0, 0, 0
        while i < here and j < there:
            length = min(spans[1, i] - left, spans[3, j] - right, limit)
            if count < pieces.shape[1]:
                pieces[0, count] = move
                pieces[1, count] = spans[0, i] + left
                pieces[2, count] = spans[2, j] + right
                pieces[3, count] = length
            count += 1
            left += length
            right += length
            if left == spans[1, i]:
                i, left = i + 1, 0
            if right == spans[3, j]:
                j, right = j + 1, 0
        if i < here or j < there:
            return -1 - move
    return count
