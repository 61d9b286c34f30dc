"""What tile programs are made of, before code has addresses, and their words once it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ipuopt.codegen.host import Batches, Part, Way, parts_of, slots_of
from ipuopt.codegen.isa import WordArray
from ipuopt.codegen.kernels import Calls, copy_calls, run_calls
from ipuopt.codegen.phases import exchange_problem, phase_slice
from ipuopt.codegen.rows import Patches, Rows, encode_rows, patches_of
from ipuopt.codegen.runtime import FIRST_SAMPLE, LAST_SAMPLE
from ipuopt.codegen.tile.loops import add_patches, close_loop, open_loop
from ipuopt.codegen.tile.pointers import Pointers, pointers_of
from ipuopt.codegen.tile.stream import (
    Stream,
    add_calls,
    add_host,
    add_jump,
    add_phase,
    add_samples,
)
from ipuopt.layout import IntArray
from ipuopt.models.exchange import Solution
from ipuopt.program import StepKind
from ipuopt.result import Built
from ipuopt.target.constants import TILES, WORD_BYTES
from ipuopt.target.fabric import PHYSICAL

Batch = Mapping[int, Part]
"""Parts of one batch by physical tile."""
Sections = tuple[Batches, Batches, Batches]
"""Weights, inputs, outputs."""
Place = tuple[int, int, int]
"""Section, batch and physical tile of a part."""
WEIGHTS, INPUTS, OUTPUTS = range(3)
"""Sections of the host's transfers, in the order of the program."""
_ALL = np.arange(TILES)


@dataclass(frozen=True, slots=True)
class Work:
    """Rows of every phase with their patches, kernel calls, pointers of repeats, host batches."""

    built: Built
    rows: tuple[Rows, ...]
    patches: tuple[Patches, ...]
    runs: Calls
    copies: Calls
    pointers: tuple[Pointers, ...]
    sections: tuple[tuple[Batch, ...], ...]

    def calls(self, kind: StepKind) -> Calls:
        """Kernel calls of steps of a kind other than phases."""
        return self.runs if kind is StepKind.RUN else self.copies


@dataclass(frozen=True, slots=True)
class Taken:
    """Cycle samples that tiles take at the steps that a step of the program makes, shape ``(steps,)`` each.

    Attributes
    ----------
    tile
        Physical.
    number
        Of the sample on its tile.
    position
        How many phases and calls the tile has before it.
    first, count
        First call of the step of the program that it stands before, and how many it covers; 0 and 1
        of a phase and a repeat.
    """

    tile: IntArray
    number: IntArray
    position: IntArray
    first: IntArray
    count: IntArray


@dataclass(frozen=True, slots=True)
class Samples:
    """Cycle samples of a program.

    Attributes
    ----------
    taken
        By step of the program; those of a repeat are at its first step, none at its others.
    count
        Steps of each physical tile, shape ``(1472,)``; it takes one sample more.
    """

    taken: tuple[Taken | None, ...]
    count: IntArray

    @property
    def tiles(self) -> IntArray:
        """Physical tiles that take samples, ascending."""
        return np.flatnonzero(self.count)


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where code lies.

    Attributes
    ----------
    helpers
        Of the runtime, by name.
    kernels
        By symbol.
    program
        Of all tile programs.
    rows, tables
        Of each phase and physical tile, shape ``(phases, 1472)``; the values of its patches.
    host
        Descriptor and code of each part.
    samples
        Of the cycle samples around steps, on every tile that takes any.
    """

    helpers: Mapping[str, int]
    kernels: Mapping[str, int]
    program: int
    rows: IntArray
    tables: IntArray
    host: Mapping[Place, tuple[int, int]]
    samples: int


def work_of(built: Built) -> Work:
    """Encode rows, name kernels; without the host's transfers."""
    program = built.program
    rows, patches = [], []
    for phase, step in enumerate(program.phases):
        problem = exchange_problem(program, built.address, phase)
        solution = Solution(built.start[phase_slice(program, step)])
        rows.append(encode_rows(problem, solution))
        patches.append(patches_of(problem, solution, rows[-1]))
    runs = run_calls(built.plan, program, built.address)
    copies = copy_calls(program, built.address)
    pointers = tuple(pointers_of(program, repeat, runs, copies) for repeat in program.repeats)
    return Work(built, tuple(rows), tuple(patches), runs, copies, pointers, ())


