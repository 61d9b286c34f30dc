"""What the page carries for its scripts: tables of the program as packed columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ipuopt.htmlreport.arrays import Packed, packed
from ipuopt.htmlreport.bus import Windows, chain_of, critical_tiles, density, windows_of
from ipuopt.htmlreport.drawing import BUSES, COLOURS
from ipuopt.htmlreport.tiles import TileFacts
from ipuopt.program import IntArray, Kernel, Program, Role
from ipuopt.result import Built
from ipuopt.target.fabric import PHYSICAL

MOST_WINDOWS = 300_000
"""Windows of all phases that a page carries; past it, only those of the critical tiles."""


def page_data(
    built: Built, facts: TileFacts, reports: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], list[IntArray]]:
    """The object that ``page.js`` reads, and the picture of all tiles of each phase."""
    program = built.program
    phases, pictures = _phases(built, facts, reports)
    data = {
        "tiles": program.tiles,
        "physical": packed(PHYSICAL[: program.tiles]),
        "values": [value.name for value in built.plan.values],
        "roles": [role.name.lower() for role in Role],
        "colours": COLOURS,
        "buses": list(BUSES.items()),
        "steps": [step.name for step in program.steps],
        "boundary": packed(built.boundary),
        "shards": _shards(built),
        "work": _work(program),
        "used": packed(facts.used_bytes),
        "busy": packed(facts.busy_cycles),
        "phases": phases,
        "solves": [_solve(report) for report in reports],
    }
    return data, pictures


def _shards(built: Built) -> dict[str, Packed]:
    """Shards by tile, with the first of every tile."""
    shards = built.program.shards
    order = np.lexsort((built.address, shards.tile))
    columns = {
        "value": shards.value,
        "role": shards.role,
        "interleaved": shards.interleaved,
        "size": shards.size_bytes,
        "start": shards.live_start,
        "stop": shards.live_stop,
    }
    first = np.searchsorted(shards.tile[order], np.arange(built.program.tiles + 1))
    found = {name: packed(column[order]) for name, column in columns.items()}
    return found | {"address": packed(built.address[order]), "first": packed(first)}


def _work(program: Program) -> dict[str, Any]:
    """Kernel runs and copies by tile and step; copies have a kind of their own."""
    runs, copies = program.runs, program.copies
    tile = np.concatenate((runs.tile, copies.tile))
    step = np.concatenate((runs.step, copies.step))
    kind = np.concatenate((runs.kernel, np.full(len(copies), len(Kernel))))
    order = np.lexsort((step, tile))
    cycles = np.concatenate((runs.cycles, copies.cycles))
    first = np.searchsorted(tile[order], np.arange(program.tiles + 1))
    columns = {"step": step[order], "kind": kind[order], "cycles": cycles[order], "first": first}
    names = [*(kernel.name.lower() for kernel in Kernel), "copy"]
    return {"names": names} | {name: packed(column) for name, column in columns.items()}


def _phases(
    built: Built, facts: TileFacts, reports: Sequence[Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], list[IntArray]]:
    ours = [report for report in reports if report["stage"] == "exchange"]
    transfers = built.program.transfers
    few = len(transfers) + 2 * len(transfers.destination) > MOST_WINDOWS
    phases, pictures = [], []
    for phase, report in zip(range(len(built.horizon)), ours, strict=True):
        problem, windows, done = windows_of(built, phase)
        pictures.append(density(windows, problem.tiles, int(built.horizon[phase])))
        chain = chain_of(windows, done)
        critical = critical_tiles(problem, windows, chain)
        shown = windows.take(np.isin(windows.tile, critical)) if few else windows
        phases.append(
            {
                "name": report["model"],
                "horizon": int(built.horizon[phase]),
                "bound": report["bound"],
                "source": report["bound_source"],
                "critical": critical,
                "complete": not few,
                "chain": [[link.transfer, link.wait] for link in chain],
                "sent": packed(facts.sent[phase]),
                "received": packed(facts.received[phase]),
                **_columns(shown, problem.source, problem.tiles),
            }
        )
    return phases, pictures


def _columns(windows: Windows, source: IntArray, tiles: int) -> dict[str, Packed]:
    first = np.searchsorted(windows.tile, np.arange(tiles + 1))
    return {
        "first": packed(first),
        "bus": packed(windows.bus),
        "start": packed(windows.start),
        "length": packed(windows.stop - windows.start),
        "transfer": packed(windows.transfer),
        "from": packed(source),
    }


def _solve(report: Mapping[str, Any]) -> dict[str, Any]:
    """Incumbent and bound over time; of a solve without a trace, its heuristic and its end."""
    end = {key: report[key] for key in ("wall_time_s", "objective", "bound")}
    first = {"wall_time_s": 0.0, "objective": report["heuristic"], "bound": None}
    trace = report["trace"] or [first, end]
    return {
        "name": report["model"],
        "unit": report["unit"],
        "time": [point["wall_time_s"] for point in trace],
        "objective": [point["objective"] for point in trace],
        "bound": [point["bound"] for point in trace],
    }
