"""The card of this machine, through the node of its kernel driver (``device.md`` 1)."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import struct
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ipuopt.device.card.registers import SPACE_BYTES
from ipuopt.device.protocol import Control
from ipuopt.errors import DeviceError, MissingPartError

_NONE, _WRITE, _BOTH = 0, 1, 3
_WORDS = SPACE_BYTES // 4
_MAILBOX_WORDS = 5
Request = Callable[[int, int, Any], int]


def _code(direction: int, size: int, number: int) -> int:
    """Request code; ``size`` is what the driver expects there, not that of the argument."""
    return direction << 30 | size << 16 | 0xED << 8 | number


ATTACH = _code(_BOTH, 8, 0x0B)
DETACH = _code(_BOTH, 8, 0x0C)
DETACH_ALL = _code(_NONE, 0, 0x12)
MAILBOX = _code(_BOTH, 8, 0x1F)
CONTROLS = {
    Control.USER_ATTACH: _code(_BOTH, 8, 0x0A),
    Control.SET_ID: _code(_BOTH, 8, 0x0E),
    Control.STOP_MONITORING: _code(_NONE, 0, 0x22),
    Control.START_MONITORING: _code(_NONE, 0, 0x23),
    Control.ACCUMULATE_ERRORS: _code(_NONE, 0, 0x24),
    Control.RESET: _code(_WRITE, 4, 0x2D),
    Control.SET_SECONDARY_ID: _code(_WRITE, 8, 0x2F),
}


class Driver:
    """A card behind a device node; see :class:`~ipuopt.device.protocol.Device`.

    Parameters
    ----------
    node
        Path of the device node, ``/dev/ipu0`` for the first card.
    request
        What makes the system call, put in place by tests.
    """

    def __init__(self, node: Path, request: Request = fcntl.ioctl) -> None:
        self._node = node
        self._make = request
        self._file = -1
        self._registers: ctypes.Array[ctypes.c_uint32] | None = None
        self._undo = ExitStack()

    def open(self) -> None:
        """Open and map the node; nobody else who asks for its lock gets it until :meth:`close`.

        Raises
        ------
        MissingPartError
            If there is no such node, or no card behind it.
        DeviceError
            If it is in use or cannot be opened.
        """
        with ExitStack() as undo:
            try:
                self._file = os.open(self._node, os.O_RDWR | os.O_CLOEXEC)
                undo.callback(os.close, self._file)
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                area = mmap.mmap(self._file, SPACE_BYTES)
            except BlockingIOError:
                raise DeviceError(f"{self._node}: found it in use, expected it free") from None
            except OSError as error:
                found = f"{self._node}: found {error.strerror or error}"
                if error.errno in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
                    expected = "expected the kernel driver of the card"
                    raise MissingPartError(f"{found}, {expected}") from None
                raise DeviceError(f"{found}, expected to open the card") from None
            except ValueError:  # a file that is shorter
                found = f"{self._node}: found a file"
                raise DeviceError(f"{found}, expected the device node of a card") from None
            undo.callback(area.close)
            self._registers = (ctypes.c_uint32 * _WORDS).from_buffer(area)
            self._undo = undo.pop_all()

    def close(self) -> None:
        """Unmap and close; the registers go first, since the mapping is theirs."""
        self._registers = None
        self._undo.close()

    def read32(self, offset: int) -> int:
        """Word of a register."""
        return int(self._space()[_place(offset)])

    def write32(self, offset: int, value: int) -> None:
        """Store a word into a register."""
        self._space()[_place(offset)] = value

    def attach(self, index: int, address: int, size: int) -> None:
        """Let the card use memory of this process."""
        content = bytearray(struct.pack("<IIQ", index, size, address))
        self._request(f"buffer attach {index}", ATTACH, content)

    def detach(self, index: int) -> None:
        """End :meth:`attach`; what the driver answers does not matter."""
        self._space()
        try:
            self._make(self._file, DETACH, index)
        except OSError:
            return

    def detach_all(self) -> None:
        """End every :meth:`attach`."""
        self._request("detach all buffers", DETACH_ALL, 0)

    def control(self, name: Control) -> None:
        """Make a request; the one that passes a structure gets eight bytes of zero."""
        content = bytearray(8) if name is Control.SET_SECONDARY_ID else 0
        self._request(name.value, CONTROLS[name], content)

    def mailbox(self, words: Sequence[int]) -> tuple[int, ...]:
        """Five words to the card's controller; its answer."""
        sent = (ctypes.c_uint32 * _MAILBOX_WORDS)(*words)
        received = (ctypes.c_uint32 * _MAILBOX_WORDS)()
        places = (ctypes.addressof(sent), ctypes.addressof(received))
        self._request("mailbox", MAILBOX, bytearray(struct.pack("<QQ", *places)))
        return tuple(received)

    def _space(self) -> ctypes.Array[ctypes.c_uint32]:
        if self._registers is None:
            raise DeviceError(f"{self._node}: found it closed, expected an open card")
        return self._registers

    def _request(self, name: str, code: int, argument: int | bytearray) -> None:
        self._space()
        where = f"{self._node}: {name}"
        try:
            result = self._make(self._file, code, argument)
        except OSError as error:
            found = f"found {error.strerror or error} (errno {error.errno})"
            raise DeviceError(f"{where}: {found}, expected it done") from None
        if result != 0:
            raise DeviceError(f"{where}: found result {result}, expected 0")


def _place(offset: int) -> int:
    """Index of the register at a byte offset."""
    if offset % 4 or not 0 <= offset < SPACE_BYTES:
        raise ValueError(f"register {offset:#x}, expected a multiple of 4 below {SPACE_BYTES:#x}")
    return offset // 4
