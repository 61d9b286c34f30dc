"""One exchange phase: transfers to start, and when and how wide each of them is sent."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np
import numpy.typing as npt

from ipuopt.models.exchange.columns import Column, by_iteration, integers, ragged, repeated
from ipuopt.target.constants import TILES

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

MAX_WORDS = 4148
"""Longest transfer in words (ipu21.md 3)."""

ADDRESS_STOP = 1 << 31
"""Byte addresses are below it."""

ADDRESS = f"a multiple of 4 from 0 to {ADDRESS_STOP - 4}"


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
        if not 1 <= self.tiles <= TILES:
            raise ValueError(f"{self.name}: tiles: found {self.tiles}, expected 1..{TILES}")
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
        if self.destination_start[0] != 0 or self.destination_start[-1] != len(
            self.destination_tile
        ):
            raise ValueError(f"{self.name}: bounds do not run from 0 to the number of receivers")
        if count and receivers.min() < 1:
            at = int(receivers.argmin())
            raise ValueError(f"{self.name}: transfer {at}: destinations: found none, expected some")
        if count:
            _refuse(self, np.repeat(np.arange(count), receivers))

    @classmethod
    def from_arrays(
        cls,
        *,
        name: str = "phase",
        tiles: int,
        source: Column,
        source_address: Column,
        words: Column,
        destination_tile: Column,
        destination_address: Column,
        destination_start: Column | None = None,
        paired: Column | None = None,
    ) -> Problem:
        """Phase from columns as lists or arrays, in listed order of the transfers.

        Parameters
        ----------
        name, tiles, source, words
            As the attributes.
        source_address
            A byte address a transfer, or a list of them: one an iteration of a repeat. A single
            address serves all iterations.
        destination_tile, destination_address
            A receiver a transfer, or a list of receivers a transfer; or all receivers in a row,
            with ``destination_start``.
        destination_start
            Bounds of each transfer's receivers in the two columns, shape ``(transfers + 1,)``.
        paired
            Transfers sent as Paired64 where widths are given; each must qualify
            (:func:`~ipuopt.models.exchange.widths.qualifying`). None unless said.

        Raises
        ------
        ValueError
            Naming the column or the transfer, what was found and what is expected.
        """
        tile, many = ragged("destination_tile", destination_tile)
        address, same = ragged("destination_address", destination_address)
        if not np.array_equal(many, same):
            raise ValueError(f"{name}: destination_tile and destination_address differ in shape")
        if destination_start is not None:
            bounds = integers("destination_start", destination_start)
        else:
            bounds = np.concatenate((np.zeros(1, np.int64), np.cumsum(many)))
        given = np.zeros(0, np.bool_) if paired is None else np.asarray(paired)
        if given.size and given.dtype != np.bool_:
            raise ValueError(f"{name}: paired: found {given.dtype}, expected true or false")
        return cls(
            name=name,
            tiles=tiles,
            source=integers("source", source),
            source_address=by_iteration(*ragged("source_address", source_address)),
            words=integers("words", words),
            destination_start=bounds,
            destination_tile=tile,
            destination_address=address,
            paired=given,
        )

    def __len__(self) -> int:
        return len(self.source)


def _refuse(problem: Problem, transfer: IntArray) -> None:
    """Raise ValueError for the first entry out of its range; ``transfer`` of each receiver."""
    last = problem.tiles - 1
    source, receiver = problem.source, problem.destination_tile
    read, written = problem.source_address, problem.destination_address
    index = np.arange(len(problem))
    rules = (
        ("source", source, _outside(source, 0, last), index, f"a tile 0..{last}"),
        ("words", problem.words, _outside(problem.words, 1, MAX_WORDS), index, f"1..{MAX_WORDS}"),
        ("source_addresses", read, np.any(_misplaced(read), axis=1), index, ADDRESS),
        ("destinations: tile", receiver, _outside(receiver, 0, last), transfer, f"0..{last}"),
        ("destinations: address", written, _misplaced(written), transfer, ADDRESS),
        ("destinations: tile", receiver, source[transfer] == receiver, transfer, "another tile"),
    )
    for field_name, column, bad, owner, expected in rules:
        if bad.any():
            at = int(bad.argmax())
            found = np.atleast_1d(column[at]).tolist()
            shown = str(found if len(found) > 1 else found[0])
            where = f"{problem.name}: transfer {owner[at]}: {field_name}"
            raise ValueError(f"{where}: found {shown}, expected {expected}")
    at = repeated(problem.destination_start, receiver, problem.tiles)
    if at >= 0:
        where = f"{problem.name}: transfer {transfer[at]}: destinations"
        raise ValueError(f"{where}: found tile {receiver[at]} twice, expected it once")


def _outside(column: IntArray, least: int, most: int) -> BoolArray:
    result: BoolArray = (column < least) | (column > most)
    return result


def _misplaced(address: IntArray) -> BoolArray:
    result: BoolArray = (address < 0) | (address >= ADDRESS_STOP) | (address % 4 != 0)
    return result


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
