"""Tables of a tile program: what every tile holds, runs, copies and exchanges, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from ipuopt.program_columns import none, same_length, settle

IntArray = npt.NDArray[np.int64]


class Role(IntEnum):
    """What a shard is for."""

    VALUE = 0
    STAGING = 1  # filled by a phase or a copy, read by kernels
    PARTIAL = 2  # partial sums of one inner part
    ACCUMULATOR = 3  # reduction: running sum of a root
    REMOTE = 4  # reduction: partial sums received by a root
    SUM = 5  # reduction: final sum of a root


class Kernel(IntEnum):
    """Kernels that runs refer to."""

    MATMUL = 0
    SUM = 1
    GELU = 2
    ADD = 3
    CAST = 4
    PACK = 5  # row-major to another order
    UNPACK = 6  # another order to row-major
    CLEAR = 7  # fill with zeros


@dataclass(frozen=True, slots=True)
class ShardTable:
    """Buffers of all tiles, shape ``(shards,)`` each.

    Attributes
    ----------
    tile
        Logical tile.
    value
        Index of the plan value; of a temporary, the value that its step makes.
    role
        :class:`Role`.
    order, order_block
        Position of the order's kind in ``OrderKind`` and its inner block.
    interleaved
        1 for the interleaved memory class, 0 for standard.
    row_start, row_end, row_stop, column_start, column_end, column_stop
        Logical range ``[start, end)`` and physical range ``[start, stop)`` in the value.
    size_bytes
        Bytes to allocate, access tail included; at least 1.
    alignment
        Bytes; a power of two, at least 4.
    live_start, live_stop
        Half-open range of program steps in which the content must be kept.
    row_advance, column_advance
        By how much the rectangle of a temporary moves from an iteration of a repeat to the next; 0
        unless given.
    """

    tile: IntArray
    value: IntArray
    role: IntArray
    order: IntArray
    order_block: IntArray
    interleaved: IntArray
    row_start: IntArray
    row_end: IntArray
    row_stop: IntArray
    column_start: IntArray
    column_end: IntArray
    column_stop: IntArray
    size_bytes: IntArray
    alignment: IntArray
    live_start: IntArray
    live_stop: IntArray
    row_advance: IntArray = field(default_factory=none)
    column_advance: IntArray = field(default_factory=none)

    def __post_init__(self) -> None:
        settle(self)
        same_length(self)

    def __len__(self) -> int:
        return len(self.tile)


@dataclass(frozen=True, slots=True)
class RunTable:
    """Kernel runs, shape ``(runs,)`` each, sorted by step.

    Attributes
    ----------
    step, tile, kernel
        Program step, logical tile, :class:`Kernel`.
    output, input0, input1
        Shards; -1 where the kernel has no such operand.
    output_offset, input0_offset, input1_offset
        Byte offsets inside those shards.
    rows, columns, inner
        MATMUL: shape of the block product in the physical orientation. SUM: ``rows`` elements
        summed over ``inner`` contributors (accumulator included). Others: ``rows`` elements.
    accumulate
        1 when a MATMUL adds to its output, 0 when it initialises it.
    cycles
        Of this run.
    output_advance, input0_advance, input1_advance
        Bytes by which an operand moves from an iteration of a repeat to the next; 0 unless given.
    """

    step: IntArray
    tile: IntArray
    kernel: IntArray
    output: IntArray
    input0: IntArray
    input1: IntArray
    output_offset: IntArray
    input0_offset: IntArray
    input1_offset: IntArray
    rows: IntArray
    columns: IntArray
    inner: IntArray
    accumulate: IntArray
    cycles: IntArray
    output_advance: IntArray = field(default_factory=none)
    input0_advance: IntArray = field(default_factory=none)
    input1_advance: IntArray = field(default_factory=none)

    def __post_init__(self) -> None:
        settle(self)
        same_length(self)

    def __len__(self) -> int:
        return len(self.step)


@dataclass(frozen=True, slots=True)
class CopyTable:
    """Local copies, shape ``(copies,)`` each, sorted by step; one entry is one copy call.

    Attributes
    ----------
    step, tile
        Program step, logical tile.
    source, source_offset, destination, destination_offset
        Shards and byte offsets inside them.
    size_bytes, count
        Bytes of one row of the copy, and number of rows.
    source_stride, destination_stride
        Bytes between the starts of rows; equal to ``size_bytes`` when contiguous.
    cycles
        Of this call.
    source_advance, destination_advance
        Bytes by which a side moves from an iteration of a repeat to the next; 0 unless given.
    """

    step: IntArray
    tile: IntArray
    source: IntArray
    source_offset: IntArray
    destination: IntArray
    destination_offset: IntArray
    size_bytes: IntArray
    count: IntArray
    source_stride: IntArray
    destination_stride: IntArray
    cycles: IntArray
    source_advance: IntArray = field(default_factory=none)
    destination_advance: IntArray = field(default_factory=none)

    def __post_init__(self) -> None:
        settle(self)
        same_length(self)

    def __len__(self) -> int:
        return len(self.step)


@dataclass(frozen=True, slots=True)
class TransferTable:
    """Physical transfers of all phases, sorted by step.

    Attributes
    ----------
    step
        Program step of the phase, shape ``(transfers,)``.
    source, source_offset
        Sending shard and byte offset inside it.
    words
        Words of 4 bytes, 1..4148.
    destination_start
        Bounds of each transfer's receivers in the next two columns, shape ``(transfers + 1,)``.
    destination, destination_offset
        Receiving shards and byte offsets, shape ``(receivers,)``.
    source_advance
        Bytes by which the source moves from an iteration of a repeat to the next, shape
        ``(transfers,)``; 0 unless given.
    """

    step: IntArray
    source: IntArray
    source_offset: IntArray
    words: IntArray
    destination_start: IntArray
    destination: IntArray
    destination_offset: IntArray
    source_advance: IntArray = field(default_factory=none)

    def __post_init__(self) -> None:
        settle(self)
        same_length(self, "step", "source", "source_offset", "words", "source_advance")
        same_length(self, "destination", "destination_offset")
        if len(self.destination_start) != len(self.step) + 1:
            raise ValueError("TransferTable: destination_start has not transfers + 1 entries")

    def __len__(self) -> int:
        return len(self.step)


def uses(
    shards: int, steps: int, runs: RunTable, copies: CopyTable, transfers: TransferTable
) -> tuple[IntArray, IntArray]:
    """First and last step that uses each shard, shape ``(shards,)``; ``steps`` and -1 for none."""
    first, last = np.full(shards, steps), np.full(shards, -1)
    received = np.repeat(transfers.step, np.diff(transfers.destination_start))
    for shard, step in (
        *((operand, runs.step) for operand in (runs.output, runs.input0, runs.input1)),
        *((side, copies.step) for side in (copies.source, copies.destination)),
        (transfers.source, transfers.step),
        (transfers.destination, received),
    ):
        used = shard >= 0
        np.minimum.at(first, shard[used], step[used])
        np.maximum.at(last, shard[used], step[used])
    return first, last
