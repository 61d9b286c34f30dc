"""Child process of a solver run: reads one job, sends messages, ends with its parent.

Run as a script, so that a child loads its solver and nothing else of the package.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import signal
import sys
import threading
from typing import Any


def _end_with_parent() -> None:
    """Wait for the end of the standard input, which the parent holds open while it lives."""
    while os.read(0, 1):
        pass
    os._exit(1)


def main() -> None:
    """Load the worker named in the job and let it search."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a solver prints must not mix with the messages
    path, job = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    lock = threading.Lock()

    def send(*message: Any) -> None:
        with lock:
            pickle.dump(message, channel, protocol=5)
            channel.flush()

    spec = importlib.util.spec_from_file_location("worker", path)
    assert spec is not None and spec.loader is not None
    worker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(worker)
    try:
        worker.search(job, send, lambda stop: None)
    except Exception as error:  # noqa: BLE001 - a back end may raise anything
        send("error", f"{type(error).__name__}: {error}")
    os._exit(0)  # no finalisation: a solver's threads may still hold locks


if __name__ == "__main__":
    main()
