"""Spans: the bytes of a rectangle inside one shard, in address order (lowering.md 4.1).

Every element order is walked panel by panel. Neighbouring runs are joined as they appear, so a
view that is contiguous is one span, and a view of a whole shard always is.
"""

from __future__ import annotations

from ipuopt.compiled import kernel
from ipuopt.layout import IntArray, OrderKind
from ipuopt.orders import MICRO_BYTES

KINDS = tuple(OrderKind)
"""Order kinds by their number in the shard table."""

_ROW_MAJOR = KINDS.index(OrderKind.ROW_MAJOR)
_LEFT = KINDS.index(OrderKind.LEFT)
_OUTPUT = KINDS.index(OrderKind.OUTPUT)
_TRANSPOSED_LEFT = KINDS.index(OrderKind.TRANSPOSED_LEFT)
_TRANSPOSED_OUTPUT = KINDS.index(OrderKind.TRANSPOSED_OUTPUT)
_TRANSPOSED_RIGHT = KINDS.index(OrderKind.TRANSPOSED_RIGHT)
_BLOCK_MAJOR = KINDS.index(OrderKind.BLOCK_MAJOR)
_TRANSPOSED_BLOCK_MAJOR = KINDS.index(OrderKind.TRANSPOSED_BLOCK_MAJOR)


@kernel
def _emit(offset: int, length: int, count: int, offsets: IntArray, lengths: IntArray) -> int:
    """Append a span, or lengthen the last one; beyond the arrays spans are only counted.

    ``lengths[0]`` and ``offsets[0]`` are scratch: they hold the last span, so that joining works
    while counting too. Spans start at entry 1.
    """
    if count > 0 and offsets[0] + lengths[0] == offset:
        lengths[0] += length
    else:
        count += 1
        offsets[0], lengths[0] = offset, length
    if count < len(offsets):
        offsets[count], lengths[count] = offsets[0], lengths[0]
    return count


@kernel
def _panels(
    micro: int, rows: int, view: tuple[int, int, int, int], offsets: IntArray, lengths: IntArray
) -> int:
    """Spans in AMP left order: panels of ``micro`` columns, row after row inside a panel."""
    row_start, row_stop, column_start, column_stop = view
    count = 0
    for panel in range(column_start // micro, (column_stop - 1) // micro + 1):
        low = max(column_start, panel * micro)
        width = min(column_stop, panel * micro + micro) - low
        base = panel * rows * micro
        if width == micro:
            length = (row_stop - row_start) * micro
            count = _emit(base + row_start * micro, length, count, offsets, lengths)
        else:
            for row in range(row_start, row_stop):
                at = base + row * micro + low % micro
                count = _emit(at, width, count, offsets, lengths)
    return count


@kernel
def _pairs(rows: int, view: tuple[int, int, int, int], offsets: IntArray, lengths: IntArray) -> int:
    """Spans in AMP output order: slot ``s`` of a row of 16 holds column pair ``s//2 + 4*(s%2)``."""
    row_start, row_stop, column_start, column_stop = view
    count = 0
    for panel in range(column_start // 16, (column_stop - 1) // 16 + 1):
        for row in range(row_start, row_stop):
            for slot in range(8):
                column = panel * 16 + 2 * (slot // 2 + 4 * (slot % 2))
                low, high = max(column, column_start), min(column + 2, column_stop)
                if low < high:
                    at = (panel * rows + row) * 16 + 2 * slot + low - column
                    count = _emit(at, high - low, count, offsets, lengths)
    return count


@kernel
def _blocks(
    micro: int,
    block: int,
    columns: int,
    view: tuple[int, int, int, int],
    offsets: IntArray,
    lengths: IntArray,
) -> int:
    """Spans in block-major order: inner blocks, 16-column groups, micro-panels, columns, rows."""
    row_start, row_stop, column_start, column_stop = view
    count = 0
    deep = block // micro
    for outer in range(row_start // block, (row_stop - 1) // block + 1):
        first = max(row_start, outer * block) // micro
        last = (min(row_stop, outer * block + block) - 1) // micro
        for group in range(column_start // 16, (column_stop - 1) // 16 + 1):
            for k in range(first, last + 1):
                panel = (outer * (columns // 16) + group) * deep + k % deep
                low = max(row_start, k * micro)
                length = min(row_stop, k * micro + micro) - low
                for column in range(
                    max(column_start, group * 16), min(column_stop, group * 16 + 16)
                ):
                    at = (panel * 16 + column % 16) * micro + low % micro
                    count = _emit(at, length, count, offsets, lengths)
    return count


@kernel
def _transposed_right(
    micro: int,
    columns: int,
    view: tuple[int, int, int, int],
    offsets: IntArray,
    lengths: IntArray,
) -> int:
    """Spans in AMP transposed right order: 16-row groups, micro-panels along columns, rows."""
    row_start, row_stop, column_start, column_stop = view
    count = 0
    for group in range(row_start // 16, (row_stop - 1) // 16 + 1):
        for k in range(column_start // micro, (column_stop - 1) // micro + 1):
            panel = group * (columns // micro) + k
            low = max(column_start, k * micro)
            length = min(column_stop, k * micro + micro) - low
            for row in range(max(row_start, group * 16), min(row_stop, group * 16 + 16)):
                at = (panel * 16 + row % 16) * micro + low % micro
                count = _emit(at, length, count, offsets, lengths)
    return count


@kernel
def view_spans(
    order: tuple[int, int, int],
    extent: tuple[int, int],
    view: tuple[int, int, int, int],
    offsets: IntArray,
    lengths: IntArray,
) -> int:
    """Spans of a view in address order.

    Parameters
    ----------
    order
        Number of the order's kind in :data:`KINDS`, inner block, bytes of an element.
    extent
        Physical rows and columns of the shard.
    view
        Row start and stop, column start and stop inside the shard; not empty.
    offsets, lengths
        Filled from entry 1 with bytes; entry 0 is scratch, so at least one entry. Spans beyond
        the arrays are only counted.

    Returns
    -------
    int
        Number of spans.
    """
    kind, block, size = order
    rows, columns = extent
    row_start, row_stop, column_start, column_stop = view
    if row_stop - row_start == rows and column_stop - column_start == columns:
        return _emit(0, rows * columns * size, 0, offsets, lengths)
    if kind in (_TRANSPOSED_LEFT, _TRANSPOSED_OUTPUT, _TRANSPOSED_BLOCK_MAJOR):
        rows, columns = columns, rows
        view = (column_start, column_stop, row_start, row_stop)
    micro = MICRO_BYTES // size
    count = 0
    if kind == _ROW_MAJOR:
        for row in range(view[0], view[1]):
            at = row * columns + view[2]
            count = _emit(at, view[3] - view[2], count, offsets, lengths)
    elif kind in (_LEFT, _TRANSPOSED_LEFT):
        count = _panels(micro, rows, view, offsets, lengths)
    elif kind in (_OUTPUT, _TRANSPOSED_OUTPUT):
        count = _pairs(rows, view, offsets, lengths)
    elif kind == _TRANSPOSED_RIGHT:
        count = _transposed_right(micro, columns, view, offsets, lengths)
    elif kind in (_BLOCK_MAJOR, _TRANSPOSED_BLOCK_MAJOR):
        count = _blocks(micro, block, columns, view, offsets, lengths)
    for span in range(1, min(count + 1, len(offsets))):
        offsets[span] *= size
        lengths[span] *= size
    return count
