"""Element orders: where element (r, c) of a shard lies in its bytes (cost-model.md 1.6).

All orders are made of micro-panels, 16 x u or u x 16 elements with u = 32 bytes. Values are matrices
here (leading axes folded into rows), so orders that lay out one matrix after another have one.
"""

from __future__ import annotations

import numpy as np

from ipuopt.layout import IntArray, LayoutError, Order, OrderKind

PANEL_COLUMNS = 16
"""Width of a micro-panel across the micro axis (cost-model.md 1.6)."""
MICRO_BYTES = 32
"""Bytes of a micro-panel along its micro axis: 16 float16 or 8 float32 (cost-model.md 1.6)."""

_TRANSPOSED = {
    OrderKind.TRANSPOSED_LEFT: OrderKind.LEFT,
    OrderKind.TRANSPOSED_OUTPUT: OrderKind.OUTPUT,
    OrderKind.TRANSPOSED_BLOCK_MAJOR: OrderKind.BLOCK_MAJOR,
}

_ALIKE = (
    {OrderKind.LEFT, OrderKind.TRANSPOSED_RIGHT, OrderKind.TRANSPOSED_BLOCK_MAJOR},
    {OrderKind.TRANSPOSED_LEFT, OrderKind.BLOCK_MAJOR},
)


def walk_alike(one: Order, other: Order, element_bytes: int) -> bool:
    """Whether two orders differ, but not inside a micro-panel of 16 x 16 (cost-model.md 1.6).

    Then up to 16 rows of a panel (columns in transposed orders) are contiguous bytes in both. The
    source says so of float16; panels of other types are not square.
    """
    square = micro_elements(element_bytes) == PANEL_COLUMNS
    return square and one != other and any({one.kind, other.kind} <= kinds for kinds in _ALIKE)


def micro_elements(element_bytes: int) -> int:
    """Elements of a micro-panel along its micro axis: 32 for 1 byte, 16 for 2, 8 for 4."""
    return MICRO_BYTES // element_bytes


def same_sequence(order: Order, rows: IntArray, columns: IntArray) -> np.typing.NDArray[np.bool_]:
    """Whether shards of these physical extents list their elements alike whatever their size.

    Micro-panels are as many bytes wide for any type, so more than one line of them changes its
    sequence with the size of an element (cost-model.md 1.6).
    """
    one: np.typing.NDArray[np.bool_]
    match order.kind:
        case OrderKind.ROW_MAJOR | OrderKind.OUTPUT | OrderKind.TRANSPOSED_OUTPUT:
            one = np.ones(rows.shape, dtype=np.bool_)
        case OrderKind.LEFT:
            one = rows == 1
        case OrderKind.TRANSPOSED_LEFT:
            one = columns == 1
        case _:
            one = np.zeros(rows.shape, dtype=np.bool_)
    return one


def grain(order: Order, element_bytes: int) -> tuple[int, int]:
    """Multiples that the physical rows and columns of a shard must be in ``order``."""
    micro = micro_elements(element_bytes)
    match order.kind:
        case OrderKind.ROW_MAJOR:
            return 1, 1
        case OrderKind.LEFT:
            return 1, micro
        case OrderKind.OUTPUT:
            return 1, PANEL_COLUMNS
        case OrderKind.TRANSPOSED_RIGHT:
            return PANEL_COLUMNS, micro
        case OrderKind.BLOCK_MAJOR:
            if order.block < 1 or order.block % micro:
                raise LayoutError(f"{order}: inner block must be a positive multiple of {micro}")
            return order.block, PANEL_COLUMNS
        case transposed:
            rows, columns = grain(Order(_TRANSPOSED[transposed], order.block), element_bytes)
            return columns, rows


def element_index(
    order: Order,
    rows_local: IntArray,
    columns_local: IntArray,
    physical_rows: IntArray | int,
    physical_columns: IntArray | int,
    element_bytes: int,
) -> IntArray:
    """Position of elements inside a shard, in elements from its start.

    Parameters
    ----------
    order
        Element order of the shard.
    rows_local, columns_local
        Offsets of the elements inside the shard; broadcast against each other.
    physical_rows, physical_columns
        Extents of the shard with padding; one for all elements, or one an element.
    element_bytes
        1, 2 or 4.

    Returns
    -------
    array
        int64; a bijection of the shard's elements onto ``0..rows*columns-1``.

    Raises
    ------
    LayoutError
        If the extents are no multiples of :func:`grain`.
    """
    row_grain, column_grain = grain(order, element_bytes)
    if np.any(np.remainder(physical_rows, row_grain)) or np.any(
        np.remainder(physical_columns, column_grain)
    ):
        raise LayoutError(
            f"{order}: a shard of {_extent(physical_rows)} x {_extent(physical_columns)} is no "
            f"multiple of {row_grain} x {column_grain} elements"
        )
    kind, r, c = order.kind, rows_local, columns_local
    if kind in _TRANSPOSED:
        kind, r, c = _TRANSPOSED[kind], c, r
        physical_rows, physical_columns = physical_columns, physical_rows
    micro = micro_elements(element_bytes)
    match kind:
        case OrderKind.ROW_MAJOR:
            return r * physical_columns + c
        case OrderKind.LEFT:
            return (c // micro * physical_rows + r) * micro + c % micro
        case OrderKind.OUTPUT:
            pair = c % PANEL_COLUMNS // 2
            within = 2 * (2 * (pair % 4) + pair // 4) + c % 2
            return (c // PANEL_COLUMNS * physical_rows + r) * PANEL_COLUMNS + within
        case OrderKind.TRANSPOSED_RIGHT:
            panel = r // PANEL_COLUMNS * (physical_columns // micro) + c // micro
            return (panel * PANEL_COLUMNS + r % PANEL_COLUMNS) * micro + c % micro
        case _:
            panels = order.block // micro
            panel = (
                r // order.block * (physical_columns // PANEL_COLUMNS) * panels
                + c // PANEL_COLUMNS * panels
                + r % order.block // micro
            )
            return (panel * PANEL_COLUMNS + c % PANEL_COLUMNS) * micro + r % micro


def _extent(value: IntArray | int) -> str:
    """One extent, or the range of many, for messages."""
    low, high = int(np.min(value)), int(np.max(value))
    return str(low) if low == high else f"{low}..{high}"
