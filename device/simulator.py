"""The host's side of the simulator (``device.md`` 4)."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import numpy as np

from ipuopt.codegen.package import HostCall, Package, Slices
from ipuopt.device import code
from ipuopt.device.machine import Machine
from ipuopt.errors import CheckError, InputError
from ipuopt.layout import IntArray


class Simulator:
    """A package that is loaded into simulated tiles; see :class:`~ipuopt.device.protocol.Session`.

    Parameters
    ----------
    package
        One that a loader takes.
    """

    def __init__(self, package: Package) -> None:
        self._package = package
        self._machine: Machine | None = Machine.load(package)
        self._offsets: dict[int, int] = {}
        self._last: tuple[HostCall, bytearray] | None = None
        start = 0
        sizes = dict(package.host.pages)
        for index in package.host.attach_order:
            self._offsets[index] = start
            start += sizes[index]

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
        self.machine.grant()
        self.machine.run()

    def call(self, name: str, content: bytes) -> bytes:
        """Perform a call of the host in its streaming form.

        Raises
        ------
        InputError
            For an unknown call, or content of the wrong length.
        CheckError
            With what the program did wrong.
        """
        known = {call.name: call for call in self._package.host.calls}
        if name not in known:
            raise InputError(f"call {name}: found {', '.join(known) or 'no call'}, expected it")
        call = known[name]
        if len(content) != call.inputs.file_bytes:
            found = f"found {len(content)} bytes of input"
            raise InputError(f"call {name}: {found}, expected {call.inputs.file_bytes}")
        given, taken = np.frombuffer(content, np.uint8), bytearray(call.outputs.file_bytes)
        inputs = len(call.input_batch_ends)
        for phase in range(call.phases):
            number = phase // 2
            if phase % 2 == 0 and number < inputs:
                self._store(call, number, given)
            if phase % 2 == 0 and number > inputs:
                self._fetch(call, number - inputs - 1, taken)
            self.machine.grant()
            self.machine.run()
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
        self.machine.grant()
        self.machine.run()
        left = np.flatnonzero(self.states())
        if len(left):
            found = f"tile {left[0]}: found it at {self.machine.place[left[0]]:#x}"
            raise CheckError("simulation", (("step", f"{found}, expected the end"),))
        call, taken = self._last
        if len(call.output_batch_ends):
            self._fetch(call, len(call.output_batch_ends) - 1, taken)
        return bytes(taken)

    def states(self) -> IntArray:
        """0 for tiles that have ended, 1 for others."""
        result: IntArray = (self.machine.state != code.ENDED).astype(np.int64)
        return result

    def close(self) -> None:
        """Give the memory back."""
        self._machine = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _store(self, call: HostCall, number: int, given: np.ndarray) -> None:
        """Copy an input batch into its slots."""
        pages = self.machine.pages.view(np.uint8)
        for page, offset, start, size in _batch(call.inputs, call.input_batch_ends, number):
            at = self._offsets[page] + offset
            pages[at : at + size] = given[start : start + size]

    def _fetch(self, call: HostCall, number: int, taken: bytearray) -> None:
        """Copy an output batch from its slots."""
        pages = self.machine.pages.view(np.uint8)
        for page, offset, start, size in _batch(call.outputs, call.output_batch_ends, number):
            at = self._offsets[page] + offset
            taken[start : start + size] = pages[at : at + size].tobytes()


def _batch(slices: Slices, ends: tuple[int, ...], number: int) -> list[list[int]]:
    """Page, offset, place in the file and size of the slices of a batch."""
    part = slice(ends[number - 1] if number else 0, ends[number])
    columns = (slices.tile, slices.address, slices.file_offset, slices.size)
    result: list[list[int]] = np.stack([c[part].astype(np.int64) for c in columns], axis=1).tolist()
    return result
