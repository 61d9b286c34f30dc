"""What holds a limit when a stage does not look at it: compiling a kernel, one long call."""

from __future__ import annotations

import os
import time
from typing import Generic, NoReturn, TypeVar

from ipuopt.cli.interrupts import kill_children
from ipuopt.cli.streams import flush
from ipuopt.errors import LimitError

T = TypeVar("T")

GRACE_SHARE, GRACE_S, WRITING_S = 0.1, 1.0, 1.0
"""A run may be late by this share of its limit and these seconds; what is written may take as many
as the last more."""

FIRST_GRACE_S = GRACE_S + WRITING_S
"""Seconds instead as long as there is nothing to write: a first result that comes late on a busy
machine is worth more than the second that writing it takes."""

INTERRUPT_GRACE_S, NOTHING_GRACE_S = 10.0, 2.0
"""Seconds that a run has after the first interrupt: to improve a program that is complete, to
complete the first one."""

NO_PROGRAM = "before any program was complete"
INTERRUPTED = f"interrupted {NO_PROGRAM}"


class OverdueError(LimitError):
    """The run did not end in time by itself."""


class Overdue(Generic[T]):
    """Remembers the last complete result, and when to stop waiting for a better one.

    Parameters
    ----------
    started
        :func:`time.monotonic` at the start of the command.
    time_limit_s
        Limit of the whole command; None for no limit.
    missing
        What there is not without a result, for messages.
    """

    def __init__(
        self,
        started: float,
        time_limit_s: float | None,
        missing: str,
    ) -> None:
        self.result: T | None = None
        self._missing = missing
        self._message = f"the limit was reached {missing}"
        self._latest = self._latest_first = float("inf")
        if time_limit_s is not None:
            allowed = started + (1 + GRACE_SHARE) * time_limit_s
            self._latest, self._latest_first = allowed + GRACE_S, allowed + FIRST_GRACE_S

    def keep(self, result: T) -> None:
        """Remember a complete result."""
        self.result = result

    def interrupted(self) -> None:
        """Start the shorter wait after an interrupt."""
        grace_s = NOTHING_GRACE_S if self.result is None else INTERRUPT_GRACE_S
        latest = time.monotonic() + grace_s
        if latest < self._latest:
            self._latest = self._latest_first = latest
            self._message = f"interrupted {self._missing}"

    def check(self) -> None:
        """Raise :class:`OverdueError` once the wait is over."""
        if time.monotonic() > (self._latest_first if self.result is None else self._latest):
            raise OverdueError(self._message)


def end_process(code: int) -> NoReturn:
    """End at once: the working thread is inside a call that nothing can stop."""
    flush()
    kill_children()
    os._exit(code)
