"""Waiting for a card: polls with a time limit, and the marks of its two syncs (``device.md`` 2)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

from ipuopt.device.card.registers import GS1, GS2, MARK_MASK
from ipuopt.device.protocol import Device
from ipuopt.errors import DeviceError

POLL_S = 100e-6
"""Seconds between two reads of a register (device.md 2)."""
_NAMES = {GS1: "GS1", GS2: "GS2"}


class Clock(Protocol):
    """Time, which tests and whoever wants to stop a wait put in place of the system's.

    Both methods may raise to end the wait; what stands around it cleans up.
    """

    def now(self) -> float:
        """Seconds since some moment."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The clock of the system."""

    def now(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Longest waits in seconds; the defaults are the public driver's (``device.md`` 2, 3, 5).

    Attributes
    ----------
    mark_s
        Until a mark is used up, and until all tiles have ended.
    autoloader_s
        Until the autoloader has done a command.
    inject_s
        Until a tile has carried out an instruction, or stopped to do so.
    """

    mark_s: float = 10.0
    autoloader_s: float = 2.0
    inject_s: float = 0.1


class Waits:
    """Reads of registers of one card until they hold what is expected.

    Without a clock and time-outs: those of the system and of the public driver.
    """

    def __init__(
        self, device: Device, clock: Clock | None = None, timeouts: Timeouts | None = None
    ) -> None:
        self._device = device
        self._clock = clock or SystemClock()
        self.timeouts = timeouts or Timeouts()

    def until(self, offset: int, mask: int, wanted: int, timeout_s: float, what: str) -> int:
        """Read a register until the bits of ``mask`` are those of ``wanted``; its last value.

        Parameters
        ----------
        what
            Where the load or the session stands, and the name of the register, for the message.

        Raises
        ------
        DeviceError
            When ``timeout_s`` has passed.
        """
        stop = self._clock.now() + timeout_s
        while (found := self._device.read32(offset)) & mask != wanted:
            if self._clock.now() >= stop:
                value = f"found {found & mask:#x} in {mask:#x} after {timeout_s:g} s"
                raise DeviceError(f"{what} ({offset:#x}): {value}, expected {wanted:#x}")
            self._clock.sleep(POLL_S)
        return found

    def used(self, sync: int, what: str) -> None:
        """Wait until no mark is pending: the device has used all that it was granted.

        Raises
        ------
        DeviceError
            When it has not within its time.
        """
        where = f"{what}: {_NAMES[sync]}"
        self.until(sync, MARK_MASK, 0, self.timeouts.mark_s, where)

    def mark(self, sync: int, count: int = 1) -> None:
        """Grant ``count`` syncs; reading back makes sure that the store has left."""
        self._device.write32(sync, count)
        self._device.read32(sync)
