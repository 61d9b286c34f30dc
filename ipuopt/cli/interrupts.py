"""Ctrl-C and SIGTERM: the first asks the run to end with its best plan, the second ends at once."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar

import psutil

from ipuopt.cli.streams import fail

T = TypeVar("T")

TICK_S = 0.1
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_STACK_BYTES = 64 << 20
"""Stack of the working thread; the default may be 2 MiB, less than a compiler may need."""


class Interrupts:
    """Handlers for the time of a ``with`` block.

    Python runs handlers in the main thread, and only between its byte codes: a solver's call in
    that thread would hold them up. So :meth:`run` works in another thread and waits in this one.
    Until it begins the first signal ends the process at once: an exception could come up inside an
    import, where others print or swallow it. From then on the first is only remembered.

    Parameters
    ----------
    last_words
        Called before the process ends at the second signal, to leave the terminal in order.
    """

    def __init__(self, last_words: Callable[[], None] = lambda: None) -> None:
        self._requested = threading.Event()
        self._number: int = signal.SIGINT
        self._running = False
        self._last_words = last_words
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {s: signal.signal(s, self._handle) for s in _SIGNALS}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def requested(self) -> bool:
        """Whether the first signal has come."""
        return self._requested.is_set()

    @property
    def exit_code(self) -> int:
        """Exit code of a command that the first signal ended: 130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + self._number

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self._requested.is_set():
            self._end()
        self._number = number
        self._requested.set()
        if not self._running:
            self._end("interrupted")

    def _end(self, message: str = "") -> None:
        try:
            self._last_words()
            if message:
                fail(message, self.exit_code)
            kill_children()
        finally:
            os._exit(self.exit_code)

    def run(
        self, work: Callable[[], T], tick: Callable[[], None], patience: Callable[[], None]
    ) -> T:
        """Result of ``work``, done in another thread while this one calls ``tick``.

        Raises
        ------
        BaseException
            What ``work`` raised; or what ``patience`` raised, while ``work`` goes on.
        """
        self._running = True
        before = threading.stack_size(_STACK_BYTES)
        executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pipeline")
        try:
            future = executor.submit(work)
        finally:
            threading.stack_size(before)
        while wait([future], timeout=TICK_S).not_done:
            tick()
            patience()
        tick()
        executor.shutdown()
        return future.result()


def kill_children() -> None:
    """End the processes below this one, which is about to end: nobody would stop them."""
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # it ended by itself just now
            child.kill()
