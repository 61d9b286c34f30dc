"""The side of :mod:`ipuopt.solvers.parallel` that runs in a worker."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ipuopt.limits import Limits

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

LATEST_S = 1.0
"""Seconds that a job has to answer after it was asked to stop; then its process ends."""


_stop = threading.Event()


def prepare(heard: Connection) -> None:
    """Leave Ctrl-C to the parent; stop when it closes its end of the pipe, or is no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(heard,), daemon=True).start()


def _end_with_parent(heard: Connection) -> None:
    heard.poll(None)
    _stop.set()
    time.sleep(LATEST_S)
    os._exit(1)  # a solver may be in a call that nothing can stop


def run(
    function: Callable[[Any, Limits], Any], job: Any, limits: Limits, left_s: float | None
) -> tuple[Any, Exception | None]:
    """Answer of a job, and what it raised: other exceptions are those of the executor.

    ``left_s`` are seconds from the start of the job in place of the deadline, which is of the clock
    of the machine that asks; None for a job of that machine.
    """
    deadline = limits.deadline if left_s is None else time.monotonic() + left_s
    limits = replace(limits, deadline=deadline, should_stop=_stop.is_set)
    try:
        return function(job, limits), None
    except Exception as error:  # noqa: BLE001 - raised again by the caller
        return None, error
