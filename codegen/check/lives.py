"""(L5) Lifetimes cover every use, and content is there before it is read."""

from __future__ import annotations

import numpy as np

from ipuopt.codegen.check.reading import Reading, Violations, first_of
from ipuopt.layout import IntArray
from ipuopt.plan import Origin
from ipuopt.program import Role

Uses = list[tuple[IntArray, IntArray]]
"""Shards, negative for none, and steps that use them."""


def check_uses(reading: Reading) -> Violations:
    """Uses inside the lifetime; what a repeat uses lives from its entry to its exit."""
    reads, writes = _uses(reading)
    found: Violations = ()
    for shard, step in reads + writes:
        found += _inside(reading, shard, step)
    return found


def _uses(reading: Reading) -> tuple[Uses, Uses]:
    """Reads and writes."""
    program = reading.program
    runs, copies = program.runs, program.copies
    reads: Uses = [
        (runs.input0, runs.step),
        (runs.input1, runs.step),
        (copies.source, copies.step),
        (program.transfers.source, program.transfers.step),
    ]
    writes: Uses = [
        (runs.output, runs.step),
        (copies.destination, copies.step),
        (program.transfers.destination, reading.receiver_step),
    ]
    return reads, writes


def check_lives(reading: Reading) -> Violations:
    """Uses inside the lifetime; first write before first read."""
    shards, steps = reading.program.shards, len(reading.program.steps)
    reads, writes = _uses(reading)
    found = check_uses(reading)
    value = shards.role == Role.VALUE
    loaded = np.array([v.origin is not Origin.COMPUTED for v in reading.plan.values])[shards.value]
    kept = np.array([v.is_output for v in reading.plan.values])[shards.value]
    found += first_of(
        "L5",
        (value & loaded & (shards.live_start > 0))
        | (value & kept & (shards.live_stop < steps))
        | (shards.live_start < 0)
        | (shards.live_start >= shards.live_stop)
        | (shards.live_stop > max(steps, 1)),
        lambda i: (
            f"{reading.name(i)} lives {shards.live_start[i]}..{shards.live_stop[i]} of "
            f"{steps} steps"
        ),
    )
    first_write, first_read = _first(reading, writes), _first(reading, reads)
    first_write[value & loaded] = -1
    return found + first_of(
        "L5",
        (first_read < steps) & (first_write >= first_read),
        lambda i: f"step {first_read[i]} reads {reading.name(i)} before anything is written to it",
    )


def _inside(reading: Reading, shard: IntArray, step: IntArray) -> Violations:
    shards = reading.program.shards
    used = np.flatnonzero(shard >= 0)
    of, when = shard[used], step[used]
    entry, exit = np.arange(len(reading.program.steps)), np.arange(len(reading.program.steps))
    for repeat in reading.program.repeats:
        entry[repeat.first : repeat.stop] = repeat.first
        exit[repeat.first : repeat.stop] = repeat.stop - 1
    return first_of(
        "L5",
        (entry[when] < shards.live_start[of]) | (exit[when] >= shards.live_stop[of]),
        lambda i: (
            f"step {when[i]} uses {reading.name(of[i])}, which lives "
            f"{shards.live_start[of[i]]}..{shards.live_stop[of[i]]}"
        ),
    )


def _first(reading: Reading, uses: list[tuple[IntArray, IntArray]]) -> IntArray:
    first = np.full(len(reading.program.shards), len(reading.program.steps), dtype=np.int64)
    for shard, step in uses:
        used = shard >= 0
        np.minimum.at(first, shard[used], step[used])
    return first
