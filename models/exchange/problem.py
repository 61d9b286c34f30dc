"""One exchange phase: transfers to start, and when and how wide each of them is sent."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

MAX_WORDS = 4148
"""Longest transfer in words (ipu21.md 3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Transfers of one phase, in listed order; the order decides data dependencies.

    Attributes
    ----------
    name
        For people.
    tiles
        Logical tiles of the program.
    source, words
        Sending tile, words 1..4148; shape ``(transfers,)``.
    source_address
        Byte addresses read (multiples of 4), shape ``(transfers,)`` or ``(transfers, iterations)``:
        in a repeat, one an iteration, under the same timing. Kept with two axes.
    destination_start
        Bounds of each transfer's receivers in the next two columns, shape ``(transfers + 1,)``.
    destination_tile, destination_address
        Receiving tile and byte address, shape ``(receivers,)``.
    paired
        Transfers given as Paired64, shape ``(transfers,)``; none unless said.
    """

    name: str
    tiles: int
    source: IntArray
    source_address: IntArray
    words: IntArray
    destination_start: IntArray
    destination_tile: IntArray
    destination_address: IntArray
    paired: BoolArray = field(default_factory=lambda: np.zeros(0, np.bool_))

    def __post_init__(self) -> None:
        for column in fields(self)[2:-1]:
            value = np.ascontiguousarray(getattr(self, column.name), dtype=np.int64)
            object.__setattr__(self, column.name, value)
        count = len(self.source)
        given = np.asarray(self.paired, dtype=np.bool_)
        object.__setattr__(self, "paired", given if given.size else np.zeros(count, np.bool_))
        if self.source_address.ndim == 1:
            object.__setattr__(self, "source_address", self.source_address[:, None])
        lengths = map(len, (self.source_address, self.words, self.paired))
        if {*lengths, len(self.destination_start) - 1} != {count}:
            raise ValueError(f"{self.name}: columns of transfers differ in length")
        if len(self.destination_tile) != len(self.destination_address):
            raise ValueError(f"{self.name}: columns of receivers differ in length")
        receivers = np.diff(self.destination_start)
        if count and (receivers.min() < 1 or self.destination_start[0] != 0):
            raise ValueError(f"{self.name}: a transfer without receiver")
        if self.destination_start[-1] != len(self.destination_tile):
            raise ValueError(f"{self.name}: bounds do not end at the last receiver")
        if not count:
            return
        for what, tile in (("source", self.source), ("receiver", self.destination_tile)):
            if tile.min() < 0 or tile.max() >= self.tiles:
                raise ValueError(f"{self.name}: a {what} tile is not below {self.tiles}")
        if self.words.min() < 1 or self.words.max() > MAX_WORDS:
            raise ValueError(f"{self.name}: words must be 1..{MAX_WORDS}")
        if np.any(self.source_address % 4) or np.any(self.destination_address % 4):
            raise ValueError(f"{self.name}: addresses must be multiples of 4")
        if np.any(np.repeat(self.source, receivers) == self.destination_tile):
            raise ValueError(f"{self.name}: a tile sends to itself")

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, slots=True)
class Solution:
    """A schedule.

    Attributes
    ----------
    start
        Event of the first word leaving, by transfer, shape ``(transfers,)``.
    paired
        Transfers sent as Paired64, shape ``(transfers,)``; all others are Word32. None unless said.
    """

    start: IntArray
    paired: BoolArray = field(default_factory=lambda: np.zeros(0, np.bool_))

    def __post_init__(self) -> None:
        if not np.size(self.paired):
            object.__setattr__(self, "paired", np.zeros(np.size(self.start), np.bool_))
