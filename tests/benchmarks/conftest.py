"""Clock of the benchmarks, and the lines they print at the end of the run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def best_of() -> Callable[..., float]:
    """Least wall time in seconds of some calls: what the machine can do when nothing disturbs."""

    def measure(work: Callable[[], Any], calls: int = 3) -> float:
        seconds = []
        for _ in range(calls):
            start = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - start)
        return min(seconds)

    return measure


@dataclass(frozen=True, slots=True)
class Peer:
    """A row of the snapshots' README: bound and horizon in events, scheduling time in seconds."""

    simple_bound: int
    horizon: int
    wall_time_s: float


@pytest.fixture(scope="session")
def peers(shared: Path) -> dict[str, dict[int, Peer]]:
    """What the public compiler achieves, by snapshot and phase: rows of the snapshots' README."""
    found: dict[str, dict[int, Peer]] = {}
    readme = shared / "data" / "snapshots" / "README.md"
    for line in readme.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 11 and cells[1].isdigit():
            peer = Peer(int(cells[8]), int(cells[9]), float(cells[10]))
            found.setdefault(cells[0], {})[int(cells[1])] = peer
    return found


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line a figure that a benchmark recorded with ``record_property``."""
    reports = terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
    figures = [(report.nodeid, *figure) for report in reports for figure in report.user_properties]
    if figures:
        terminalreporter.section("figures")
    for nodeid, name, value in figures:
        text = f"{value:.4g}" if isinstance(value, float) else str(value)
        terminalreporter.write_line(f"{nodeid.partition('::')[2]}: {name} = {text}")
