"""Jobs for the tests of workers, which import them from here."""

from __future__ import annotations

import os
import signal
import time

from ipuopt.errors import CheckError
from ipuopt.limits import Limits


def square(number: int, limits: Limits) -> int:
    return number * number


def terms(job: None, limits: Limits) -> tuple[bool, int, int, bool, bool, float]:
    """What a worker knows of its limits, and whether it hears Ctrl-C."""
    deaf = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    timely = 0 < limits.remaining_s() < 60
    return timely, limits.threads, limits.seed, limits.deterministic, deaf, limits.budget_s


def die(number: int, limits: Limits) -> int:
    """Odd numbers end their process, as the kernel does where memory is short."""
    if number % 2:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.2)
    return number


def refuse(number: int, limits: Limits) -> int:
    raise CheckError("a job", (("E2", "sends overlap"),))


def wait(seconds: float, limits: Limits) -> int:
    """Process after the time, or once asked to stop."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not limits.expired():
        time.sleep(0.01)
    return os.getpid()


def sleep(seconds: float, limits: Limits) -> None:
    """Hear nothing."""
    time.sleep(seconds)
