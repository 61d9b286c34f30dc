"""A run on a card in a process of its own, in which all signals are blocked (``device.md`` 1, 7).

A signal must not interrupt a request to the driver. So the process of the user keeps them, and the
card's process cleans up when that one goes away.
"""

from __future__ import annotations

import logging
import pickle
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ipuopt.codegen.package import Package
from ipuopt.device.card.setup import Setup, check_complete
from ipuopt.errors import DeviceError

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """What the card's process is told.

    Attributes
    ----------
    setup
        The card and its files, of which none is missing.
    package
        File of the package.
    weights, inputs
        Contents of the calls.
    """

    setup: Setup
    package: Path
    weights: bytes
    inputs: bytes


def start() -> subprocess.Popen[bytes]:
    """A process of :mod:`~ipuopt.device.card.child`, born with all signals blocked in all threads."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "ipuopt.device.card.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run_apart(setup: Setup, file: Path, package: Package, weights: bytes, inputs: bytes) -> bytes:
    """Run a program on a card; output of the call ``run``.

    Parameters
    ----------
    file, package
        The file of the package, and what it holds.
    weights, inputs
        Contents of the calls ``initialize`` and ``run``.

    Raises
    ------
    InputError, MissingPartError, DeviceError
        What went wrong; where the tiles stood is logged.
    RuntimeError
        For a bug of ours in that process, with its traceback.
    """
    check_complete(setup, package)
    with start() as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            pickle.dump(Job(setup, file, weights, inputs), process.stdin, protocol=5)
            process.stdin.flush()  # and left open: its end asks the process to clean up
            error, value = pickle.load(process.stdout)
        except (BrokenPipeError, EOFError, pickle.UnpicklingError):
            found = "card: found its process ended without an answer"
            raise DeviceError(f"{found}, expected the results of a run") from None
    if isinstance(error, DeviceError):
        for line in error.details:
            logger.warning("%s", line)
    if error is not None:
        raise error
    return bytes(value)
