"""Memory of the host that a card reads and writes (``device.md`` 4, 7)."""

from __future__ import annotations

import contextlib
import mmap
import threading

import numpy as np

from ipuopt.device.calls import Bytes

_LOCK = threading.Lock()


def fence() -> None:
    """Let every store that came before be seen before any that follows.

    Taking a lock orders memory; Python has no barrier of its own.
    """
    with _LOCK:
        pass


class Pages:
    """Zeroed memory, at a multiple of the system's page size, that stays where it is.

    A child process does not get it: after a fork, a page that this process writes would be copied,
    and the card would go on with the old one (``device.md`` 7).

    Attributes
    ----------
    address
        Of the first byte.
    content
        The bytes; not to be used after :meth:`close`.
    """

    def __init__(self, size: int) -> None:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
        self._area = mmap.mmap(-1, size, flags=flags)
        self._area.madvise(mmap.MADV_DONTFORK)
        self.content: Bytes = np.frombuffer(self._area, np.uint8)
        self.address = self.content.ctypes.data

    def close(self) -> None:
        """Give the memory back, at once unless an error that is on its way still shows it."""
        self.content = np.zeros(0, np.uint8)
        with contextlib.suppress(BufferError):
            self._area.close()
