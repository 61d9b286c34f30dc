"""Cycle samples: before which steps a tile takes them, and what a profile says of the steps.

A tile takes sample i at the start of its step i and a last one behind its last step (``package.md`` 1.3,
3.3). Steps are phases, repeats, and consecutive calls of one kernel for one step of the program.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ipuopt.codegen.kernels import Calls
from ipuopt.codegen.package import Binding, ProfilePlan, Slices, Step
from ipuopt.codegen.runtime import FIRST_SAMPLE, LAST_SAMPLE
from ipuopt.codegen.tile.work import Samples, Taken, Work
from ipuopt.layout import IntArray
from ipuopt.program import StepKind
from ipuopt.target.constants import TILES, WORD_BYTES
from ipuopt.target.fabric import LOGICAL, PHYSICAL

EXCHANGE_PHASE = 0x80000000
"""Added to the number of an exchange phase (package.md 1.3)."""


def samples_of(work: Work) -> Samples:
    """Samples of all tiles of the program."""
    program = work.built.program
    number, position = np.zeros((2, TILES), np.int64)
    tiles = PHYSICAL[: program.tiles]
    taken = []
    one: Taken | None
    for step, kind in enumerate(one.kind for one in program.steps):
        repeat = program.repeat_of(step)
        if repeat is not None and step > repeat.first:
            one = None
        elif repeat is not None or kind is StepKind.PHASE:
            one = Taken(tiles, number[tiles], position[tiles], 0 * tiles, 0 * tiles + 1)
            number[tiles] += 1
            position[tiles] += 1
        else:
            one = _of_calls(work.calls(kind), step, number, position)
        taken.append(one)
    return Samples(tuple(taken), number)


def _of_calls(calls: Calls, step: int, number: IntArray, position: IntArray) -> Taken:
    """Samples before the calls of a step; counts of the tiles go on."""
    part = calls.of_step(step)
    tile, symbol = PHYSICAL[calls.tile[part]], calls.symbol[part]
    order = np.argsort(tile, kind="stable")
    tile, symbol = tile[order], symbol[order]
    new = np.ones(len(tile), np.bool_)
    new[1:] = (np.diff(tile) != 0) | (np.diff(symbol) != 0)
    first = np.flatnonzero(new)
    owner = tile[first]
    within = np.arange(len(first)) - np.searchsorted(owner, owner)
    count = np.diff(np.append(first, len(tile)))
    taken = Taken(
        owner,
        number[owner] + within,
        position[owner] + first - np.searchsorted(tile, owner),
        order[first],
        count,
    )
    number += np.bincount(owner, minlength=TILES)
    position += np.bincount(tile, minlength=TILES)
    return taken


def plans(work: Work, samples: Samples | None) -> tuple[ProfilePlan, ...]:
    """What each tile does between its samples, by physical tile; nothing without samples."""
    if samples is None:
        return ()
    steps: dict[int, list[Step]] = {tile: [] for tile in samples.tiles.tolist()}
    for tile, step in _steps(work, samples):
        steps[tile].append(step)
    return tuple(ProfilePlan(tile, tuple(listed)) for tile, listed in steps.items())


def _steps(work: Work, samples: Samples) -> Iterator[tuple[int, Step]]:
    program = work.built.program
    for number, (one, taken) in enumerate(zip(program.steps, samples.taken, strict=True)):
        if taken is None:
            continue
        operation, reason = f"operation.{one.plan_step}", (("reason", one.name),)
        columns = (taken.tile, taken.number, taken.position, taken.first, taken.count)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        repeat = program.repeat_of(number)
        if repeat is not None:
            metadata = (*reason, ("invocations", str(repeat.count)))
            for tile, place, position, _, _ in rows:
                yield tile, Step("compute", operation, "repeat", place, position, metadata=metadata)
            continue
        if one.kind is StepKind.PHASE:
            phase = program.phases.index(number)
            done = work.rows[phase].done
            for tile, place, _, _, _ in rows:
                events = int(done[LOGICAL[tile]])
                kind, name = ("exchange", "exchange") if events else ("synchronization", "sync")
                yield (
                    tile,
                    Step(kind, operation, name, place, EXCHANGE_PHASE + phase, 0, events, reason),
                )
            continue
        calls = work.calls(one.kind)
        symbols = calls.symbol[calls.of_step(number)].tolist()
        for tile, place, position, first, count in rows:
            name, metadata = calls.names[symbols[first]], (*reason, ("invocations", str(count)))
            yield tile, Step("compute", operation, name, place, position, metadata=metadata)


def sample_bindings(samples: Samples | None, address: int) -> tuple[Binding, ...]:
    """Outputs that bring samples to the host; those of steps begin at ``address`` on every tile."""
    if samples is None:
        return ()
    tiles = samples.tiles
    counts = samples.count[tiles] + 1
    one = np.ones(len(tiles), np.int64)
    return tuple(
        _binding(name, tiles, at, WORD_BYTES * words)
        for name, at, words in (
            ("profile.start-cycle", FIRST_SAMPLE, one),
            ("profile.cycles", address, counts),
            ("profile.end-cycle", LAST_SAMPLE, one),
        )
    )


def _binding(name: str, tiles: IntArray, address: int, size: IntArray) -> Binding:
    parts = (tiles, np.full(len(tiles), address), np.cumsum(size) - size, size)
    slices = Slices(*(part.astype(np.uint64) for part in parts))
    return Binding(name, "u32", (int(size.sum()) // WORD_BYTES,), slices)
