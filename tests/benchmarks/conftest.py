"""Clock of the benchmarks, and the lines they print at the end of the run."""

from __future__ import annotations

import time
from collections.abc import Callable
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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line a figure that a benchmark recorded with ``record_property``."""
    reports = terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
    figures = [(report.nodeid, *figure) for report in reports for figure in report.user_properties]
    if figures:
        terminalreporter.section("figures")
    for nodeid, name, value in figures:
        text = f"{value:.4g}" if isinstance(value, float) else str(value)
        terminalreporter.write_line(f"{nodeid.partition('::')[2]}: {name} = {text}")
