"""Single changes in a finished program: each that changes what it means is seen.

A change is seen if the device stops with a label, if phases or kernels take other cycles than planned
(``ipuopt run`` says FAIL), or if the output is another. What is left has to be harmless by what shares
nothing with the simulator: rows decode to a schedule of the same transfers that the checker of the
model accepts; a tile program does the same by an interpreter of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import ipuopt
from ipuopt.codegen.kernels import copy_calls, run_calls
from ipuopt.codegen.package import Package, Region, TileImage
from ipuopt.codegen.package.listing import TILE_PROGRAM
from ipuopt.codegen.phases import exchange_problem, phase_slice
from ipuopt.codegen.rows import Rows, decode_rows, encode_rows, rebuild
from ipuopt.codegen.tile import build_package
from ipuopt.device import Simulator
from ipuopt.errors import CheckError, InputError
from ipuopt.models.exchange import Solution, check
from ipuopt.options import Solver
from ipuopt.pipeline.tensors import packed
from ipuopt.result import Built
from ipuopt.target.fabric import PHYSICAL

QUICK, ALL = 30, 200
Traced = Callable[[Package, TileImage], tuple[Any, Any]]


@dataclass(frozen=True)
class Subject:
    """A package with what goes in and what comes out."""

    built: Built
    package: Package
    weights: bytes
    inputs: bytes
    changes: Any

    def outcome(self, package: Package) -> tuple[bytes, list[int], list[int]]:
        """Output, events of the phases, cycles of the kernel calls."""
        with Simulator(package) as device:
            device.start()
            device.call("initialize", self.weights)
            device.call("run", self.inputs)
            output = device.finish()
            return output, device.machine.phases, device.machine.ledger.cycles


@pytest.fixture(scope="module")
def subject(changes: Any) -> Subject:
    """Two products with Gelu between on 24 tiles: a reduction, and pieces for several tiles."""
    shapes = {"w1": [320, 96], "w2": [96, 64]}
    workload = ipuopt.from_dict(
        {
            "ipuopt": 1,
            "name": "small",
            "target": {"tiles": 24},
            "inputs": {"x": {"shape": [40, 320]}},
            "parameters": {name: {"shape": shape} for name, shape in shapes.items()},
            "operations": {
                "h": {"op": "MatMul", "inputs": ["x", "w1"]},
                "a": {"op": "Gelu", "inputs": ["h"]},
                "y": {"op": "MatMul", "inputs": ["a", "w2"]},
            },
            "outputs": ["y"],
        }
    )
    options = ipuopt.SolveOptions(time_limit_s=60, solver=Solver.HEURISTIC)
    built = ipuopt.solve(workload, options).built
    package = build_package(built)
    random = np.random.default_rng(1)
    given = {
        name: (random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float16)
        for name, shape in {"x": [40, 320], **shapes}.items()
    }
    tensors = {v.name: given[v.tensor] for v in built.plan.values if v.tensor in given}
    contents = (packed(built, part, tensors) for part in (package.weights, package.inputs))
    weights, inputs = contents
    return Subject(built, package, weights, inputs, changes)


def silent(
    subject: Subject, package: Package, region: Region, words: list[int], traced: Traced
) -> str:
    """Why a change that nobody saw does no harm; empty if it is not known to do none."""
    if region.name != TILE_PROGRAM:
        phases = [
            phase
            for phase in range(len(subject.built.program.phases))
            if carried_out(subject, phase, region, words)
        ]
        return "the same transfers, validly" if phases else ""
    built, found = subject.built, []
    calls = (
        run_calls(built.plan, built.program, built.address),
        copy_calls(built.program, built.address),
    )
    # Registers behind the arguments hold what was there before.
    most = {
        part.names[s]: n for part in calls for s, n in zip(part.symbol, part.count, strict=True)
    }
    for version in (subject.package, package):
        image = next(t for t in version.tiles if t.physical_tile == region.physical_tile)
        trace, tile = traced(version, image)
        trace.events = [(name, seen[: most.get(name, len(seen))]) for name, seen in trace.events]
        for address in range(region.address, region.address + region.size, 4):
            del tile.memory[address]
        found.append((trace, tile.syncs, tile.memory))
    return "the same trace" if found[0] == found[1] else ""


def carried_out(subject: Subject, phase: int, region: Region, words: list[int]) -> bool:
    """Whether the rows of a phase, with other words in one, decode to its transfers, validly."""
    built = subject.built
    problem = exchange_problem(built.program, built.address, phase)
    part = phase_slice(built.program, built.program.phases[phase])
    rows = encode_rows(problem, Solution(built.start[part]))
    tile = int(np.flatnonzero(region.physical_tile == PHYSICAL)[0])
    first, stop = rows.bounds[tile : tile + 2].tolist()
    if rows.words[first:stop].tolist() != subject.changes.words_of(subject.package, region):
        return False
    changed_rows = rows.words.copy()
    changed_rows[first:stop] = words
    try:
        solution = rebuild(problem, decode_rows(Rows(changed_rows, rows.bounds, rows.done)))
    except InputError:
        return False
    return not check(problem, solution)


def verdict(
    subject: Subject,
    planned: tuple[bytes, list[int], list[int]],
    change: tuple[str, Region, list[int]],
    traced: Traced,
) -> str:
    """What shows a change; empty if nothing does."""
    _, region, words = change
    package = subject.changes.with_words(subject.package, region, words)
    try:
        with np.errstate(all="ignore"):  # wrong operands are no numbers at times
            output, *cycles = subject.outcome(package)
    except CheckError as error:
        assert "\n" not in str(error)
        return f"label {error.violations[0][0]}"
    if output != planned[0]:
        return "output"
    if cycles != list(planned[1:]):
        return "cycles"
    return silent(subject, package, region, words, traced)


@pytest.mark.parametrize("count", [QUICK, pytest.param(ALL, marks=pytest.mark.slow)])
def test_every_change_is_seen_or_does_no_harm(subject: Subject, traced: Traced, count: int) -> None:
    planned = subject.outcome(subject.package)
    used = set(PHYSICAL[: subject.built.program.tiles].tolist())
    rows = [region for region in subject.package.regions if region.name == "exchange row"]
    programs = [
        region
        for region in subject.package.regions
        if region.name == TILE_PROGRAM and region.physical_tile in used
    ]
    seen: Counter[str] = Counter()
    passed = []
    for seed in range(count):
        random = np.random.default_rng(seed)
        change = subject.changes.mutated(
            programs if seed % 5 == 4 else rows, subject.package, random
        )
        found = verdict(subject, planned, change, traced)
        seen[found] += 1
        if not found:
            name, region, words = change
            old = subject.changes.code_of(region, subject.changes.words_of(subject.package, region))
            passed.append((seed, name, region, old, subject.changes.code_of(region, words)))
    assert passed == []
    print(dict(seen.most_common()))
    labels = {found for found in seen if found.startswith("label")}
    assert seen["output"] and len(labels) >= 4, seen
