"""A loaded program on a card, from its start to its end (``device.md`` 4)."""

from __future__ import annotations

import mmap
from contextlib import ExitStack

from ipuopt.codegen.package import HostCall, Package
from ipuopt.device.calls import Bytes, fetch_last, find_call, stream
from ipuopt.device.card import registers as r
from ipuopt.device.card.pages import Pages, fence
from ipuopt.device.card.postmortem import explained
from ipuopt.device.card.waits import Clock, Timeouts, Waits
from ipuopt.device.card.window import CONTEXTS, STATE, Window
from ipuopt.device.protocol import Device, Session
from ipuopt.errors import DeviceError, InputError
from ipuopt.layout import IntArray
from ipuopt.target.constants import WORD_BYTES

_SUPERVISOR = 3
_WORKERS = (1 << 2 * CONTEXTS) - 1 - _SUPERVISOR


class CardSession(Session):
    """The host's side of a program on a card; see :class:`~ipuopt.device.protocol.Session`.

    Parameters
    ----------
    device
        Open, with ``package`` loaded. Closing it is left to whoever opened it.
    package
        What was loaded.
    clock, timeouts
        How long to wait for the card.
    """

    def __init__(
        self,
        device: Device,
        package: Package,
        *,
        clock: Clock | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        self._device = device
        self._package = package
        self._waits = Waits(device, clock, timeouts)
        self._window = Window(device, self._waits)
        self._pages: dict[int, Bytes] = {}
        self._last: tuple[HostCall, bytearray] | None = None
        self._undo = ExitStack()

    def start(self) -> None:
        """Attach the pages of the package and let all tiles pass their first sync with the host.

        Raises
        ------
        DeviceError
            If a page cannot be attached, or tiles do not come; then nothing stays attached.
        """
        host, device = self._package.host, self._device
        device.write32(r.WINDOW, r.DRIVER_MAPPING)
        self._waits.mark(r.GS1)  # never waited for (device.md 4)
        self._used("session: before its start")
        device.detach_all()
        with ExitStack() as undo:
            arena, starts = _arena(host.pages)
            undo.callback(arena.close)
            undo.callback(self._pages.clear)
            for index, size in host.pages:
                self._pages[index] = arena.content[starts[index] :][:size]
            for index in host.attach_order:
                device.write32(r.WINDOW, r.DRIVER_MAPPING)
                device.attach(index, arena.address + starts[index], len(self._pages[index]))
                undo.callback(device.detach, index)
            self._waits.mark(r.GS2)
            self._used("session: start")
            self._undo = undo.pop_all()

    def call(self, name: str, content: bytes) -> bytes:
        """Perform a call in its streaming form, which is right for every package.

        Raises
        ------
        InputError
            For an unknown call, content of the wrong length, or a session that was not started.
        DeviceError
            With the phase at which tiles do not come, and where they stand.
        """
        call = find_call(self._package, name, content)
        self._check_started()
        host = self._package.host
        page, offset = self._pages[host.command_page], host.command_offset
        page[offset : offset + WORD_BYTES].view("<u4")[0] = call.command

        def grant(phase: int) -> None:
            fence()
            self._waits.mark(r.GS2)
            self._used(f"call {name}: phase {phase + 1} of {call.phases}")

        self._used(f"call {name}: before its first phase")
        taken = stream(call, content, self._pages, grant)
        self._last = call, taken
        return bytes(taken)

    def finish(self) -> bytes:
        """Give the last grant, wait until every tile has ended; output of the last call, complete.

        Raises
        ------
        InputError
            Without a call before it.
        DeviceError
            With a tile that does not end, and where it stands.
        """
        self._check_started()
        if self._last is None:
            raise InputError("session: found no call to finish, expected one")
        with explained(self._window, self._package):
            self._waits.mark(r.GS2)
            for image in self._package.tiles:
                self._ended(image.physical_tile)
        call, taken = self._last
        fetch_last(call, self._pages, taken)
        return bytes(taken)

    def _used(self, where: str) -> None:
        """Wait until the tiles have come to where the last grant leads them."""
        with explained(self._window, self._package):
            self._waits.used(r.GS2, where)

    def _ended(self, tile: int) -> None:
        where = f"finish: tile {tile}: state"
        offset = r.tile_register(tile, STATE)
        word = self._waits.until(offset, _SUPERVISOR, 0, self._waits.timeouts.mark_s, where)
        if word & _WORKERS:
            found = f"found workers that run, {word & _WORKERS:#x}"
            raise DeviceError(f"{where} ({offset:#x}): {found}, expected them ended")

    def states(self) -> IntArray:
        """State of the supervisor of each tile, in the order of the package."""
        tiles = [image.physical_tile for image in self._package.tiles]
        return self._window.states(tiles)[:, 0]

    def close(self) -> None:
        """Detach the pages, last one first, and give their memory back."""
        self._undo.close()

    def _check_started(self) -> None:
        if not self._pages:
            raise InputError("session: found it closed or not started, expected a started one")


def _arena(pages: tuple[tuple[int, int], ...]) -> tuple[Pages, dict[int, int]]:
    """Memory for all pages of a package, and the start of each, a multiple of the system's page."""
    starts, size = {}, 0
    for index, length in pages:
        starts[index] = size
        size += -(-length // mmap.PAGESIZE) * mmap.PAGESIZE
    return Pages(max(1, size)), starts
