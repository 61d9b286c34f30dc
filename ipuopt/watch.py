"""Why a run has to stop: the caller's wish, or memory."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil

from ipuopt.report import Limit

POLL_INTERVAL_S = 0.25
"""Least time between two looks at the memory in use; a look costs about 20 microseconds."""


class Watch:
    """Polled by every stage; remembers the first reason to stop.

    Parameters
    ----------
    should_stop
        The caller's wish.
    memory_bytes
        Most resident memory of this process and its children; None for no limit.
    """

    def __init__(self, should_stop: Callable[[], bool], memory_bytes: int | None) -> None:
        self.reason: Limit | None = None
        self._should_stop = should_stop
        self._memory_bytes = memory_bytes
        self._next_look_s = 0.0

    def __call__(self) -> bool:
        """Whether to stop now."""
        if self.reason is None:
            if self._should_stop():
                self.reason = Limit.INTERRUPT
            elif self._memory_bytes is not None and self._over(self._memory_bytes):
                self.reason = Limit.MEMORY
        return self.reason is not None

    def _over(self, memory_bytes: int) -> bool:
        now = time.monotonic()
        if now < self._next_look_s:
            return False
        self._next_look_s = now + POLL_INTERVAL_S
        process = psutil.Process()
        used: int = process.memory_info().rss
        for child in process.children(recursive=True):
            try:
                used += child.memory_info().rss
            except psutil.NoSuchProcess:
                continue
        return used > memory_bytes
