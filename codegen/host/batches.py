"""Pieces, batches and slots of the host's pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ipuopt.codegen.package import Binding, HostCall, HostExchange, Slices
from ipuopt.layout import IntArray

PIECE_BYTES = 4096
"""Most bytes of a tile in one batch, and the size of its slot (package.md 3.4)."""
STARTUP_MARK = 23
"""Mark of the host at the start (package.md 3.4)."""
_DATA_PAGE = 1


@dataclass(frozen=True, slots=True)
class Batches:
    """Pieces, shape ``(pieces,)`` each, sorted by batch and tile; a tile has one piece a batch.

    Attributes
    ----------
    ends
        First piece behind each batch, shape ``(batches,)``.
    tile, address, size
        Physical tile and where the bytes lie there.
    file_offset
        In the file of the call: the row of all bindings.
    """

    ends: IntArray
    tile: IntArray
    address: IntArray
    size: IntArray
    file_offset: IntArray

    def __len__(self) -> int:
        return len(self.ends)

    def batch(self, number: int) -> slice:
        """Pieces of one batch."""
        return slice(int(self.ends[number - 1]) if number else 0, int(self.ends[number]))


def batches_of(bindings: Sequence[Binding]) -> Batches:
    """Cut tensors into batches, in the order of their slices."""
    columns: list[list[IntArray]] = [[], [], [], []]
    base = 0
    for binding in bindings:
        slices = binding.slices
        parts = (slices.tile, slices.address, slices.file_offset + np.uint64(base), slices.size)
        for column, part in zip(columns, parts, strict=True):
            column.append(part.astype(np.int64))
        base += slices.file_bytes
    empty = [np.zeros(0, np.int64)]
    tile, address, file_offset, size = (np.concatenate(empty + column) for column in columns)
    count = -(-size // PIECE_BYTES)
    of = np.repeat(np.arange(len(size)), count)
    within = PIECE_BYTES * (np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count))
    tile = tile[of]
    order = np.argsort(tile, kind="stable")
    batch = np.zeros(len(of), np.int64)
    batch[order] = np.arange(len(of)) - np.searchsorted(tile[order], tile[order])
    order = np.lexsort((tile, batch))
    of, within = of[order], within[order]
    return Batches(
        np.cumsum(np.bincount(batch)).astype(np.int64),
        tile[order],
        address[of] + within,
        np.minimum(size[of] - within, PIECE_BYTES),
        file_offset[of] + within,
    )


def slots_of(*batches: Batches) -> IntArray:
    """Physical tiles that own a slot, by the slot's number."""
    result: IntArray = np.unique(np.concatenate([part.tile for part in batches]))
    return result


def _slices(batches: Batches, slots: IntArray) -> Slices:
    columns = (
        np.full(len(batches.tile), _DATA_PAGE),
        PIECE_BYTES * np.searchsorted(slots, batches.tile),
        batches.file_offset,
        batches.size,
    )
    return Slices(*(column.astype(np.uint64) for column in columns))


def host_exchange(weights: Batches, inputs: Batches, outputs: Batches) -> HostExchange:
    """Pages and calls: ``initialize`` where there are weights, and ``run``."""
    slots = slots_of(weights, inputs, outputs)
    none = batches_of(())
    calls = [_call("run", inputs, outputs, slots, max(0, 2 * (len(inputs) + len(outputs)) - 1))]
    if len(weights):
        calls.insert(0, _call("initialize", weights, none, slots, 2 * len(weights)))
    return HostExchange(
        startup_mark=STARTUP_MARK,
        pages=((0, PIECE_BYTES), (_DATA_PAGE, PIECE_BYTES * len(slots))),
        attach_order=(0, _DATA_PAGE),
        calls=tuple(calls),
    )


def _call(name: str, inputs: Batches, outputs: Batches, slots: IntArray, phases: int) -> HostCall:
    given, taken = (_slices(part, slots) for part in (inputs, outputs))
    ends = [tuple(part.ends.tolist()) for part in (inputs, outputs)]
    return HostCall(name, 0, phases, given, taken, ends[0], ends[1])
