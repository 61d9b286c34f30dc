"""Signs of life of commands that do one long thing: check, run, report."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from ipuopt.cli.interrupts import TICK_S
from ipuopt.cli.progress import Mode, Progress


@contextlib.contextmanager
def underway(what: str, started: float, *, quiet: bool) -> Iterator[None]:
    """Show on standard error that the block is at work: a live line, or one line every 10 s.

    Parameters
    ----------
    what
        What the block does.
    started
        :func:`time.monotonic` at the start of the command.
    quiet
        Show nothing.
    """
    shown = Progress(Mode.NONE if quiet else Mode.AUTO, started, what)
    done = threading.Event()

    def tell() -> None:
        while not done.wait(TICK_S):
            shown.tick()

    teller = threading.Thread(target=tell, name="progress", daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()
        shown.close()
