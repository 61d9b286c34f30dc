"""Memory of one tile: buffers to place, and their addresses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

ANYWHERE = (0, 1 << 40)
"""Window of a buffer that has none of its own."""


def _unset() -> IntArray:
    return np.zeros(0, dtype=np.int64)


def _none() -> IntArray:
    return np.zeros((0, 2), dtype=np.int64)


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
        Shape ``(buffers,)``, as all columns; sizes at least 0, alignments powers of two.
    interleaved
        1 for the interleaved class, 0 for standard.
    live_start, live_stop
        Half-open range of steps. A buffer without bytes or steps is empty, see the formulation.
    distinct
        Pairs of buffers that may not share a memory element, shape ``(pairs, 2)``; a group is the
        pairs of its members.
    conflict, conflict_words
        Pairs of buffers of which a phase reads one and writes the other, shape ``(pairs, 2)``, and
        the words it moves: they should not share an element, but may.
    executable
        1 for a standard buffer of instructions, which are fetched below ``low_stop`` only.
    guard_bytes
        Reserved behind the buffer.
    window_start, window_stop
        Addresses that the buffer may use, half-open; :data:`ANYWHERE` without a window of its own.
        A buffer at a fixed address has a window of its size.
    alias
        Buffers with the same number of 0 or more have the same address; -1 for none.
    holes
        Half-open ranges of addresses that nobody may use, shape ``(holes, 2)``.

    Notes
    -----
    The columns from ``executable`` on may be left out.
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
    executable: IntArray = field(default_factory=_unset)
    guard_bytes: IntArray = field(default_factory=_unset)
    window_start: IntArray = field(default_factory=_unset)
    window_stop: IntArray = field(default_factory=_unset)
    alias: IntArray = field(default_factory=_unset)
    holes: IntArray = field(default_factory=_none)

    _OPTIONAL: ClassVar[dict[str, int]] = {
        "executable": 0,
        "guard_bytes": 0,
        "window_start": ANYWHERE[0],
        "window_stop": ANYWHERE[1],
        "alias": -1,
    }
    _COLUMNS = ("size_bytes", "alignment", "interleaved", "live_start", "live_stop", *_OPTIONAL)

    def __post_init__(self) -> None:
        count = len(self.size_bytes)
        for name, value in self._OPTIONAL.items():
            if not len(getattr(self, name)):
                object.__setattr__(self, name, np.full(count, value))
        for name in (*self._COLUMNS, "distinct", "conflict", "conflict_words", "holes"):
            given = np.ascontiguousarray(getattr(self, name), dtype=np.int64)
            object.__setattr__(self, name, given)
        if any(len(getattr(self, name)) != count for name in self._COLUMNS):
            raise ValueError(f"{self.name}: columns differ in length")
        if self.holes.ndim != 2 or self.holes.shape[1] != 2:
            raise ValueError(f"{self.name}: holes must have shape (n, 2)")
        self._check_pairs(count)
        self._check_values()

    def _check_pairs(self, count: int) -> None:
        for pairs in (self.distinct, self.conflict):
            if pairs.ndim != 2 or pairs.shape[1] != 2:
                raise ValueError(f"{self.name}: pairs must have shape (n, 2)")
            if pairs.size and not 0 <= pairs.min() <= pairs.max() < count:
                raise ValueError(f"{self.name}: a pair names a buffer that does not exist")
        if len(self.conflict) != len(self.conflict_words):
            raise ValueError(f"{self.name}: conflicts and their words differ in length")

    def _check_values(self) -> None:
        for name in ("size_bytes", "guard_bytes", "window_start", "holes"):
            if getattr(self, name).min(initial=0) < 0:
                raise ValueError(f"{self.name}: found {name} below 0")
        if np.any(self.alignment < 1) or np.any(self.alignment & (self.alignment - 1)):
            raise ValueError(f"{self.name}: alignments must be powers of two")
        if np.any(self.executable & self.interleaved):
            raise ValueError(f"{self.name}: found instructions in interleaved memory")
        members = self.alias >= 0
        kinds = np.unique(np.stack((self.alias, self.interleaved), axis=1)[members], axis=0)
        if len(kinds) > len(np.unique(self.alias[members])):
            raise ValueError(f"{self.name}: aliases must be of one class")

    def __len__(self) -> int:
        return len(self.size_bytes)

    @property
    def reserved_bytes(self) -> IntArray:
        """Bytes of every buffer and its guard."""
        return self.size_bytes + self.guard_bytes

    @property
    def is_plain(self) -> bool:
        """Whether no buffer is empty, executable or an alias, or has a window, and there are no holes.

        The constructions and the one model of a whole tile take plain problems; others are placed
        class by class (:mod:`ipuopt.models.placement.spaces`).
        """
        columns = {name: value for name, value in self._OPTIONAL.items() if name != "guard_bytes"}
        unset = all(np.all(getattr(self, name) == value) for name, value in columns.items())
        full = np.all((self.size_bytes > 0) & (self.live_start < self.live_stop))
        return bool(unset and full and not len(self.holes))


@dataclass(frozen=True, slots=True)
class Solution:
    """Byte address of every buffer, and the boundary between the two classes."""

    address: IntArray
    boundary: int
