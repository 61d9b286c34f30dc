"""MiniMalloc's instances: time until all fit, and the least heights in five minutes.

The figures of others are those that ``../shared/bench/known_bests.md`` lists.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ipuopt.limits import Limits
from ipuopt.models.placement.space import Problem, check, place
from ipuopt.models.placement.space.buffers_file import read_buffers
from ipuopt.models.placement.space.heuristics import climb, orders, packing
from ipuopt.models.placement.space.instance import build
from ipuopt.models.placement.space.shape import tables_of

pytestmark = pytest.mark.bench

CAPACITY = 1_048_576
FIT_S, LEAST_S = 120.0, 300.0
MOVES = 4_000
"""Moves of hill climbing in the table: about 2 s with 400 buffers."""

LEAST_BARS = {"C": 1_039_360, "D": 1_038_336, "J": 1_041_408}
Record = Callable[[str, object], None]


@pytest.fixture(scope="module")
def problems(shared: Path) -> dict[str, Problem]:
    folder = shared / "bench" / "minimalloc"
    return {
        file.name[0]: read_buffers(file).problem for file in sorted(folder.glob("?.1048576.csv"))
    }


@pytest.fixture(scope="module")
def published(shared: Path) -> dict[str, str]:
    """Seconds of MiniMalloc until the instance fits, by its authors."""
    text = (shared / "bench" / "known_bests.md").read_text()
    rows = re.findall(r"^\| ([A-K]) \|(?:[^|]*\|){4} ([\d.]+) s \|", text, flags=re.MULTILINE)
    return dict(rows)


def test_all_fit(
    problems: dict[str, Problem],
    published: dict[str, str],
    record_property: Record,
    tmp_path: Path,
) -> None:
    """Writes the table of ``docs/benchmarks.md`` to ``fits.md``."""
    small = Problem.of("compile", [4, 4, 8, 4], [0, 2, 0, 3], [3, 5, 2, 6], 16)
    place(small, Limits(threads=2), solver=False)
    place(problems["B"], Limits(threads=2).within(FIT_S), solver=False, nodes=1)
    titles = "instance | buffers | first fit | greedy by size | hill climb | MiniMalloc s | ours s"
    lines = [f"| {titles} |", "|---" * 7 + "|"]
    seconds = []
    for name, problem in problems.items():
        tables = tables_of(build(problem))
        assert tables is not None
        ways = orders(tables)
        figures = [
            packing(tables, ways[way], False) for way in ("first fit by lifetime", "greedy by size")
        ]
        figures.append(climb(tables, figures[-1], 0, MOVES, 0, lambda: False))
        begin = time.monotonic()
        fitted = Problem.of(
            name, problem.size_bytes, problem.span[:, 0], problem.span[:, 1], CAPACITY
        )
        answer = place(fitted, Limits(deadline=begin + FIT_S, threads=2), only_fit=True)
        seconds.append(time.monotonic() - begin)
        assert answer.solution is not None and check(fitted, answer.solution) == (), name
        heights = [str(found.height * tables.instance.unit) for found in figures if found]
        row = [name, str(len(problem)), *heights, published.get(name, "-"), f"{seconds[-1]:.2f}"]
        lines.append(f"| {' | '.join(row)} |")
    (tmp_path / "fits.md").write_text("\n".join(lines) + "\n")
    record_property("table", tmp_path / "fits.md")
    record_property("longest_s", max(seconds))
    assert max(seconds) <= FIT_S
    assert sorted(seconds)[8] <= 20


@pytest.mark.parametrize("name", LEAST_BARS)
def test_least_heights(problems: dict[str, Problem], record_property: Record, name: str) -> None:
    begin = time.monotonic()
    answer = place(problems[name], Limits(deadline=begin + LEAST_S, threads=2))
    record_property("seconds", time.monotonic() - begin)
    record_property("height", answer.report.objective)
    record_property("bound", answer.report.bound)
    assert answer.solution is not None and check(problems[name], answer.solution) == ()
    assert answer.report.objective is not None
    assert answer.report.objective <= LEAST_BARS[name]
