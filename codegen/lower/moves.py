"""Logical moves: rectangles that travel from one shard to others (lowering.md 1, "transfer")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ipuopt.codegen.lower.boxes import Box, select
from ipuopt.layout import IntArray
from ipuopt.ranges import ranges


def bounds_of(count: IntArray) -> IntArray:
    """Bounds of consecutive groups of these sizes, shape ``(groups + 1,)``, from 0."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(count)])


@dataclass(frozen=True, slots=True)
class Moves:
    """One rectangle a move, in coordinates of the value; one or more destinations each.

    Attributes
    ----------
    source
        Shard read, shape ``(moves,)``.
    box
        The rectangle, not empty: row start, row stop, column start, column stop.
    destination_start
        Bounds of each move's destinations, shape ``(moves + 1,)``.
    destination, destination_base
        Shards written, and bytes from a shard's start to the matrix that the rectangle lies in.
        Shards of one move have the same order, extents and physical start.
    """

    source: IntArray
    box: Box
    destination_start: IntArray
    destination: IntArray
    destination_base: IntArray

    def __len__(self) -> int:
        return len(self.source)

    def take(self, index: IntArray) -> Moves:
        """Moves ``index``, in that order."""
        count = np.diff(self.destination_start)[index]
        receivers = ranges(self.destination_start[index], count)
        return Moves(
            self.source[index],
            select(self.box, index),
            bounds_of(count),
            self.destination[receivers],
            self.destination_base[receivers],
        )

    def in_order(self) -> Moves:
        """Sorted by source shard, then by the rectangle (lowering.md 4.1)."""
        row_start, row_stop, column_start, column_stop = self.box
        keys = (column_stop, column_start, row_stop, row_start, self.source)
        return self.take(np.lexsort(keys))


def single(
    source: IntArray, destination: IntArray, box: Box, base: IntArray | None = None
) -> Moves:
    """Moves with one destination each."""
    base = np.zeros_like(destination) if base is None else base
    bounds = np.arange(len(source) + 1, dtype=np.int64)
    return Moves(source, box, bounds, destination, base)


def concatenate(parts: Sequence[Moves]) -> Moves:
    """All moves of ``parts``, one part after another; at least one part."""
    row_start, row_stop, column_start, column_stop = (
        np.concatenate([part.box[bound] for part in parts]) for bound in range(4)
    )
    counts = [np.diff(part.destination_start) for part in parts]
    return Moves(
        np.concatenate([part.source for part in parts]),
        (row_start, row_stop, column_start, column_stop),
        bounds_of(np.concatenate(counts)),
        np.concatenate([part.destination for part in parts]),
        np.concatenate([part.destination_base for part in parts]),
    )
