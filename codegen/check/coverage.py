"""(L2) What phases and copies fill is filled once, and completely as far as kernels read it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.codegen.check.orders import element_at
from ipuopt.codegen.check.reading import KINDS, BoolArray, Reading, Violations, first_of
from ipuopt.layout import IntArray, OrderKind
from ipuopt.program import Kernel, Role
from ipuopt.target.constants import WORD_BYTES


@dataclass(frozen=True, slots=True)
class Fills:
    """Byte ranges that are written, sorted by buffer and start.

    A buffer is a shard; buffers of remote partial sums are filled anew in every phase, so there a
    buffer is a shard in one phase. Rows of a strided copy are ranges of their own.
    """

    shard: IntArray
    round: IntArray
    start: IntArray
    stop: IntArray


def check_coverage(reading: Reading) -> Violations:
    """No byte twice; no byte missing."""
    fills = _fills(reading)
    count = len(fills.shard)
    same = np.zeros(count, dtype=np.bool_)
    same[1:] = (fills.shard[1:] == fills.shard[:-1]) & (fills.round[1:] == fills.round[:-1])
    overlap = same.copy()
    overlap[1:] &= fills.start[1:] < fills.stop[:-1]
    found = first_of(
        "L2",
        overlap,
        lambda i: f"byte {fills.start[i]} of {reading.name(fills.shard[i])} is written twice",
    )
    lead = np.flatnonzero(~same)
    filled = np.add.reduceat(fills.stop - fills.start, lead) if count else np.zeros(0, np.int64)
    shard = fills.shard[lead]
    expected = _expected_bytes(reading)
    whole = expected[shard]
    masks: dict[tuple[int, ...], BoolArray] = {}
    missing = [
        (number, word)
        for number in np.flatnonzero(filled < whole)
        if (word := _first_missing(reading, fills, lead, int(number), expected, masks)) >= 0
    ]
    found += tuple(
        ("L2", f"bytes at {word * WORD_BYTES} of {reading.name(shard[number])} are never written")
        for number, word in missing[:1]
    )
    return found


def _fills(reading: Reading) -> Fills:
    transfers, copies = reading.program.transfers, reading.program.copies
    row = np.repeat(np.arange(len(copies)), copies.count)
    within = np.arange(len(row)) - np.repeat(np.cumsum(copies.count) - copies.count, copies.count)
    copied = copies.destination_offset[row] + within * copies.destination_stride[row]
    shard = np.concatenate([transfers.destination, copies.destination[row]])
    step = np.concatenate([reading.receiver_step, copies.step[row]])
    start = np.concatenate([transfers.destination_offset, copied])
    size = [transfers.words[reading.receiver_transfer] * WORD_BYTES, copies.size_bytes[row]]
    stop = start + np.concatenate(size)
    turn = np.where(reading.program.shards.role[shard] == Role.REMOTE, step, 0)
    # One key for a quick sort: a tile has less than 2^20 bytes.
    order = np.argsort(((shard * (len(reading.program.steps) + 1) + turn) << 20) + start)
    return Fills(shard[order], turn[order], start[order], stop[order])


def _expected_bytes(reading: Reading) -> IntArray:
    """Bytes of a completely filled shard: one matrix, or one for each remote contributor."""
    runs = reading.program.runs
    copies = np.ones(len(reading.program.shards), dtype=np.int64)
    sums = runs.kernel == Kernel.SUM
    copies[runs.input1[sums]] = runs.inner[sums] - 1
    return reading.matrix_bytes * copies


def _first_missing(
    reading: Reading,
    fills: Fills,
    lead: IntArray,
    number: int,
    expected: IntArray,
    masks: dict[tuple[int, ...], BoolArray],
) -> int:
    """First word of a partly filled buffer that a kernel reads but nothing wrote; -1 for none.

    ``masks`` keeps what kernels read of shards that look alike.
    """
    first = int(lead[number])
    last = int(lead[number + 1]) if number + 1 < len(lead) else len(fills.shard)
    shards, shard = reading.program.shards, int(fills.shard[first])
    words = int(expected[shard]) // WORD_BYTES
    runs = reading.program.runs
    clears = np.flatnonzero((runs.kernel == Kernel.CLEAR) & (runs.output == shard))
    cleared = runs.output_offset[clears]
    ends = cleared + runs.rows[clears] * reading.element_bytes[shard]
    starts = np.concatenate([fills.start[first:last], cleared]) // WORD_BYTES
    stops = np.concatenate([fills.stop[first:last], ends]) // WORD_BYTES
    edges = np.bincount(starts, minlength=words + 1) - np.bincount(stops, minlength=words + 1)
    alike = (
        int(shards.order[shard]),
        int(shards.order_block[shard]),
        int(reading.element_bytes[shard]),
        int(reading.rows[shard]),
        int(reading.columns[shard]),
        int(shards.row_end[shard] - shards.row_start[shard]),
        int(shards.column_end[shard] - shards.column_start[shard]),
        words,
    )
    if alike not in masks:
        masks[alike] = _read_words(reading, shard, words)
    missing = np.flatnonzero(masks[alike] & (np.cumsum(edges[:words]) <= 0))
    return int(missing[0]) if len(missing) else -1


def _read_words(reading: Reading, shard: int, words: int) -> BoolArray:
    """Words that a kernel reads: logical elements, and padding along the panels of an operand.

    Rows of padding beside them (columns in orders with panels along rows) only make padding.
    """
    shards, size = reading.program.shards, int(reading.element_bytes[shard])
    offset = np.arange(0, words * WORD_BYTES, size, dtype=np.int64)
    row, column = element_at(reading, np.full(len(offset), shard), offset)
    row_ok, column_ok = row < shards.row_end[shard], column < shards.column_end[shard]
    match KINDS[int(shards.order[shard])]:
        case OrderKind.ROW_MAJOR:
            read = row_ok & column_ok
        case OrderKind.TRANSPOSED_LEFT | OrderKind.TRANSPOSED_OUTPUT | OrderKind.BLOCK_MAJOR:
            read = column_ok
        case _:
            read = row_ok
    per_word = WORD_BYTES // size
    needed: BoolArray = read[: len(read) // per_word * per_word].reshape(-1, per_word).any(axis=1)
    return needed
