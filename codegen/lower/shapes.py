"""Element orders as loops, and shards as rows of numbers that compiled code can walk.

Every element order of cost-model.md 1.6 is one nest of five loops. With ``a`` the offset along the
axis whose neighbours lie side by side in a micro-panel and ``b`` the offset along the other one::

    a // block,  b // group,  a % block // micro,  b % group,  a % micro

AMP output permutes the 16 elements of a row of a micro-panel, so its views must hold whole ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from ipuopt.layout import IntArray, LayoutError, Order, OrderKind
from ipuopt.orders import PANEL_COLUMNS, micro_elements
from ipuopt.program import ShardTable

KINDS = tuple(OrderKind)
"""Order kinds by their number in the shard table."""

WHOLE: Final = 0
"""Stands for the physical extent of the shard in a traversal."""

# Columns of a shape.
_ALONG_ROWS, _BLOCK, _GROUP, _MICRO, _SIZE, _START_A, _EXTENT_A, _START_B, _EXTENT_B = range(9)
_PERMUTED = 9


@dataclass(frozen=True, slots=True)
class Traversal:
    """How an order walks through a shard; see the module for the loops.

    Attributes
    ----------
    along_rows
        Whether ``a`` counts rows; otherwise columns.
    block, group, micro
        Extents of the loops, or :data:`WHOLE`.
    permuted
        Whether the elements of the last loop are out of order.
    """

    along_rows: bool
    block: int
    group: int
    micro: int
    permuted: bool = False


def traversal(order: Order, element_bytes: int) -> Traversal:
    """Loops of an element order."""
    micro = micro_elements(element_bytes)
    match order.kind:
        case OrderKind.ROW_MAJOR:
            return Traversal(False, WHOLE, 1, WHOLE)
        case OrderKind.LEFT | OrderKind.TRANSPOSED_LEFT:
            return Traversal(order.kind is OrderKind.TRANSPOSED_LEFT, micro, WHOLE, micro)
        case OrderKind.OUTPUT | OrderKind.TRANSPOSED_OUTPUT:
            along_rows = order.kind is OrderKind.TRANSPOSED_OUTPUT
            return Traversal(along_rows, PANEL_COLUMNS, WHOLE, PANEL_COLUMNS, permuted=True)
        case OrderKind.TRANSPOSED_RIGHT:
            return Traversal(False, WHOLE, PANEL_COLUMNS, micro)
        case OrderKind.BLOCK_MAJOR | OrderKind.TRANSPOSED_BLOCK_MAJOR:
            along_rows = order.kind is OrderKind.BLOCK_MAJOR
            return Traversal(along_rows, order.block, PANEL_COLUMNS, micro)


def shapes(shards: ShardTable, element_bytes: IntArray) -> IntArray:
    """Traversal, element bytes, start and physical extent of both axes, permuted or not.

    Parameters
    ----------
    element_bytes
        Of each shard.

    Returns
    -------
    array
        Shape ``(shards, 10)``.
    """
    rows = np.stack((shards.row_start, shards.row_stop - shards.row_start))
    columns = np.stack((shards.column_start, shards.column_stop - shards.column_start))
    shape = np.zeros((len(shards), 10), dtype=np.int64)
    key = np.stack((shards.order, shards.order_block, element_bytes), axis=1)
    orders, which = np.unique(key, axis=0, return_inverse=True)
    for number, (kind, block, size) in enumerate(orders.tolist()):
        at = np.flatnonzero(which.reshape(-1) == number)
        walk = traversal(Order(KINDS[kind], block), size)
        a, b = (rows, columns) if walk.along_rows else (columns, rows)
        shape[at, _ALONG_ROWS] = walk.along_rows
        shape[at, _BLOCK] = walk.block or a[1][at]
        shape[at, _GROUP] = walk.group or b[1][at]
        shape[at, _MICRO] = walk.micro or a[1][at]
        shape[at, _SIZE], shape[at, _PERMUTED] = size, walk.permuted
        shape[at, _START_A], shape[at, _EXTENT_A] = a[:, at]
        shape[at, _START_B], shape[at, _EXTENT_B] = b[:, at]
    return shape


def most_spans(shape: IntArray, shard: IntArray, box: IntArray) -> int:
    """No view has more spans than this; ``box`` as in :func:`ipuopt.codegen.lower.cutting.view_spans`, one row a shard.

    Raises
    ------
    LayoutError
        If a view splits the permuted elements of a micro-panel.
    """
    if not len(shard):
        return 1
    of = shape[shard]
    along_rows = of[:, _ALONG_ROWS] == 1
    start, stop = (np.where(along_rows, box[:, i], box[:, i + 2]) for i in (0, 1))
    a = stop - start
    b = np.where(along_rows, box[:, 3] - box[:, 2], box[:, 1] - box[:, 0])
    split = ((start - of[:, _START_A]) % of[:, _MICRO] > 0) | (a % of[:, _MICRO] > 0)
    if np.any(split & (of[:, _PERMUTED] == 1)):
        raise LayoutError("a view splits a micro-panel of AMP output order")
    whole = (a == of[:, _EXTENT_A]) & (b == of[:, _EXTENT_B])
    return int(np.where(whole, 1, (a // of[:, _MICRO] + 2) * b).max())
