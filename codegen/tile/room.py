"""Where code, rows and host tables of a tile lie (``package.md`` 2).

::

    0x4c010       0x50000   0x58000  0x586e0     0x5c000                                0x64000
    | stub, code  | host    | state  | free      | code | program | samples | rows, free| data

All of it is executable and shares no memory element with data, so any row may lie in any free part.
"""

from __future__ import annotations

import numpy as np

from ipuopt.codegen.isa import WordArray
from ipuopt.codegen.package import Segment
from ipuopt.codegen.package.check import LOAD_START
from ipuopt.codegen.runtime import COMPLETION
from ipuopt.errors import InputError
from ipuopt.layout import round_up
from ipuopt.target.constants import WORD_BYTES
from ipuopt.target.memory import HOST_WINDOW, LOOKAHEAD, RUNTIME_END, SUPPORT_END

HIGH = 0x5C000
"""Where linked code goes on behind the host window, and every tile program follows (package.md 2)."""
CODE_END = SUPPORT_END - LOOKAHEAD
"""First address behind code, rows and host tables."""
ALIGNMENT = 8
"""Of rows, and of all else here (package.md 3.3)."""
CODE_FLAGS, STATE_FLAGS = 5, 3
"""Read and execute; read and write (package.md 1.2)."""


class Room:
    """Memory of one tile below the data.

    Parameters
    ----------
    tile
        Physical number, for messages.
    code
        Shared code: bytes from the stub on, and from ``HIGH`` on.
    longest
        Words of the longest program of all tiles.
    samples
        Words that cycle samples need on the tile that takes most.
    """

    def __init__(
        self, tile: int, code: tuple[bytes, bytes], longest: int, samples: int = 0
    ) -> None:
        self.tile = tile
        self.program = round_up(HIGH + len(code[1]), ALIGNMENT)
        self.samples = self.program + WORD_BYTES * longest
        self._known: dict[bytes, int] = {}
        shared = code[1].ljust(self.program - HIGH, b"\0")
        self._parts = [
            (LOAD_START, HOST_WINDOW[0], bytearray(code[0])),
            (RUNTIME_END, HIGH, bytearray()),
            (HIGH, CODE_END, bytearray(shared + bytes(WORD_BYTES * (longest + samples)))),
        ]
        for start, stop, content in self._parts:
            if start + len(content) > stop:
                found = f"{len(content)} bytes of code from {start:#x}"
                raise InputError(f"tile {tile}: found {found}, expected at most {stop - start}")

    def place(self, words: WordArray) -> int:
        """Address of words that are put where there is room; equal ones are put once.

        Raises
        ------
        InputError
            If no part has room.
        """
        content = words.astype("<u4").tobytes()
        known = self._known.get(content)
        if known is not None:
            return known
        for start, stop, part in self._parts:
            address = round_up(start + len(part), ALIGNMENT)
            if address + len(content) <= stop:
                part.extend(bytes(address - start - len(part)))
                part.extend(content)
                self._known[content] = address
                return address
        used = sum(len(part) for _, _, part in self._parts)
        room = sum(stop - start for start, stop, _ in self._parts)
        found = f"{len(content)} bytes of rows or host tables beside {used} of code"
        raise InputError(f"tile {self.tile}: found {found}, expected {room} for all")

    def segments(self, program: WordArray) -> tuple[Segment, ...]:
        """Segments by address, with the words of the tile program."""
        words = program.astype("<u4").tobytes()
        contents = [(address, bytes(part)) for address, _, part in self._parts]
        high, at = contents[-1][1], self.program - HIGH
        contents[-1] = (HIGH, high[:at] + words + high[at + len(words) :])
        result = [
            Segment(address, len(content), content, CODE_FLAGS)
            for address, content in contents
            if content
        ]
        state = Segment(COMPLETION, RUNTIME_END - COMPLETION, bytes(WORD_BYTES), STATE_FLAGS)
        return tuple(sorted([*result, state], key=lambda segment: segment.address))


def words_of(*values: int) -> WordArray:
    """Words of a table."""
    return np.array(values, np.uint32)
