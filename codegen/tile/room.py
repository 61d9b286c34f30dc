"""Where code, rows and host tables of a tile lie (``package.md`` 2).

::

    0x4c010       0x50000   0x58000  0x586e0     0x5c000                                0x64000
    | stub, code  | host    | state  | free      | code | program | samples | rows, free| data

All of it is executable. Below 0x64000 no memory element is shared with data; above, executable elements
in which a tile has no data at any time are used too, when the rest is full. Placement empties some where
those are too few (:mod:`ipuopt.codegen.tile.support`). So a row never lies in an
element that its phase reads or writes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ipuopt.codegen.isa import WordArray
from ipuopt.codegen.package import Segment
from ipuopt.codegen.package.check import LOAD_START
from ipuopt.codegen.runtime import COMPLETION
from ipuopt.errors import InputError
from ipuopt.layout import IntArray, round_up
from ipuopt.program import ShardTable
from ipuopt.target.constants import TILES, WORD_BYTES
from ipuopt.target.memory import (
    EXECUTABLE_END,
    HOST_WINDOW,
    LOOKAHEAD,
    RUNTIME_END,
    STANDARD_ELEMENT,
    SUPPORT_END,
    element_range,
)

HIGH = 0x5C000
"""Where linked code goes on behind the host window, and every tile program follows (package.md 2)."""
ALIGNMENT = 8
"""Of rows, and of all else here (package.md 3.3)."""
CODE_FLAGS, STATE_FLAGS = 5, 3
"""Read and execute; read and write (package.md 1.2)."""


Range = tuple[int, int]


def free_ranges(shards: ShardTable, address: IntArray) -> list[tuple[Range, ...]]:
    """Executable ranges from ``HIGH`` on in whose elements a tile has no data, by logical tile.

    Bytes that are fetched behind an instruction are left at the end of each.
    """
    starts = np.arange(SUPPORT_END, EXECUTABLE_END, STANDARD_ELEMENT)
    used = np.zeros((TILES, len(starts)), np.bool_)
    low = np.flatnonzero((address < EXECUTABLE_END) & (shards.size_bytes > 0))
    first, last = element_range(address[low], shards.size_bytes[low])
    for number, element in enumerate((starts // STANDARD_ELEMENT).tolist()):
        touching = low[(first <= element) & (element <= last)]
        used[shards.tile[touching], number] = True
    kinds, which = np.unique(used, axis=0, return_inverse=True)
    ranges = [_free(kind, starts) for kind in kinds.tolist()]
    return [ranges[kind] for kind in which.reshape(-1).tolist()]


def _free(used: Sequence[bool], starts: IntArray) -> tuple[Range, ...]:
    """Runs of elements that are not used, the first of them after what lies below."""
    runs = [[HIGH, SUPPORT_END]]
    for start, taken in zip(starts.tolist(), used, strict=True):
        if taken:
            continue
        if runs[-1][1] == start:
            runs[-1][1] += STANDARD_ELEMENT
        else:
            runs.append([start, start + STANDARD_ELEMENT])
    return tuple((start, stop - LOOKAHEAD) for start, stop in runs)


class RoomError(InputError):
    """Code, rows or tables of a tile find no room."""


class Room:
    """Executable memory of one tile.

    Parameters
    ----------
    tile
        Physical number, for messages.
    code
        Shared code: bytes from the stub on, and from ``HIGH`` on.
    program
        Where all tile programs start: behind one of these two.
    size_bytes
        Of the longest program and the cycle samples behind it.
    free
        Ranges from ``HIGH`` on, ascending; the first goes on from what lies below.

    Raises
    ------
    RoomError
        If code and program do not fit.
    """

    def __init__(
        self,
        tile: int,
        code: tuple[bytes, bytes],
        program: int,
        size_bytes: int,
        free: Sequence[Range] = ((HIGH, SUPPORT_END - LOOKAHEAD),),
    ) -> None:
        self.tile, self._program = tile, program
        self._known: dict[bytes, int] = {}
        parts = [
            (LOAD_START, HOST_WINDOW[0], code[0]),
            (RUNTIME_END, HIGH, b""),
            (*free[0], code[1]),
        ]
        if program < HIGH and not code[1]:
            parts[1:] = [(RUNTIME_END, free[0][1], b"")]
        parts += [(start, stop, b"") for start, stop in free[1:]]
        self._parts = [(start, stop, bytearray(content)) for start, stop, content in parts]
        for start, stop, content in self._parts:
            if start <= program < stop:
                content.extend(bytes(program + size_bytes - start - len(content)))
            if start + len(content) > stop:
                found = f"{len(content)} bytes of code from {start:#x}"
                raise RoomError(f"tile {tile}: found {found}, expected at most {stop - start}")

    def place(self, words: WordArray, *, shared: bool = True) -> int:
        """Address of words that are put where there is room; equal ones are put once.

        Parameters
        ----------
        shared
            Whether they may be the same as equal ones: not where the program changes them.

        Raises
        ------
        RoomError
            If no part has room.
        """
        content = words.astype("<u4").tobytes()
        known = self._known.get(content)
        if shared and known is not None:
            return known
        for start, stop, part in self._parts:
            address = round_up(start + len(part), ALIGNMENT)
            if address + len(content) <= stop:
                part.extend(bytes(address - start - len(part)))
                part.extend(content)
                if shared:
                    self._known[content] = address
                return address
        used = sum(len(part) for _, _, part in self._parts)
        room = sum(stop - start for start, stop, _ in self._parts)
        largest = max(stop - start - len(part) for start, stop, part in self._parts)
        found = f"{len(content)} bytes of rows or host tables beside {used} of code"
        expected = f"{room} for all and at most {largest} in one piece"
        raise RoomError(f"tile {self.tile}: found {found}, expected {expected}")

    def segments(self, program: WordArray) -> tuple[Segment, ...]:
        """Segments by address, with the words of the tile program."""
        words = program.astype("<u4").tobytes()
        for start, _, part in self._parts:
            at = self._program - start
            if 0 <= at < len(part):
                part[at : at + len(words)] = words
        result = [
            Segment(address, len(content), content, CODE_FLAGS)
            for address, _, part in self._parts
            if (content := bytes(part))
        ]
        state = Segment(COMPLETION, RUNTIME_END - COMPLETION, bytes(WORD_BYTES), STATE_FLAGS)
        return tuple(sorted([*result, state], key=lambda segment: segment.address))


def words_of(*values: int) -> WordArray:
    """Words of a table."""
    return np.array(values, np.uint32)
