"""Addresses of a whole program: one problem a class of equal tiles."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ipuopt.errors import CheckError, InfeasibleError
from ipuopt.limits import Limits
from ipuopt.models.placement.bounds import explain, footprint_bound
from ipuopt.models.placement.check import check_program
from ipuopt.models.placement.classes import improve_all, refine_worst
from ipuopt.models.placement.heuristics import Cost
from ipuopt.models.placement.problem import IntArray, Problem
from ipuopt.models.placement.refine import Refined
from ipuopt.models.placement.solve import peer_cost
from ipuopt.models.placement.spaces import explain_refuted
from ipuopt.models.placement.tiles import TILE_REGIONS, TileClass, tile_classes
from ipuopt.program import Program, Role
from ipuopt.report import Limit, RunInfo, SolveReport, SolveStatus


@dataclass(frozen=True, slots=True)
class Placed:
    """Where everything lies.

    Attributes
    ----------
    address
        Byte address of every shard on its tile, shape ``(shards,)``.
    boundary
        Byte address of the boundary between the memory classes, shape ``(tiles,)``.
    """

    address: IntArray
    boundary: IntArray


def solve_program(
    program: Program,
    limits: Limits,
    *,
    heuristic_only: bool = False,
    value_names: Sequence[str] = (),
) -> tuple[Placed | None, SolveReport]:
    """Place the shards of all tiles.

    Parameters
    ----------
    heuristic_only
        Start no solver.
    value_names
        Names of the plan's values, for messages; numbers without them.

    Returns
    -------
    tuple
        The placement, and a report on the tile with the largest footprint. The placement is None
        if a tile could not be placed though nothing proves that it cannot; the note names it.

    Raises
    ------
    InfeasibleError
        If more bytes live together on a tile than it has, or a search proves that they do not fit.
    CheckError
        If the checker rejects the placement.
    """
    begin = time.monotonic()
    classes = tile_classes(program)
    bounds = [footprint_bound(entry.problem) for entry in classes]
    states = improve_all(classes, bounds, limits)
    _raise_if_infeasible(program, classes, states, value_names)
    limits.on_bound("placement", max(bounds, default=0))
    if not heuristic_only:
        refine_worst(classes, states, limits)
        _raise_if_infeasible(program, classes, states, value_names)
    heuristic = [peer_cost(entry.problem) for entry in classes]
    report = _report(program, classes, states, heuristic, limits, begin)
    if report.objective is None:
        return None, report
    limits.on_solution("placement", report.objective)
    placed = _assemble(program, classes, states)
    violations = check_program(program, placed.address, placed.boundary)
    if violations:
        raise CheckError("placement", violations)
    return placed, report


def _shard_names(program: Program, shards: IntArray, values: Sequence[str]) -> list[str]:
    names = []
    for shard in shards:
        value, role = int(program.shards.value[shard]), Role(int(program.shards.role[shard]))
        name = values[value] if value < len(values) else f"value {value}"
        names.append(name if role is Role.VALUE else f"{name} {role.name.lower()}")
    return names


def _raise_if_infeasible(
    program: Program,
    classes: Sequence[TileClass],
    states: Sequence[Refined],
    values: Sequence[str],
) -> None:
    """Raise the proof with the largest excess; a tile that is placed needs none."""
    steps = [step.name for step in program.steps]
    proven = []
    for entry, state in zip(classes, states, strict=True):
        if state.found is not None:
            continue
        names = _shard_names(program, entry.shards[0], values)
        exchanged = program.shards.role[entry.shards[0]] != Role.VALUE
        proof = explain(entry.problem, names, steps, exchanged.tolist())
        if proof is None and state.refuted is not None:
            proof = explain_refuted(entry.problem, state.refuted, names)
        if proof is not None:
            proven.append(proof)
    if proven:
        raise InfeasibleError(max(proven, key=lambda proof: proof.demand - proof.capacity))


def _assemble(program: Program, classes: Sequence[TileClass], states: Sequence[Refined]) -> Placed:
    address = np.zeros(len(program.shards), dtype=np.int64)
    boundary = np.full(program.tiles, TILE_REGIONS.high_start, dtype=np.int64)
    for entry, state in zip(classes, states, strict=True):
        assert state.found is not None
        address[entry.shards] = state.found.solution.address
        boundary[program.shards.tile[entry.shards[:, 0]]] = state.found.solution.boundary
    return Placed(address, boundary)


def _busiest_step(problem: Problem) -> int:
    """Step with the most live bytes."""
    steps = np.unique(problem.live_start)
    live = (problem.live_start <= steps[:, None]) & (steps[:, None] < problem.live_stop)
    return int(steps[np.argmax(live @ problem.size_bytes)])


def _words(states: Sequence[Refined], classes: Sequence[TileClass]) -> int:
    return sum(
        state.found.cost.words * len(entry.shards)
        for state, entry in zip(states, classes, strict=True)
        if state.found is not None
    )


def _notes(
    program: Program,
    classes: Sequence[TileClass],
    states: Sequence[Refined],
    heuristic: Sequence[Cost | None],
) -> list[str]:
    tiles = sum(len(entry.shards) for entry in classes)
    kind = "class" if len(classes) == 1 else "classes"
    notes = [f"{tiles} tiles in {len(classes)} {kind}"]
    for entry, state in zip(classes, states, strict=True):
        if state.found is None:
            step = _busiest_step(entry.problem)
            notes.append(
                f"{entry.problem.name}: no placement found, fullest in step {step} "
                f"({program.steps[step].name})"
            )
            return notes
    notes.append(f"conflict words {_words(states, classes)}")
    counts = [
        cost.words * len(entry.shards)
        for cost, entry in zip(heuristic, classes, strict=True)
        if cost is not None
    ]
    if len(counts) == len(classes):
        notes[-1] += f", heuristic {sum(counts)}"
    else:
        failed = next(
            entry.problem.name
            for entry, cost in zip(classes, heuristic, strict=True)
            if cost is None
        )
        notes.append(f"the heuristic finds no placement for {failed}")
    if not all(state.words_proven for state in states):
        notes.append("fewer conflict words may be possible")
    for state in states:
        notes.extend(state.notes)
    return notes


def _report(
    program: Program,
    classes: Sequence[TileClass],
    states: Sequence[Refined],
    heuristic: Sequence[Cost | None],
    limits: Limits,
    begin: float,
) -> SolveReport:
    bound = max((state.bound for state in states), default=0)
    found = [state.found.cost.footprint for state in states if state.found is not None]
    objective = max(found, default=0) if len(found) == len(classes) else None
    status, limit = SolveStatus.UNKNOWN, None
    if objective is not None:
        proven = objective == bound and all(state.words_proven for state in states)
        status = SolveStatus.OPTIMAL if proven else SolveStatus.FEASIBLE
    if status is not SolveStatus.OPTIMAL:
        reasons = [state.limit for state in states if state.limit is not None]
        limit = Limit.INTERRUPT if limits.should_stop() else (reasons or [Limit.TIME])[0]
    peer = [cost.footprint for cost in heuristic if cost is not None]
    return SolveReport(
        stage="placement",
        model=f"placement of {program.tiles} tiles",
        status=status,
        limit=limit,
        heuristic=max(peer, default=0) if len(peer) == len(classes) else None,
        objective=objective,
        bound=bound,
        bound_source=next((s.bound_source for s in states if s.bound == bound), "live bytes"),
        unit="bytes",
        build_time_s=sum(state.build_time_s for state in states),
        wall_time_s=time.monotonic() - begin,
        run=RunInfo(
            solver=next((s.solver for s in states if s.solver != "none"), "none"),
            seed=limits.seed,
            threads=limits.threads,
            deterministic=limits.deterministic,
            note="; ".join(dict.fromkeys(_notes(program, classes, states, heuristic))),
        ),
    )
