"""What a card offers to a host, and what a loaded program does, on any device (``device.md`` 7)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from types import TracebackType
from typing import Protocol, Self

from ipuopt.layout import IntArray


class Control(StrEnum):
    """Requests to a card's driver that carry no data (``device.md`` 1)."""

    USER_ATTACH = "user attach"
    SET_ID = "set IPU id"
    STOP_MONITORING = "stop monitoring"
    START_MONITORING = "start monitoring"
    ACCUMULATE_ERRORS = "accumulate errors"
    RESET = "reset device"
    SET_SECONDARY_ID = "set secondary IPU id"


class Device(Protocol):
    """A card as its driver shows it: registers, attached pages, requests (``device.md`` 1).

    Every method but :meth:`close` raises :class:`~ipuopt.errors.DeviceError` when the driver refuses.
    """

    def open(self) -> None:
        """Take the card for this process alone."""

    def close(self) -> None:
        """Release it; a second time it does nothing."""

    def read32(self, offset: int) -> int:
        """Word of the register at a multiple of 4."""

    def write32(self, offset: int, value: int) -> None:
        """Store a word into the register at a multiple of 4."""

    def attach(self, index: int, address: int, size: int) -> None:
        """Let the card read and write ``size`` bytes of this process at ``address``."""

    def detach(self, index: int) -> None:
        """End :meth:`attach`; an index that is not attached is no error."""

    def detach_all(self) -> None:
        """End every :meth:`attach`."""

    def control(self, name: Control) -> None:
        """Make a request."""

    def mailbox(self, words: Sequence[int]) -> tuple[int, ...]:
        """Five words to the card's controller; its answer, five words too."""


class Session(Protocol):
    """A loaded program, from its start to its end; a context manager that closes it.

    One load serves one run: ``start``, ``call("initialize", ...)`` if there are weights,
    ``call("run", ...)``, ``finish``.
    """

    def start(self) -> None:
        """Let all tiles pass the synchronisation at the start of the session."""

    def call(self, name: str, content: bytes) -> bytes:
        """Perform a call of the host.

        Parameters
        ----------
        name
            Of the call in the package.
        content
            Input of the call: all tensors of the direction, one behind the other.

        Returns
        -------
        bytes
            Output of the call. The last batch is complete only after :meth:`finish`.
        """

    def finish(self) -> bytes:
        """Give the last grant, wait for the end of all tiles; output of the last call."""

    def states(self) -> IntArray:
        """State of each supervisor: 0 inactive, 1 running, 2, 3 stopped (``device.md`` 5)."""

    def close(self) -> None:
        """Release the device; a second time it does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
