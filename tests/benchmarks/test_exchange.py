"""The phases of seed 004: what a schedule takes, and how far from the bound it ends.

A tool that is not installed here made the figures to beat: the public compiler scheduled phases 0,
1, 2 and 4 in 4054, 6657, 15536 and 12527 events, and phase 3 not at all within 12 minutes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ipuopt.limits import Limits
from ipuopt.models.exchange import Problem, check, solve
from ipuopt.models.exchange.snapshot import load_snapshot

pytestmark = pytest.mark.bench

LIMIT_S = 120.0
Record = Callable[[str, object], None]


@pytest.fixture(scope="module")
def phases(shared: Path) -> Sequence[Problem]:
    folder = shared / "data" / "snapshots"
    solve(load_snapshot(folder / "mlp_128x256x512_t64.json.gz").problems[2], Limits())  # compiles
    return load_snapshot(folder / "siglip_mlp_seed004_t1472.json.gz").problems


@pytest.mark.parametrize(
    ("number", "most"), [(0, 4100), (1, 6600), (2, 3000), (3, 41500), (4, 5600)]
)
def test_phase_of_seed_004(
    phases: Sequence[Problem], record_property: Record, number: int, most: int
) -> None:
    begin = time.monotonic()
    solution, report = solve(phases[number], Limits(deadline=begin + LIMIT_S, threads=2))
    seconds = time.monotonic() - begin
    record_property("seconds", seconds)
    record_property("events", report.objective)
    record_property("bound", report.bound)
    assert check(phases[number], solution) == ()
    assert report.objective is not None
    assert report.objective <= most
    assert seconds <= 1.1 * LIMIT_S + 2


def test_checker_of_the_largest_phase(
    phases: Sequence[Problem], best_of: Callable[..., float], record_property: Record
) -> None:
    """196 821 transfers to 24 receivers each."""
    solution, _ = solve(phases[3], Limits(deadline=time.monotonic() + 60, threads=2))
    seconds = best_of(lambda: check(phases[3], solution))
    record_property("seconds", seconds)
    assert seconds < 20
