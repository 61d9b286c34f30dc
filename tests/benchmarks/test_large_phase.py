"""Memory of a phase as large as they come: 400 000 transfers, a horizon of 40 000 events."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.bench

Record = Callable[[str, object], None]

GIB = 1 << 30

SCRIPT = """
import resource, time
import numpy as np
from ipuopt.limits import Limits
from ipuopt.models.exchange import Problem, check, solve

TILES, TRANSFERS, RECEIVERS = 1472, 400_000, 5
random = np.random.default_rng(0)
source = random.integers(0, TILES, TRANSFERS)
step = random.integers(1, TILES // RECEIVERS, (TRANSFERS, 1)) * np.arange(1, RECEIVERS + 1)
phase = Problem(
    name="large",
    tiles=TILES,
    source=source,
    source_address=0x64000 + 256 * random.integers(0, 400, TRANSFERS),
    words=random.integers(8, 45, TRANSFERS),
    destination_start=RECEIVERS * np.arange(TRANSFERS + 1),
    destination_tile=((source[:, None] + step) % TILES).ravel(),
    destination_address=0x80000 + 256 * random.integers(0, 400, RECEIVERS * TRANSFERS),
)
begin = time.monotonic()
solution, report = solve(phase, Limits(deadline=begin + 120, threads=2))
assert check(phase, solution) == ()
peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(report.objective, report.bound, peak, time.monotonic() - begin)
"""


def test_memory_of_a_large_phase(record_property: Record) -> None:
    """Five receivers each, so that tiles receive some 36 000 words."""
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    horizon, bound, peak, seconds = map(float, run.stdout.split())
    record_property("horizon (events)", int(horizon))
    record_property("bound (events)", int(bound))
    record_property("peak memory (GiB)", round(peak / GIB, 2))
    record_property("wall (s)", round(seconds, 1))
    assert bound >= 35_000
    assert peak < 4 * GIB
