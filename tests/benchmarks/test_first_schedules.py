"""The first checked schedule of every phase beside the seconds that the public compiler takes.

And the small phases of the snapshots: how many of them are proven optimal within a minute each.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ipuopt.limits import Limits
from ipuopt.models.exchange import Problem, check, solve
from ipuopt.models.exchange.group import Group
from ipuopt.models.exchange.snapshot import load_snapshot
from ipuopt.report import SolveStatus

pytestmark = pytest.mark.bench

Record = Callable[[str, object], None]
Phases = list[tuple[str, int, Problem, float]]

TIMES, LEAST_S = 3.0, 1.0
"""A first schedule takes at most so many times the peer's seconds, or these seconds."""

SMALL, SMALL_S = 300, 60.0
"""Transfers of a small phase, and the seconds that each may take."""

PROVEN = 0.9
"""Share of the small phases that are proven optimal."""


@pytest.fixture(scope="module")
def phases(shared: Path, peers: dict[str, dict[int, Any]]) -> Phases:
    """Snapshot, number, phase and the peer's seconds, of all phases that the README lists."""
    found = []
    for name, listed in peers.items():
        whole = load_snapshot(shared / "data" / "snapshots" / f"{name}.json.gz")
        for number, problem in zip(whole.numbers, whole.problems, strict=True):
            found.append((name, number, problem, float(listed[number].wall_time_s)))
    return found


def first_s(problem: Problem) -> float:
    """Processor seconds to the first checked schedule and a bound, as ``ipuopt exchange`` begins."""
    group = Group([0], [problem])
    begin = time.thread_time()
    group.begin(Limits(), free=False)
    seconds = time.thread_time() - begin
    assert group.best is not None
    assert check(problem, group.best[0]) == ()
    return seconds


def test_first_schedules(phases: Phases, record_property: Record) -> None:
    first_s(phases[0][2])  # compiles
    late, worst, total_s = [], 0.0, 0.0
    print("| snapshot | phase | peer_s | first_s |\n|---|---|---|---|")
    for name, number, problem, peer_s in phases:
        seconds = first_s(problem)
        print(f"| {name} | {number} | {peer_s:.3g} | {seconds:.3g} |")
        allowed = max(TIMES * peer_s, LEAST_S)
        worst, total_s = max(worst, seconds / allowed), total_s + seconds
        if seconds > allowed:
            late.append((name, number))
    record_property("phases", len(phases))
    record_property("all together (s)", round(total_s, 3))
    record_property("largest share of the allowed time", round(worst, 3))
    assert late == []


def test_small_phases(phases: Phases, record_property: Record) -> None:
    small = [entry for entry in phases if len(entry[2]) <= SMALL]
    opened, longest_s = [], 0.0
    for name, number, problem, _ in small:
        begin = time.monotonic()
        _, report = solve(problem, Limits(deadline=begin + SMALL_S, threads=2))
        longest_s = max(longest_s, time.monotonic() - begin)
        if report.status is not SolveStatus.OPTIMAL:
            opened.append((name, number, report.objective, report.bound))
    record_property("small phases", len(small))
    record_property("not proven", opened)
    record_property("longest (s)", round(longest_s, 2))
    assert len(small) - len(opened) >= math.ceil(PROVEN * len(small))
