"""Ctrl-C and SIGTERM during a search of exchange schedules, through real processes."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ipuopt.models.exchange import Solution, check, horizon
from ipuopt.models.exchange.snapshot import load_snapshot

UntilHandled = Callable[[int], None]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_in_any_step_of_exchange_keeps_the_best_schedule(
    number: signal.Signals, shared: Path, tmp_path: Path, until_handled: UntilHandled
) -> None:
    """Nothing was told of that is not written, from the first schedules to local search."""
    snapshot = shared / "data" / "snapshots" / "mlp_256x512x2048_t384.json.gz"
    problems = load_snapshot(snapshot).problems
    file = tmp_path / "one.json"
    command = [sys.executable, "-m", "ipuopt", "exchange", str(snapshot), "-o", str(file)]
    written = False
    for delay_s in (0.0, 0.5, 1.5, 4, 8, None):
        file.unlink(missing_ok=True)
        process = subprocess.Popen(
            [*command, "--progress", "plain", "--threads", "2"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        until_handled(process.pid)
        told = ""
        if delay_s is not None:
            time.sleep(delay_s)
        else:
            assert process.stderr is not None
            while "incumbent" not in told:  # the first search has begun
                told = process.stderr.readline()
                assert told
        process.send_signal(number)
        before = time.monotonic()
        _, stderr = process.communicate(timeout=60)
        assert time.monotonic() - before < 12
        assert process.returncode == 128 + number, (delay_s, stderr)
        assert "Traceback" not in stderr
        if not file.exists():
            assert "interrupted" in stderr.splitlines()[-1]
            continue
        phases = json.loads(file.read_text(encoding="utf-8"))["phases"]
        for problem, phase in zip(problems, phases, strict=True):
            solution = Solution(np.array(phase["start"]), problem.paired)
            assert check(problem, solution) == ()
            assert phase["bound"] <= horizon(problem, solution) == phase["horizon"]
        found = re.findall(r"incumbent ([\d ]+\d)", told + stderr)
        known = [int(value.replace(" ", "")) for value in found]
        assert sum(phase["horizon"] for phase in phases) <= min(known, default=10**9)
        written = True
    assert written
