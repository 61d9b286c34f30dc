"""Symbols of kernels, from what they are built for."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ipuopt.layout import Order, OrderKind

PREFIX = "ipu_stack_"
IN_RUNTIME = PREFIX + "static_copy_u32"
"""The one kernel that the runtime brings (package.md 4.2)."""
TYPES = {2: "f16", 4: "f32"}
"""Names of number types by element bytes."""
PACKED = (
    Order(OrderKind.LEFT),
    Order(OrderKind.TRANSPOSED_RIGHT),
    Order(OrderKind.BLOCK_MAJOR, 64),
)
UNPACKED = (Order(OrderKind.OUTPUT), Order(OrderKind.TRANSPOSED_LEFT))
"""Orders that the public compiler's kernels rearrange to and unpack, by T (package.md 4.2)."""


def row_pairs(rows: Iterable[int]) -> dict[int, tuple[int, int]]:
    """The two row counts of the object that serves each row count (package.md 4.2).

    The counts of one configuration, sorted and taken in pairs; a single one stands for both.
    """
    ordered = sorted(set(rows))
    pairs = (ordered[place : place + 2] for place in range(0, len(ordered), 2))
    return {count: (pair[0], pair[-1]) for pair in pairs for count in pair}


def gemm_name(
    element_bytes: int,
    accumulate: bool,
    interleaved: bool,
    inner: int,
    columns: int,
    rows: int,
    pair: tuple[int, int],
) -> str:
    """Symbol of a matrix kernel for ``rows``, of an object for both counts of ``pair``."""
    how = "accumulate" if accumulate else "init"
    size = "small" if rows == pair[0] else "large"
    region = "_interleaved" if interleaved else ""
    return (
        f"{PREFIX}gemm_{TYPES[element_bytes]}_{how}_{size}_rows{region}"
        f"_k{inner}_c{columns}_r{pair[0]}_r{pair[1]}"
    )


def transform_code(order: Order, element_bytes: int, *, pack: bool) -> int | None:
    """T of a rearrangement or unpacking of the public compiler; None if it has none."""
    orders = PACKED if pack else UNPACKED
    return orders.index(order) if element_bytes == min(TYPES) and order in orders else None


def transform_name(
    order: Order, element_bytes: int, extents: tuple[int, int, int, int], *, pack: bool
) -> str:
    """Symbol of a rearrangement from row-major, or of an unpacking to it.

    Parameters
    ----------
    order
        The other order.
    extents
        Logical rows, physical rows, logical columns, physical columns.
    """
    rows, physical_rows, columns, physical_columns = extents
    shape = f"r{rows}_p{physical_rows}_c{columns}_p{physical_columns}"
    number, code = TYPES[element_bytes], transform_code(order, element_bytes, pack=pack)
    if code is not None:
        form = f"o{code}_{shape}"
        if pack:
            return f"{PREFIX}rearrange_row_major_to_amp_{number}_{form}"
        return f"{PREFIX}unpack_amp_to_row_major_{number}_{form}"
    other = f"{order.kind.value}_{order.block}" if order.block else order.kind.value
    if pack:
        return f"{PREFIX}rearrange_row_major_to_{other}_{number}_{shape}"
    return f"{PREFIX}unpack_{other}_to_row_major_{number}_{shape}"


def order_of(match: re.Match[str], *, pack: bool) -> Order:
    """The other order of a rearrangement or unpacking, from kind, block, type and T in its symbol."""
    kind, block, _, code, *_ = match.groups()
    if code is not None:
        return (PACKED if pack else UNPACKED)[int(code)]
    return Order(OrderKind(kind), int(block or 0))
