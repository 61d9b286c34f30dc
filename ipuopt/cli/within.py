"""``ipuopt solve`` as a part of another command: a process of its own, and its report.

A solve may have to end its process to keep its time limit, so it does not share one.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ipuopt.options import OPTIONS

SIGNALLED = 128
"""Least exit code of a solve that a signal has ended."""


def solve_within(
    workload: Path,
    plan: Path | None,
    output: Path | None,
    *,
    force: bool,
    quiet: bool,
    options: Mapping[str, Any],
) -> tuple[int, dict[str, Any] | None]:
    """Exit code and JSON report of a solve; progress and errors go to our standard error.

    The report is None where there is no program; the reason has been printed then.

    Parameters
    ----------
    options
        Values by the key of :data:`ipuopt.options.OPTIONS`; None where not given.
    """
    command = [sys.executable, "-m", "ipuopt", "solve", str(workload), "--json"]
    command += [] if plan is None else ["--plan", str(plan)]
    command += [] if output is None else ["--output", str(output)]
    command += [*["--force"] * force, *["--quiet"] * quiet, *_flags(options)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process, _forwarding(process):
        printed = process.communicate()[0]
    code = process.returncode if process.returncode >= 0 else SIGNALLED - process.returncode
    return code, json.loads(printed) if printed else None


def _flags(options: Mapping[str, Any]) -> Iterator[str]:
    for option in OPTIONS:
        value = options.get(option.key)
        if value is None:
            continue
        if option.metavar:
            yield f"{option.flag}={value}"
        else:
            yield option.flag if value else option.negation


@contextlib.contextmanager
def _forwarding(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Leave the end to the solve: a terminal's Ctrl-C reaches it by itself, SIGTERM is passed on."""

    def forward(number: int, frame: object) -> None:
        del frame
        process.send_signal(number)

    before = signal.signal(signal.SIGINT, signal.SIG_IGN), signal.signal(signal.SIGTERM, forward)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGTERM, before[1])
