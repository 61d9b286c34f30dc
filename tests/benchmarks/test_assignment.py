"""Instances of the layout assignment contest beside the published figures, as one table.

The table comes with ``-s``, and stands in ``assignment.md`` in pytest's temporary folder. The
published costs and bounds are read from ``known_bests.md`` beside the instances.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.bench

BARS_S = 120

LIMITS_S = (BARS_S, 600)

HEAD = """| instance | limit (s) | cost | bound | proven by | best published cost | best published bound |
|---|---:|---:|---:|---|---:|---:|
"""

BARS = {
    "G": (217_039, 217_039),
    "P": (655_000_000_000, 645_300_000_000),
    "K": (2_290_000_000, 2_000_000_000),
    "N": (210_000_000_000, 193_000_000_000),
    "S": (1_760_000_000, 1_430_000_000),
    "V": (2_800_000, 1_270_000),
}
"""Cost at most and bound at least, after ``BARS_S`` seconds on two idle cores."""


def published(table: str, instance: str) -> tuple[int, int]:
    """Best published cost and bound."""
    row = re.search(rf"^\| {instance} \|(.*)\|$", table, re.MULTILINE)
    assert row is not None
    bound, cost = (re.match(r"[\d ]+", cell.strip()) for cell in row[1].split("|")[7:9])
    assert bound is not None and cost is not None
    return int(cost[0].replace(" ", "")), int(bound[0].replace(" ", ""))


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Rows of the table of ``docs/benchmarks.md``, which is written and printed at the end."""
    found: list[str] = []
    yield found
    file = tmp_path_factory.mktemp("table") / "assignment.md"
    file.write_text(HEAD + "".join(found))
    print(f"\n{file}\n{file.read_text()}")


@pytest.mark.parametrize("limit_s", LIMITS_S)
@pytest.mark.parametrize("instance", BARS)
def test_instance(
    instance: str,
    limit_s: int,
    rows: list[str],
    shared: Path,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    table = (shared / "bench" / "known_bests.md").read_text()
    table = table.partition("## Layout assignment")[2].partition("## Measured")[0]
    best, proven = published(table, instance)
    file = shared / "bench" / "iopddl" / f"asplos-2025-iopddl-{instance}.json.gz"
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "ipuopt", "assign", str(file), "--json", "--progress", "none",
         "--time-limit", str(limit_s), "-o", str(tmp_path / "x.solution.json")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    wall_s = time.monotonic() - begin
    assert done.returncode in (0, 4), done.stderr
    report = json.loads(done.stdout)["report"]
    cost, bound = int(report["objective"]), int(report["bound"])
    figures = (f"{figure:,}".replace(",", " ") for figure in (cost, bound, best, proven))
    ours, ours_bound, *theirs = figures
    row = (instance, str(limit_s), ours, ours_bound, report["bound_source"], *theirs)
    rows.append(f"| {' | '.join(row)} |\n")
    record_property("cost", cost)
    record_property("bound", bound)
    record_property("published cost", best)
    record_property("published bound", proven)
    record_property("seconds", wall_s)
    assert wall_s <= 1.1 * limit_s + 2
    most, least = BARS[instance]  # a longer run must not be worse
    assert cost <= most
    assert bound >= least
