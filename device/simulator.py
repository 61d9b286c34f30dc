"""The host's side of the simulator (``device.md`` 4)."""

from __future__ import annotations

import numpy as np

from ipuopt.codegen.package import HostCall, Package
from ipuopt.device import code
from ipuopt.device.calls import Bytes, fetch_last, find_call, stream
from ipuopt.device.machine import Machine
from ipuopt.device.protocol import Session
from ipuopt.errors import CheckError, InputError
from ipuopt.layout import IntArray


class Simulator(Session):
    """A package that is loaded into simulated tiles; see :class:`~ipuopt.device.protocol.Session`.

    Parameters
    ----------
    package
        One that a loader takes.
    """

    def __init__(self, package: Package) -> None:
        self._package = package
        self._machine: Machine | None = Machine.load(package)
        self._last: tuple[HostCall, bytearray] | None = None

    @property
    def machine(self) -> Machine:
        """Tiles with their memory.

        Raises
        ------
        InputError
            After :meth:`close`.
        """
        if self._machine is None:
            raise InputError("simulator: found it closed, expected a loaded program")
        return self._machine

    def start(self) -> None:
        """Let all tiles pass the synchronisation at the start of the session."""
        self.machine.run()
        self._grant()

    def call(self, name: str, content: bytes) -> bytes:
        """Perform a call of the host in its streaming form.

        Raises
        ------
        InputError
            For an unknown call, or content of the wrong length.
        CheckError
            With what the program did wrong.
        """
        call = find_call(self._package, name, content)
        taken = stream(call, content, self._pages(), lambda _: self._grant())
        self._last = call, taken
        return bytes(taken)

    def finish(self) -> bytes:
        """Give the last grant; output of the last call, complete.

        Raises
        ------
        CheckError
            If a tile has not ended, or its completion word is not 1.
        """
        if self._last is None:
            raise InputError("simulator: found no call to finish, expected one")
        self._grant()
        left = np.flatnonzero(self.states())
        if len(left):
            found = f"tile {left[0]}: found it at {self.machine.place[left[0]]:#x}"
            raise CheckError("simulation", (("step", f"{found}, expected the end"),))
        call, taken = self._last
        fetch_last(call, self._pages(), taken)
        return bytes(taken)

    def states(self) -> IntArray:
        """0 for tiles that have ended, 1 for others."""
        result: IntArray = (self.machine.state != code.ENDED).astype(np.int64)
        return result

    def close(self) -> None:
        """Give the memory back."""
        self._machine = None

    def _grant(self) -> None:
        """Let all tiles pass the synchronisation at which they wait, up to the next one."""
        self.machine.grant()
        self.machine.run()

    def _pages(self) -> dict[int, Bytes]:
        """Bytes of the attached pages, which follow one another."""
        content, start = self.machine.pages.view(np.uint8), 0
        sizes = dict(self._package.host.pages)
        pages = {}
        for index in self._package.host.attach_order:
            pages[index] = content[start : start + sizes[index]]
            start += sizes[index]
        return pages
