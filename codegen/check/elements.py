"""(L6) Bytes that move are the same elements on both sides.

A piece is contiguous on both sides; its first and its last element are compared.
"""

from __future__ import annotations

import numpy as np

from ipuopt.codegen.check.orders import element_at
from ipuopt.codegen.check.reading import BoolArray, Reading, Violations, first_of
from ipuopt.layout import IntArray
from ipuopt.target.constants import WORD_BYTES


def check_elements(reading: Reading) -> Violations:
    """Transfers, then copies."""
    table, copies = reading.program.transfers, reading.program.copies
    # Receivers that lie like the first one of their transfer need no look of their own.
    transfer, lead = reading.receiver_transfer, table.destination_start[:-1]
    looks = _differs(reading, table.destination, table.destination[lead][transfer])
    looks |= table.destination_offset != table.destination_offset[lead][transfer]
    looks[lead] = True
    at = np.flatnonzero(looks)
    sent = transfer[at]
    found = _compare(
        reading,
        "transfer",
        (table.source[sent], table.source_offset[sent]),
        (table.destination[at], table.destination_offset[at]),
        table.words[sent] * WORD_BYTES,
    )
    row = np.repeat(np.arange(len(copies)), copies.count)
    number = np.arange(len(row)) - np.repeat(np.cumsum(copies.count) - copies.count, copies.count)
    return found + _compare(
        reading,
        "copy",
        (copies.source[row], copies.source_offset[row] + number * copies.source_stride[row]),
        (
            copies.destination[row],
            copies.destination_offset[row] + number * copies.destination_stride[row],
        ),
        copies.size_bytes[row],
    )


def _differs(reading: Reading, one: IntArray, other: IntArray) -> BoolArray:
    shards = reading.program.shards
    columns = (
        shards.order,
        shards.order_block,
        shards.row_start,
        shards.column_start,
        reading.rows,
        reading.columns,
        reading.element_bytes,
    )
    different = np.zeros(len(one), dtype=np.bool_)
    for column in columns:
        different |= column[one] != column[other]
    return different


def _compare(
    reading: Reading,
    what: str,
    source: tuple[IntArray, IntArray],
    destination: tuple[IntArray, IntArray],
    size: IntArray,
) -> Violations:
    tensors = np.array([_tensor(reading, v) for v in range(len(reading.plan.values))])
    value = reading.program.shards.value
    wrong = tensors[value[source[0]]] != tensors[value[destination[0]]]
    for ahead in (0 * size, size - reading.element_bytes[source[0]]):
        here = element_at(reading, source[0], source[1] + ahead)
        there = element_at(reading, destination[0], destination[1] + ahead)
        wrong |= (here[0] != there[0]) | (here[1] != there[1])
    return first_of(
        "L6",
        wrong,
        lambda i: (
            f"{what}: {size[i]} bytes from offset {source[1][i]} of "
            f"{reading.name(source[0][i])} are other elements at offset {destination[1][i]} of "
            f"{reading.name(destination[0][i])}"
        ),
    )


def _tensor(reading: Reading, value: int) -> int:
    """Number of the tensor that a value holds."""
    values = reading.plan.values
    return [other.tensor for other in values].index(values[value].tensor)
