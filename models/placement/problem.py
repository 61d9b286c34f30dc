"""Memory of one tile: buffers to place, and their addresses."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Regions:
    """Byte ranges of a tile that data may use.

    Attributes
    ----------
    low_start, low_stop
        Standard memory below the interleaved region.
    high_start, high_stop
        Interleaved region; interleaved buffers lie below a boundary in it, standard ones above.
    granule
        The boundary is ``high_start`` plus a multiple of this.
    """

    low_start: int
    low_stop: int
    high_start: int
    high_stop: int
    granule: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Buffers of one tile.

    Attributes
    ----------
    name
        For people: which tile or class of tiles.
    regions
        See :class:`Regions`.
    size_bytes, alignment
        Shape ``(buffers,)``; sizes at least 1, alignments powers of two.
    interleaved
        1 for the interleaved class, 0 for standard.
    live_start, live_stop
        Half-open range of steps.
    distinct
        Pairs of buffers that may not share a memory element, shape ``(pairs, 2)``.
    conflict, conflict_words
        Pairs of buffers of which a phase reads one and writes the other, shape ``(pairs, 2)``, and
        the words it moves: they should not share an element, but may.
    """

    name: str
    regions: Regions
    size_bytes: IntArray
    alignment: IntArray
    interleaved: IntArray
    live_start: IntArray
    live_stop: IntArray
    distinct: IntArray
    conflict: IntArray
    conflict_words: IntArray

    def __post_init__(self) -> None:
        for column in fields(self)[2:]:
            value = np.ascontiguousarray(getattr(self, column.name), dtype=np.int64)
            object.__setattr__(self, column.name, value)
        count = len(self.size_bytes)
        columns = (self.alignment, self.interleaved, self.live_start, self.live_stop)
        if any(len(column) != count for column in columns):
            raise ValueError(f"{self.name}: columns differ in length")
        for pairs in (self.distinct, self.conflict):
            if pairs.ndim != 2 or pairs.shape[1] != 2:
                raise ValueError(f"{self.name}: pairs must have shape (n, 2)")
            if pairs.size and not 0 <= pairs.min() <= pairs.max() < count:
                raise ValueError(f"{self.name}: a pair names a buffer that does not exist")
        if len(self.conflict) != len(self.conflict_words):
            raise ValueError(f"{self.name}: conflicts and their words differ in length")
        if count and (self.size_bytes.min() < 1 or np.any(self.live_start >= self.live_stop)):
            raise ValueError(f"{self.name}: a buffer without size or lifetime")
        if count and np.any(self.alignment & (self.alignment - 1)):
            raise ValueError(f"{self.name}: alignments must be powers of two")

    def __len__(self) -> int:
        return len(self.size_bytes)


@dataclass(frozen=True, slots=True)
class Solution:
    """Byte address of every buffer, and the boundary between the two classes."""

    address: IntArray
    boundary: int
