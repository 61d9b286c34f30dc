"""Debug window of the tiles: states of their contexts, and instructions for stopped ones (``device.md`` 5).

Context 0 is the supervisor, 1 to 6 are the workers. To look into a running context stops it for a
moment: for a program that is lost already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from ipuopt.codegen.isa import encode
from ipuopt.device.card.registers import tile_register
from ipuopt.device.card.waits import Waits
from ipuopt.device.protocol import Device
from ipuopt.errors import DeviceError
from ipuopt.layout import IntArray
from ipuopt.target.constants import WORD_BYTES

CONTEXTS = 7
INACTIVE, RUNNING, STOPPED, EXCEPTION = range(4)
"""States of a context."""
STATE, DOWN_COUNT, EXCHANGE_CONTROL = 0, 10, 11
"""Registers of the window that are only read."""
PROGRAM_COUNTER, STATUS = 0, 1
"""Special registers of a context."""
_BREAK, _INSTRUCTION, _CONTEXT, _RESUME, _DATA, _RESULT, _CLEAR = 1, 3, 4, 6, 7, 8, 9
_DATA_SPECIAL = 0x70
_CLEAR_ERRORS = 6
_BUSY, _ERRORS = 1 << 3, 7
_REGISTERS = 16
_LOAD_M0_M1 = encode("ld32", 0, 15, 1, 0)[0]


def state_of(word: int, context: int) -> int:
    """State of a context in register :data:`STATE`."""
    return word >> 2 * context & 3


class Window:
    """The debug window of all tiles of a card; tiles have physical numbers."""

    def __init__(self, device: Device, waits: Waits) -> None:
        self._device = device
        self._waits = waits

    def read(self, tile: int, number: int) -> int:
        """Word of a register of the window."""
        return self._device.read32(tile_register(tile, number))

    def states(self, tiles: Sequence[int]) -> IntArray:
        """State of every context of each tile, shape ``(tiles, 7)``."""
        words = np.array([self.read(tile, STATE) for tile in tiles], np.int64)
        return words[:, None] >> 2 * np.arange(CONTEXTS) & 3

    @contextmanager
    def held(self, tile: int, context: int) -> Iterator[None]:
        """Keep a context stopped for the time of a ``with`` block.

        Raises
        ------
        DeviceError
            If it does not stop.
        """
        if state_of(self.read(tile, STATE), context) in (STOPPED, EXCEPTION):
            yield
            return
        mask = self.read(tile, _BREAK)
        self._write(tile, _BREAK, mask | 1 << context)
        try:
            stopped = STOPPED << 2 * context
            where = f"tile {tile}: state of context {context}"
            timeout_s = self._waits.timeouts.inject_s
            self._waits.until(tile_register(tile, STATE), stopped, stopped, timeout_s, where)
            yield
        finally:
            self._write(tile, _BREAK, mask)
            if not mask >> context & 1:
                self._write(tile, _RESUME, 1 << context)

    def registers(self, tile: int, context: int) -> tuple[int, ...]:
        """$m0 to $m15 of a held context."""
        return tuple(self._value(tile, context, number) for number in range(_REGISTERS))

    def special(self, tile: int, context: int, number: int) -> int:
        """A special register of a held context."""
        with self._kept(tile, context, 1):
            self._inject(tile, context, encode("get", 0, number)[0])
            return self._value(tile, context, 0)

    def words(self, tile: int, context: int, addresses: Sequence[int]) -> list[int]:
        """Words of the tile's memory, read by a held context."""
        found = []
        with self._kept(tile, context, 2):
            for address in addresses:
                if address % WORD_BYTES:
                    raise ValueError(f"address {address:#x}, expected a multiple of {WORD_BYTES}")
                self._set(tile, context, 1, address)
                self._inject(tile, context, _LOAD_M0_M1)
                found.append(self._value(tile, context, 0))
        return found

    @contextmanager
    def _kept(self, tile: int, context: int, count: int) -> Iterator[None]:
        """Give the first ``count`` registers of a context their values back in the end."""
        before = [self._value(tile, context, number) for number in range(count)]
        try:
            yield
        finally:
            for number, value in enumerate(before):
                self._set(tile, context, number, value)

    def _value(self, tile: int, context: int, number: int) -> int:
        self._inject(tile, context, encode("put", _DATA_SPECIAL, number)[0])
        return self.read(tile, _DATA)

    def _set(self, tile: int, context: int, number: int, value: int) -> None:
        self._write(tile, _DATA, value)
        self._inject(tile, context, encode("get", number, _DATA_SPECIAL)[0])

    def _inject(self, tile: int, context: int, instruction: int) -> None:
        """Let a stopped context carry out an instruction."""
        self._write(tile, _CLEAR, _CLEAR_ERRORS)
        self._write(tile, _CONTEXT, context)
        self._write(tile, _INSTRUCTION, instruction)
        where = f"tile {tile}: injection of {instruction:#x} into context {context}"
        timeout_s = self._waits.timeouts.inject_s
        result = self._waits.until(tile_register(tile, _RESULT), _BUSY, 0, timeout_s, where)
        if result & _ERRORS:
            raise DeviceError(
                f"{where}: found status {result:#x}, expected no error in bits 0 to 2"
            )

    def _write(self, tile: int, number: int, value: int) -> None:
        self._device.write32(tile_register(tile, number), value)
