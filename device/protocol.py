"""What a loaded program offers to a host, on any device (``device.md`` 4, 7)."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from ipuopt.layout import IntArray


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
        """State of the supervisor of each tile: 0 inactive, 1 running (``device.md`` 5)."""

    def close(self) -> None:
        """Release the device; a second time it does nothing."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
