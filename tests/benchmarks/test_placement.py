"""What placement without element conflicts is worth to the schedules that follow it.

Every plan is placed twice: by least height alone, and by least conflicts first, as always. The phases
of both are scheduled under the same limits.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import ipuopt
from ipuopt.codegen.lower import lower
from ipuopt.codegen.phases import exchange_problem
from ipuopt.limits import Limits
from ipuopt.models import exchange, placement
from ipuopt.models.mapping.peer.read import read_plan
from ipuopt.models.placement.bounds import footprint_bound
from ipuopt.models.placement.check import check_program, program_conflict_words
from ipuopt.models.placement.solve import TRIALS, search
from ipuopt.models.placement.tiles import TILE_REGIONS, tile_classes
from ipuopt.program import IntArray, Program

pytestmark = pytest.mark.bench

Record = Callable[[str, object], None]

PHASE_S = 60.0
"""Seconds for each phase of each placement."""

OWN_S = 240.0
"""Seconds to find our plan, place it and schedule it."""

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True, slots=True)
class Scheduled:
    """Horizon and bound of a phase in events, and the argument behind the bound."""

    horizon: int
    bound: int
    source: str


def place_by_height(program: Program) -> IntArray:
    """Addresses of least height; conflicts are forgotten."""
    address = np.zeros(len(program.shards), dtype=np.int64)
    boundary = np.full(program.tiles, TILE_REGIONS.high_start, dtype=np.int64)
    none = np.zeros((0, 2), dtype=np.int64)
    for entry in tile_classes(program):
        problem = replace(entry.problem, conflict=none, conflict_words=none[:, 0])
        found = search(problem, Limits(), footprint_bound(problem), TRIALS)
        assert found is not None
        address[entry.shards] = found.solution.address
        boundary[program.shards.tile[entry.shards[:, 0]]] = found.solution.boundary
    assert check_program(program, address, boundary) == ()
    return address


def schedule(program: Program, address: IntArray, phase: int) -> Scheduled:
    """Best schedule of a phase in :data:`PHASE_S`, checked."""
    problem = exchange_problem(program, address, phase)
    solution, report = exchange.solve(problem, Limits().within(PHASE_S))
    assert exchange.check(problem, solution) == ()
    assert report.bound is not None
    return Scheduled(exchange.horizon(problem, solution), report.bound, report.bound_source)


def test_own_plan_has_no_conflicts(record_property: Record) -> None:
    """Our plan of the same workload: every tile placed, and none with words left."""
    workload = ipuopt.load(EXAMPLES / "siglip-mlp.yaml")
    result = ipuopt.solve(workload, ipuopt.SolveOptions(time_limit_s=OWN_S))
    words = program_conflict_words(result.built.program, result.built.address)
    report = next(report for report in result.reports if report.stage == "placement")
    record_property("footprint (bytes)", report.objective)
    record_property("bound (bytes)", report.bound)
    record_property("conflict words", words)
    assert words == 0


def test_conflicts_of_the_peer_plan(tmp_path: Path, record_property: Record) -> None:
    program = lower(read_plan(EXAMPLES / "siglip-mlp.peer-plan.yaml"))
    begin = time.monotonic()
    free, report = placement.solve_program(program, Limits().within(60.0))
    record_property("placement of all tiles (s)", round(time.monotonic() - begin, 1))
    assert free is not None
    by_height = place_by_height(program)
    words = [program_conflict_words(program, address) for address in (by_height, free.address)]
    titles = ("phase", "by height", "bound", "proven by", "free of conflicts", "bound", "proven by")
    lines = [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]
    totals = np.zeros(4, dtype=np.int64)
    for phase, step in enumerate(program.phases):
        one, other = (schedule(program, at, phase) for at in (by_height, free.address))
        figures = (one.horizon, one.bound, other.horizon, other.bound)
        totals += figures
        cells = (program.steps[step].name, *figures[:2], one.source, *figures[2:], other.source)
        lines.append(f"| {' | '.join(map(str, cells))} |")
        print(lines[-1], flush=True)
    cells = ("sum", *totals[:2], "", *totals[2:], "")
    lines.append(f"| {' | '.join(map(str, cells))} |")
    table = tmp_path / "conflicts.md"
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    record_property("table", str(table))
    record_property("conflict words by height", words[0])
    record_property("conflict words of the placement", words[1])
    record_property("sum of horizons by height (events)", int(totals[0]))
    record_property("sum of horizons without conflicts (events)", int(totals[2]))
    assert report.objective is not None and words[1] == 0 < words[0]
    assert totals[2] < totals[0]
