"""What tile programs are made of, before code has addresses, and their words once it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ipuopt.codegen.host import Batches, Part, Way, parts_of
from ipuopt.codegen.isa import WordArray
from ipuopt.codegen.kernels import Calls, copy_calls, run_calls
from ipuopt.codegen.phases import exchange_problem, phase_slice
from ipuopt.codegen.rows import Rows, encode_rows
from ipuopt.codegen.tile.stream import Stream, add_calls, add_host, add_jump, add_phase
from ipuopt.layout import IntArray
from ipuopt.models.exchange import Solution
from ipuopt.program import StepKind
from ipuopt.result import Built
from ipuopt.target.constants import TILES
from ipuopt.target.fabric import PHYSICAL

Batch = Mapping[int, Part]
"""Parts of one batch by physical tile."""
Place = tuple[int, int, int]
"""Section, batch and physical tile of a part."""
WEIGHTS, INPUTS, OUTPUTS = range(3)
"""Sections of the host's transfers, in the order of the program."""
_ALL = np.arange(TILES)


@dataclass(frozen=True, slots=True)
class Work:
    """Rows of every phase, kernel calls, and batches of the three sections."""

    built: Built
    rows: tuple[Rows, ...]
    runs: Calls
    copies: Calls
    sections: tuple[tuple[Batch, ...], ...]


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where code lies.

    Attributes
    ----------
    helpers
        Of the runtime, by name.
    kernels
        By symbol.
    rows
        Of each phase and physical tile, shape ``(phases, 1472)``.
    host
        Descriptor and code of each part.
    """

    helpers: Mapping[str, int]
    kernels: Mapping[str, int]
    rows: IntArray
    host: Mapping[Place, tuple[int, int]]


def work_of(built: Built, batches: tuple[Batches, Batches, Batches], slots: IntArray) -> Work:
    """Encode rows, name kernels, cut batches."""
    program = built.program
    rows = []
    for phase, step in enumerate(program.phases):
        problem = exchange_problem(program, built.address, phase)
        rows.append(encode_rows(problem, Solution(built.start[phase_slice(program, step)])))
    ways = (Way.TO_TILE, Way.TO_TILE, Way.TO_HOST)
    sections = tuple(
        tuple(parts_of(part, number, way, slots) for number in range(len(part)))
        for part, way in zip(batches, ways, strict=True)
    )
    return Work(
        built,
        tuple(rows),
        run_calls(built.plan, program, built.address),
        copy_calls(program, built.address),
        sections,
    )


def programs(work: Work, at: Addresses) -> tuple[WordArray, IntArray]:
    """Words of all tile programs by physical tile, and their bounds (package.md 3.2)."""
    stream = Stream(TILES)
    _host(stream, work, at, WEIGHTS)
    _host(stream, work, at, INPUTS)
    phase = 0
    for number, step in enumerate(work.built.program.steps):
        if step.kind is StepKind.PHASE:
            active = np.zeros(TILES, np.bool_)
            taking = np.flatnonzero(work.rows[phase].done > 0)
            active[PHYSICAL[taking]] = True
            barrier = at.helpers["worker_barrier"]
            add_phase(stream, _ALL, active, 0, at.rows[phase], barrier)
            phase += 1
        else:
            calls = work.runs if step.kind is StepKind.RUN else work.copies
            _calls(stream, calls, number, at.kernels)
    _host(stream, work, at, OUTPUTS)
    add_jump(stream, _ALL, at.helpers["complete"])
    return stream.finish()


def _calls(stream: Stream, calls: Calls, step: int, kernels: Mapping[str, int]) -> None:
    part = slice(*np.searchsorted(calls.step, [step, step + 1]).tolist())
    address = np.array([kernels[name] for name in calls.names], np.int64)
    tile = PHYSICAL[calls.tile[part]]
    symbol = address[calls.symbol[part]]
    add_calls(stream, tile, calls.arguments[part], calls.count[part], symbol)


def _host(stream: Stream, work: Work, at: Addresses, section: int) -> None:
    """Batches of a section; those that a tile only waits for are counted and follow at once."""
    waiting = np.zeros(TILES, np.int64)

    def wait(tile: IntArray) -> None:
        tile = tile[waiting[tile] > 0]
        body = np.full(len(tile), at.helpers["idle_batch"])
        values = np.stack((waiting[tile], body), axis=1)
        add_host(stream, tile, values, at.helpers["repeat_call"])
        waiting[tile] = 0

    for number, batch in enumerate(work.sections[section]):
        active = np.array(sorted(batch), np.int64)
        wait(active)
        places = [at.host[section, number, tile] for tile in active.tolist()]
        once = np.ones((len(active), 1), np.int64)
        values = np.concatenate((once, np.array(places, np.int64).reshape(-1, 2)), axis=1)
        add_host(stream, active, values, at.helpers["host_run"])
        waiting += 1
        waiting[active] = 0
    wait(_ALL)