def with_host(work: Work, batches: Sections) -> Work:
    """The same with the transfers of these batches."""
    ways, slots = (Way.TO_TILE, Way.TO_TILE, Way.TO_HOST), slots_of(*batches)
    sections = tuple(
        tuple(parts_of(part, number, way, slots) for number in range(len(part)))
        for part, way in zip(batches, ways, strict=True)
    )
    return replace(work, sections=sections)


def programs(
    work: Work, at: Addresses, samples: Samples | None = None
) -> tuple[WordArray, IntArray]:
    """Words of all tile programs by physical tile, and their bounds (package.md 3.2)."""
    stream = Stream(TILES, at.program)
    _host(stream, work, at, WEIGHTS)
    _host(stream, work, at, INPUTS)
    sampler = at.helpers["sample_cycle"]
    if samples is not None:
        add_samples(stream, samples.tiles, FIRST_SAMPLE, sampler)
    opening = {repeat.first: place for place, repeat in enumerate(work.built.program.repeats)}
    entry = at.program + 0 * _ALL
    for number in range(len(work.built.program.steps)):
        taken = None if samples is None else samples.taken[number]
        repeat = work.built.program.repeat_of(number)
        if repeat is None:
            _step(stream, work, number, at, taken)
            continue
        if number == repeat.first:
            pointers = work.pointers[opening[number]]
            if taken is not None:
                add_samples(stream, taken.tile, at.samples + WORD_BYTES * taken.number, sampler)
            entry = open_loop(stream, repeat.count, pointers)
        _step(stream, work, number, at, None, pointers)
        if number == repeat.stop - 1:
            close_loop(stream, pointers, entry)
    if samples is not None:
        last = at.samples + WORD_BYTES * samples.count[samples.tiles]
        add_samples(stream, samples.tiles, last, sampler)
        add_samples(stream, samples.tiles, LAST_SAMPLE, sampler)
    _host(stream, work, at, OUTPUTS)
    add_jump(stream, _ALL, at.helpers["complete"])
    return stream.finish()


def _step(
    stream: Stream,
    work: Work,
    number: int,
    at: Addresses,
    taken: Taken | None,
    pointers: Pointers | None = None,
) -> None:
    """A step of the program, once; with pointers those of the repeat that holds it."""
    program = work.built.program
    kind = program.steps[number].kind
    if kind is not StepKind.PHASE:
        _calls(stream, work.calls(kind), number, at, taken, pointers)
        return
    if taken is not None:
        where = at.samples + WORD_BYTES * taken.number
        add_samples(stream, taken.tile, where, at.helpers["sample_cycle"])
    phase = program.phases.index(number)
    patches = work.patches[phase]
    if len(patches.tile):
        tile = PHYSICAL[patches.tile]
        iterations = patches.values.shape[1]
        within = np.arange(len(tile)) - np.searchsorted(patches.tile, patches.tile)
        word = at.rows[phase, tile] + WORD_BYTES * patches.word
        table = at.tables[phase, tile] + WORD_BYTES * iterations * within
        add_patches(stream, tile, word, table, iterations, at.helpers["patch_word"])
    active = np.zeros(TILES, np.bool_)
    active[PHYSICAL[np.flatnonzero(work.rows[phase].done > 0)]] = True
    add_phase(stream, _ALL, active, 0, at.rows[phase], at.helpers["worker_barrier"])


def _calls(
    stream: Stream,
    calls: Calls,
    step: int,
    at: Addresses,
    taken: Taken | None,
    pointers: Pointers | None,
) -> None:
    part = calls.of_step(step)
    address = np.array([at.kernels[name] for name in calls.names], np.int64)
    tile = PHYSICAL[calls.tile[part]]
    symbol = address[calls.symbol[part]]
    sampled = None
    if taken is not None:
        where = np.full(len(tile), -1)
        where[taken.first] = at.samples + WORD_BYTES * taken.number
        sampled = where, at.helpers["sample_cycle"]
    arguments, pointer = calls.arguments[part], None
    if pointers is not None and len(calls.root):
        pointer = pointers.followed(calls, part)
        arguments = arguments - calls.root[part]
    add_calls(stream, tile, arguments, calls.count[part], symbol, sampled, pointer)


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
