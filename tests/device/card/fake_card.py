"""A card without a card: registers in a dictionary, tiles in the simulator (``device.md`` 7).

It does what the sources say that the card does, and refuses what they say that it needs. Memory of the
host is read and written at the attached addresses, as the card would.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ipuopt.codegen.package import Package, Segment, TileImage, read_package
from ipuopt.device import code
from ipuopt.device.card.frames import image_of
from ipuopt.device.machine import Machine
from ipuopt.device.protocol import Control
from ipuopt.errors import DeviceError

CONTROL = 0x2000
AUTOLOADER, TARGET, DATA = 0x2068, 0x206C, 0x2070
GS1, GS2 = 0x302C, 0x3030
ROUTES = [0x5404 + 0x400 * i for i in range(8)] + [0x1B804 + 0x400 * i for i in range(8)]
WINDOW = 0x30000
START = 0x4C010
PAGE = 4096


@dataclass
class Faults:
    """What goes wrong, on request.

    Attributes
    ----------
    mark
        Number of the mark that is never used, counted over both syncs from 0.
    autoloader
        Whether it never ends.
    attach
        Index that cannot be attached.
    answer
        Word 0 of the controller's answer.
    syncs
        What the low bits of a sync read as when 0 was written.
    states
        Register 0 of the debug window of some physical tiles, once they run.
    contexts
        Program counter and status of some contexts, by physical tile and context.
    injection
        Bits that an injected instruction leaves in the status.
    """

    mark: int | None = None
    autoloader: bool = False
    attach: int | None = None
    answer: int = 0x40780000
    syncs: int = 0
    states: dict[int, int] = field(default_factory=dict)
    contexts: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    injection: int = 0


class Clock:
    """Time passes only while someone sleeps."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


