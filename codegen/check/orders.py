"""Which element lies at a byte: the inverse of the orders of cost-model.md 1.6."""

from __future__ import annotations

import numpy as np

from ipuopt.codegen.check.reading import KINDS, Reading
from ipuopt.layout import IntArray, OrderKind

_TURNED = {
    OrderKind.TRANSPOSED_LEFT: OrderKind.LEFT,
    OrderKind.TRANSPOSED_OUTPUT: OrderKind.OUTPUT,
    OrderKind.TRANSPOSED_BLOCK_MAJOR: OrderKind.BLOCK_MAJOR,
}


def element_at(reading: Reading, shard: IntArray, offset: IntArray) -> tuple[IntArray, IntArray]:
    """Row and column in the value of the elements at byte ``offset`` of ``shard``.

    Offsets past the first matrix of a shard (further partial sums) count from their own matrix.
    """
    table = reading.program.shards
    size = reading.element_bytes[shard]
    index = offset % np.maximum(1, reading.matrix_bytes[shard]) // size
    row, column = np.zeros_like(index), np.zeros_like(index)
    key = table.order[shard] * 8 + size
    for number in np.unique(key):
        at = np.flatnonzero(key == number)
        kind, micro = KINDS[int(number) // 8], 32 // (int(number) % 8)
        of = shard[at]
        extents = (reading.rows[of], reading.columns[of])
        if kind in _TURNED:
            c, r = _inverse(_TURNED[kind], index[at], extents[::-1], table.order_block[of], micro)
        else:
            r, c = _inverse(kind, index[at], extents, table.order_block[of], micro)
        row[at] = table.row_start[of] + r
        column[at] = table.column_start[of] + c
    return row, column


def _inverse(
    kind: OrderKind,
    index: IntArray,
    extents: tuple[IntArray, IntArray],
    block: IntArray,
    micro: int,
) -> tuple[IntArray, IntArray]:
    rows, columns = extents
    if kind is OrderKind.ROW_MAJOR:
        return index // columns, index % columns
    if kind is OrderKind.LEFT:
        line, within = np.divmod(index, micro)
        return line % rows, line // rows * micro + within
    if kind is OrderKind.OUTPUT:
        line, within = np.divmod(index, 16)
        slot, half = np.divmod(within, 2)
        pair = slot // 2 + 4 * (slot % 2)
        return line % rows, line // rows * 16 + 2 * pair + half
    line, inner = np.divmod(index, micro)
    panel, across = np.divmod(line, 16)
    if kind is OrderKind.TRANSPOSED_RIGHT:
        group, step = np.divmod(panel, columns // micro)
        return group * 16 + across, step * micro + inner
    deep = block // micro
    rest, step = np.divmod(panel, deep)
    outer, group = np.divmod(rest, columns // 16)
    return outer * block + step * micro + inner, group * 16 + across
