"""Loads a package onto the tiles of a card (``device.md`` 3)."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import chain

import numpy as np

from ipuopt.codegen.package import Package, load_violations, violations
from ipuopt.codegen.package.check import LOAD_BATCH
from ipuopt.device.card import registers as r
from ipuopt.device.card.frames import BUFFER_BYTES, batches_of, fill
from ipuopt.device.card.pages import Pages, fence
from ipuopt.device.card.postmortem import explained
from ipuopt.device.card.secondary import UNIT_BYTES
from ipuopt.device.card.waits import Clock, Timeouts, Waits
from ipuopt.device.card.window import Window
from ipuopt.device.protocol import Device
from ipuopt.errors import InputError
from ipuopt.target.memory import SIZE

_ZONE = 32 << 20
"""Upper part of the autoloader's target (device.md 3.1)."""
_GO = 1 << 8
_DATA_PRESENT = 1 << 20
_LAST_TILE_SHIFT = 9
_LAST_WORD_MASK = 0x3F
_WORDS_BETWEEN_READS = 32


class Loader:
    """Loads packages onto an initialised card.

    Parameters
    ----------
    device
        Open, and initialised.
    secondary
        Content of :func:`~ipuopt.device.card.secondary.read_secondary`.
    clock, timeouts
        How long to wait for the card.
    """

    def __init__(
        self,
        device: Device,
        secondary: bytes,
        *,
        clock: Clock | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        self._device = device
        self._secondary = secondary
        self._waits = Waits(device, clock, timeouts)

    def load(self, package: Package) -> None:
        """Put a package onto the tiles, and let them go on to the start of a session.

        All images are checked before the card is touched. Whatever happens, the card's routing is
        restored and the buffer released.

        Raises
        ------
        InputError
            If the package is none that a loader takes.
        DeviceError
            With the batch and the register at which the card stopped, or what the driver refused.
        """
        for message in chain(violations(package), load_violations(package)):
            raise InputError(f"package: {message}")
        for offset, _ in package.config_writes:
            if offset >= r.SPACE_BYTES:
                found = f"found register {offset:#x} to write"
                raise InputError(f"package: {found}, expected one below {r.SPACE_BYTES:#x}")
        self._boot(len(package.tiles))
        self._device.write32(r.WINDOW, r.DRIVER_MAPPING)
        with ExitStack() as undo:
            buffer = Pages(BUFFER_BYTES)
            undo.callback(buffer.close)
            self._device.attach(0, buffer.address, BUFFER_BYTES)
            undo.callback(self._device.detach, 0)
            control = self._device.read32(r.CONTROL)
            undo.callback(self._restore, control)
            self._narrow(control)
            self._batches(package, buffer)
            self._start(package, buffer)
        for offset, value in package.config_writes:
            self._device.write32(offset, value)

    def _boot(self, tiles: int) -> None:
        """The secondary loader onto all tiles, the rest of their memory cleared (device.md 3.1)."""
        device = self._device
        device.write32(r.AUTOLOADER, 0)
        words = np.frombuffer(self._secondary, "<u4").tolist()
        for number, word in enumerate(words, 1):
            device.write32(r.AUTOLOADER_DATA, word)
            if number % _WORDS_BETWEEN_READS == 0:
                device.read32(r.AUTOLOADER)
        units = len(self._secondary) // UNIT_BYTES
        last_word = (len(words) - 1) & _LAST_WORD_MASK
        device.write32(r.AUTOLOADER_TARGET, _ZONE + (units << 10))
        device.write32(r.AUTOLOADER, _DATA_PRESENT | _GO | last_word)
        self._booted("the secondary loader")
        device.write32(r.AUTOLOADER_TARGET, _ZONE + (SIZE // UNIT_BYTES << 10) + units)
        device.write32(r.AUTOLOADER, (tiles - 1) << _LAST_TILE_SHIFT | _GO | last_word)
        self._booted("the start of all tiles")

    def _booted(self, step: str) -> None:
        where = f"load: autoloader, {step}: control"
        timeout_s = self._waits.timeouts.autoloader_s
        self._waits.until(r.AUTOLOADER, _GO, 0, timeout_s, where)

    def _narrow(self, control: int) -> None:
        """Only the first eight exchange blocks reach the host, without snooping (device.md 3.2)."""
        for offset in r.ROUTING:
            self._device.write32(offset, r.CLOSED_ROUTE)
        self._device.write32(r.CONTROL, control & ~(r.NO_SNOOP | r.LINK_CHECKSUM))
        self._device.read32(r.CONTROL)
        for offset in r.ROUTING[:8]:
            self._device.write32(offset, r.OPEN_ROUTE)

    def _restore(self, control: int) -> None:
        for number, offset in enumerate(r.ROUTING):
            self._device.write32(offset, r.OPEN_ROUTE if number < 8 else r.OTHER_ROUTE)
        self._device.write32(r.CONTROL, control)
        self._device.read32(r.CONTROL)

    def _batches(self, package: Package, buffer: Pages) -> None:
        batches = batches_of(package.tiles)
        for number, tiles in enumerate(batches):
            fill(buffer.content, tiles)
            fence()
            self._waits.mark(r.GS1)
            first, last = tiles[0].physical_tile, tiles[-1].physical_tile
            where = f"load: batch {number + 1} of {len(batches)} (tiles {first} to {last})"
            self._waits.used(r.GS1, where)

    def _start(self, package: Package, buffer: Pages) -> None:
        """The end of the frames, then the first superstep of the program (device.md 3.4)."""
        buffer.content[:] = 0xFF
        fence()
        self._waits.used(r.GS1, "load: end of the batches")
        self._waits.mark(r.GS1)
        self._waits.used(r.GS1, "load: start of the images")
        with explained(Window(self._device, self._waits), package):
            self._waits.mark(r.GS1, package.host.startup_mark or len(package.tiles) // LOAD_BATCH)
            self._waits.used(r.GS1, "load: final mark")