class FakeCard:
    """A card whose tiles are simulated; see :class:`ipuopt.device.protocol.Device`.

    Parameters
    ----------
    package
        For the names of kernels that have no body: the simulator stands in for them.
    faults
        What goes wrong.
    polls
        Reads until a command or mark is done.
    """

    def __init__(self, package: Package, faults: Faults | None = None, polls: int = 2) -> None:
        self.package = package
        self.faults = faults or Faults()
        self.polls = polls
        self.registers: dict[int, int] = {CONTROL: 0x40403}
        self.trace: list[tuple[Any, ...]] = []
        self.attached: dict[int, tuple[int, int]] = {}
        self.images: dict[int, bytes] = {}
        self.state = "closed"
        self.machine: Machine | None = None
        self.marks = 0
        self._pending: dict[int, int] = {}
        self._data: list[int] = []
        self._stopped: set[tuple[int, int]] = set()
        self._workers: dict[tuple[int, int], Any] = {}

    def run(self) -> None:
        """As after a load of the package: tiles run up to their first wait for the host."""
        self.registers[0x3044] = 0x800
        self.images = {t.physical_tile: image_of(t).tobytes() for t in self.package.tiles}
        self._run()

    # The protocol.

    def open(self) -> None:
        assert self.state == "closed"
        self.state = "open"
        self.trace.append(("open",))

    def close(self) -> None:
        if self.state != "closed":
            self.trace.append(("close",))
        self.state = "closed"

    def read32(self, offset: int) -> int:
        assert self.state != "closed"
        self.trace.append(("read", offset))
        for register, left in list(self._pending.items()):  # the card goes on, whatever is read
            self._pending[register] = left - 1
            if left == 1:
                del self._pending[register]
                self._done(register)
        if offset >= WINDOW:
            return self._tile_register((offset - WINDOW) // 0x40, (offset - WINDOW) % 0x40 // 4)
        return self.registers.get(offset, 0)

    def write32(self, offset: int, value: int) -> None:
        assert self.state != "closed"
        assert offset % 4 == 0 and 0 <= value < 1 << 32
        self.trace.append(("write", offset, value))
        self.registers[offset] = value
        if offset == DATA:
            self._data.append(value)
        elif offset == AUTOLOADER and value >> 8 & 1:
            if not self.faults.autoloader:
                self._pending[offset] = self.polls
        elif offset in (GS1, GS2) and value:
            if self.marks != self.faults.mark:
                self._pending[offset] = 1 + self.polls  # the first read is that of the mark
            self.marks += 1
        elif offset in (GS1, GS2):
            self.registers[offset] = self.faults.syncs
        elif offset >= WINDOW and (offset - WINDOW) % 0x40 == 4 * 3:
            self._inject((offset - WINDOW) // 0x40, value)
        elif offset >= WINDOW and (offset - WINDOW) % 0x40 == 4 * 6:
            tile = (offset - WINDOW) // 0x40
            self._stopped -= {(tile, context) for context in range(7) if value >> context & 1}

    def attach(self, index: int, address: int, size: int) -> None:
        self.trace.append(("attach", index, size))
        assert address % PAGE == 0 and size
        assert self.registers[0x3044] == 0x800
        if index == self.faults.attach:
            raise DeviceError(f"fake: buffer attach {index}: found refused, expected it done")
        assert index not in self.attached
        self.attached[index] = address, size

    def detach(self, index: int) -> None:
        self.trace.append(("detach", index))
        self.attached.pop(index, None)

    def detach_all(self) -> None:
        self.trace.append(("detach all",))
        self.attached.clear()

    def control(self, name: Control) -> None:
        assert self.state != "closed"
        self.trace.append(("control", name.value))

    def mailbox(self, words: Sequence[int]) -> tuple[int, ...]:
        self.trace.append(("mailbox", *words))
        self.state = "reset"
        return (self.faults.answer, 0, 0, 0, 0)

    # What the card does.

    def _done(self, offset: int) -> None:
        value = self.registers[offset]
        if offset == AUTOLOADER:
            self._autoload(value)
            self.registers[offset] = value & ~0x100
            return
        self.registers[offset] = 0
        if offset == GS1 and self.state == "loading":
            self._receive(value)
        elif offset == GS1 and self.state == "loaded":
            assert value == self.package.host.startup_mark
            self._run()
        elif offset == GS2 and self.state == "running":
            self._grant()

    def _autoload(self, command: int) -> None:
        """The secondary loader to one tile, then everywhere."""
        assert self.state in ("reset", "booting")
        kilobytes = len(self._data) // 256
        zone = 32 << 20
        if self.state == "reset":
            assert command == 0x10013F
            assert self.registers[TARGET] == zone + (kilobytes << 10)
            self.state = "booting"
        else:
            assert command >> 9 == len(self.package.tiles) - 1 and command & 0x1FF == 0x13F
            assert self.registers[TARGET] == zone + (624 << 10) + kilobytes
            self.state = "loading"

    def _memory(self, index: int) -> npt.NDArray[np.uint8]:
        address, size = self.attached[index]
        return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))

    def _receive(self, mark: int) -> None:
        """A batch of frames, as the loader on each tile reads it."""
        assert mark == 1
        assert [self.registers[route] for route in ROUTES] == [2] * 8 + [0x7FFFFFA] * 8
        assert not self.registers[CONTROL] & 0x402
        buffer = self._memory(0)
        if buffer[0] == 0xFF and (buffer == 0xFF).all():
            assert len(self.images) == len(self.package.tiles)
            self.state = "loaded"
            return
        for offset, count in buffer[: 64 * 8].view("<u4").reshape(64, 2).tolist():
            assert 1 < count <= 643
            frames = buffer[offset : offset + 1024 * count].reshape(count, 1024)
            head = frames[:, :16].view("<u4")
            tile = int(head[0, 1])
            last = [0] * (count - 1) + [0x08000000]
            assert head[:, 0].tolist() == list(range(count))
            assert (head[:, 1] == tile).all() and head[:, 2].tolist() == last
            assert not head[:, 3].any() and (frames[:, 1008:] == 0xFF).all()
            assert tile not in self.images
            self.images[tile] = frames[:, 16:1008].tobytes()

    def _run(self) -> None:
        """All tiles at their entry, up to the first wait for the host."""
        tiles = tuple(TileImage(n, _segments(self.images[n]), 0, 0, 0) for n in sorted(self.images))
        package = self.package
        self.machine = Machine.load(
            Package(producer="", tiles=tiles, symbols=package.symbols, regions=package.regions)
        )
        self.images.clear()
        self.machine.run()
        self.state = "running"

    def _grant(self) -> None:
        """One sync: what the host has stored is seen, what the tiles send is stored."""
        assert self.machine is not None
        memory = [self._memory(index) for index in self.attached]
        self.machine.pages = np.concatenate(memory).view(np.uint32)
        self.machine.grant()
        self.machine.run()
        pages, start = self.machine.pages.view(np.uint8), 0
        for part in memory:
            part[:] = pages[start : start + len(part)]
            start += len(part)

    # The debug window.

    def _tile_register(self, tile: int, number: int) -> int:
        stored = self.registers.get(WINDOW + 0x40 * tile + 4 * number, 0)
        if number != 0:
            return stored
        if self.machine is None:
            return 0
        word = self.faults.states.get(tile, int(self.machine.state[tile] != code.ENDED))
        mask = self.registers.get(WINDOW + 0x40 * tile + 4, 0)
        for context in range(7):
            if mask >> context & 1:
                self._stopped.add((tile, context))
            if (tile, context) in self._stopped and word >> 2 * context & 3 == 1:
                word += 1 << 2 * context  # from running to stopped
        return word

    def _inject(self, tile: int, word: int) -> None:
        """An instruction for a stopped context: only those that read its state."""
        assert self.machine is not None
        at = WINDOW + 0x40 * tile
        self.registers[at + 4 * 8] = self.faults.injection
        context = self.registers[at + 4 * 4]
        assert self.registers[at + 4 * 9] == 6
        assert self._tile_register(tile, 0) >> 2 * context & 3 in (2, 3)
        m = self.machine.registers[tile]  # the machine's own: a mistake shows in the program
        memory = self.machine.memory[tile]
        place, status = self.faults.contexts.get((tile, context), (self.machine.place[tile], 0x50))
        if context:
            m = self._workers.setdefault((tile, context), np.zeros_like(m))
        specials = {0: int(place), 1: status}
        if word & 0xFF0FFFFF == 0x43008070:
            self.registers[at + 4 * 7] = int(m[word >> 20 & 15])
        elif word & 0xFFF0FFFF == 0x41000070:
            m[word >> 16 & 15] = self.registers[at + 4 * 7]
        elif word & 0xFFF0FF00 == 0x41000000:
            m[word >> 16 & 15] = specials[word & 0xFF]
        elif word == 0x01F01000:
            m[0] = memory[(m[1] - 0x4C000) // 4]
        else:
            raise AssertionError(f"injected {word:#x}")


def card_of(node: Path) -> FakeCard:
    """A card for the package that is found in place of its node."""
    return FakeCard(read_package(node))


def dead_card_of(node: Path) -> FakeCard:
    """The end of the process."""
    os._exit(9)


def lost_card_of(node: Path) -> FakeCard:
    """An error with details, of any kind."""
    raise DeviceError(
        f"{node.name}: found it lost, expected it here", ("tile 3: gone", "tile 5: too")
    )


class Witness(FakeCard):
    """A card of which tiles do not use the eighth batch; it leaves a trace in a file."""

    def __init__(self, node: Path) -> None:
        super().__init__(read_package(node), Faults(mark=7))
        self._file = node.with_name("trace")

    def open(self) -> None:
        super().open()
        self._file.write_text("open")

    def close(self) -> None:
        super().close()
        self._file.write_text(repr(self.trace[-20:]))


def _segments(image: bytes) -> tuple[Segment, ...]:
    """Parts of an image that are not zero; the first one is always there."""
    parts = [(at, image[at : at + PAGE]) for at in range(0, len(image), PAGE)]
    kept = [part for part in parts if part[0] == 0 or part[1].strip(b"\0")]
    return tuple(Segment(START + at, len(data), data, 7) for at, data in kept)
