"""Tile program tables: what every tile holds, runs, copies and exchanges, as arrays.

The lowering makes these tables, placement gives their shards addresses, the exchange scheduler gives
their transfers start events. There is no Python object a shard or transfer.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from ipuopt.target.constants import SYNC_CYCLES

IntArray = npt.NDArray[np.int64]


class Role(IntEnum):
    """What a shard is for."""

    VALUE = 0
    STAGING = 1  # filled by a phase or a copy, read by kernels
    PARTIAL = 2  # partial sums of one inner part
    ACCUMULATOR = 3  # reduction: running sum of a root
    REMOTE = 4  # reduction: partial sums received by a root
    SUM = 5  # reduction: final sum of a root


class StepKind(IntEnum):
    """A program step is one of these on every tile."""

    PHASE = 0
    COPY = 1
    RUN = 2


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


def _as_int(table: Any) -> None:
    """Turn every array column of a frozen table into contiguous int64."""
    for column in fields(table):
        value = getattr(table, column.name)
        object.__setattr__(table, column.name, np.ascontiguousarray(value, dtype=np.int64))


def _same_length(table: Any, names: tuple[str, ...]) -> None:
    lengths = {name: len(getattr(table, name)) for name in names}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{type(table).__name__}: columns differ in length: {lengths}")


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

    def __post_init__(self) -> None:
        _as_int(self)
        _same_length(self, tuple(column.name for column in fields(self)))

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

    def __post_init__(self) -> None:
        _as_int(self)
        _same_length(self, tuple(column.name for column in fields(self)))

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

    def __post_init__(self) -> None:
        _as_int(self)
        _same_length(self, tuple(column.name for column in fields(self)))

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
    """

    step: IntArray
    source: IntArray
    source_offset: IntArray
    words: IntArray
    destination_start: IntArray
    destination: IntArray
    destination_offset: IntArray

    def __post_init__(self) -> None:
        _as_int(self)
        _same_length(self, ("step", "source", "source_offset", "words"))
        _same_length(self, ("destination", "destination_offset"))
        if len(self.destination_start) != len(self.step) + 1:
            raise ValueError("TransferTable: destination_start has not transfers + 1 entries")

    def __len__(self) -> int:
        return len(self.step)


@dataclass(frozen=True, slots=True)
class ProgramStep:
    """One step of the program: kind, index of the plan step it belongs to, name for people."""

    kind: StepKind
    plan_step: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The lowered program.

    Attributes
    ----------
    tiles
        Logical tiles.
    steps
        In order of execution; every tile meets every step.
    shards, runs, copies, transfers
        See the tables.
    distinct
        Pairs of shards of one tile that may not share a memory element, shape ``(pairs, 2)``.
    """

    tiles: int
    steps: tuple[ProgramStep, ...]
    shards: ShardTable
    runs: RunTable
    copies: CopyTable
    transfers: TransferTable
    distinct: IntArray

    @property
    def phases(self) -> tuple[int, ...]:
        """Step indices of the exchange phases."""
        return tuple(i for i, step in enumerate(self.steps) if step.kind is StepKind.PHASE)

    def step_cycles(self) -> IntArray:
        """Most cycles that one tile spends in each step, shape ``(steps,)``; 0 for phases."""
        cycles = np.zeros((len(self.steps), self.tiles), dtype=np.int64)
        for table in (self.runs, self.copies):
            np.add.at(cycles, (table.step, table.tile), table.cycles)
        result: IntArray = cycles.max(axis=1, initial=0)
        return result

    def cycles_with(self, horizon: IntArray) -> IntArray:
        """Cycles of every step, phases with their synchronisation, shape ``(steps,)``.

        Parameters
        ----------
        horizon
            Events of every phase, in the order of :attr:`phases`.
        """
        cycles = self.step_cycles()
        cycles[list(self.phases)] = horizon + SYNC_CYCLES
        return cycles
