"""The process of a card: reads one job, runs it, answers; ends when nobody waits any more."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import traceback

from ipuopt.codegen.package import read_package
from ipuopt.device.card.configuration import read_configuration
from ipuopt.device.card.process import Job
from ipuopt.device.card.program import run_program
from ipuopt.device.card.secondary import read_secondary
from ipuopt.device.card.waits import SystemClock
from ipuopt.errors import Error


class WatchedClock(SystemClock):
    """A clock that ends a wait when the standard input ends, which the parent holds open."""

    def __init__(self) -> None:
        self._alone = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while os.read(0, 1):
            pass
        self._alone.set()

    def now(self) -> float:
        """Seconds since some moment."""
        if self._alone.is_set():
            raise KeyboardInterrupt
        return super().now()


def run(job: Job) -> bytes:
    """Read all files before the card is touched, then run."""
    setup = job.setup
    assert setup.configuration is not None and setup.secondary is not None  # nothing is missing
    package = read_package(job.package, loadable=True)
    configuration = read_configuration(setup.configuration)
    secondary = read_secondary(setup.secondary)
    return run_program(
        setup.driver(setup.node),
        package,
        configuration=configuration,
        secondary=secondary,
        weights=job.weights,
        inputs=job.inputs,
        clock=WatchedClock(),
    )


def main() -> None:
    """Answer with an error or nothing, and the output of the run."""
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not mix with the answer
    job = pickle.load(sys.stdin.buffer)
    answer: tuple[Exception | None, bytes]
    try:
        answer = None, run(job)
    except Error as error:
        answer = error, b""
    except KeyboardInterrupt:
        return
    except Exception:  # noqa: BLE001 - a bug of ours is told by the parent
        answer = RuntimeError(traceback.format_exc()), b""
    with channel:
        pickle.dump(answer, channel, protocol=5)


if __name__ == "__main__":
    main()
