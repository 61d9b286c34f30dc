"""(L1) Tables are well formed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ipuopt.codegen.check.ranges import check_ranges
from ipuopt.codegen.check.reading import Reading, Violations, first_of
from ipuopt.layout import IntArray
from ipuopt.program import StepKind
from ipuopt.target.constants import MAX_WORDS, WORD_BYTES
from ipuopt.unrolled import renewed


def check_forms(reading: Reading) -> Violations:
    """Steps, indices, offsets, tiles."""
    shards = reading.program.shards
    found = first_of(
        "L1",
        (shards.tile < 0) | (shards.tile >= reading.plan.tiles),
        lambda i: f"shard {i}: tile {shards.tile[i]} of {reading.plan.tiles}",
    )
    indices = _steps(reading) + _indices(reading) + check_ranges(reading)
    if indices:
        return found + indices
    return found + _moving(reading) + _runs(reading) + _copies(reading) + _transfers(reading)


def _steps(reading: Reading) -> Violations:
    program = reading.program
    kinds = np.array([int(step.kind) for step in program.steps], dtype=np.int64)
    found: Violations = ()
    for name, kind in (
        ("runs", StepKind.RUN),
        ("copies", StepKind.COPY),
        ("transfers", StepKind.PHASE),
    ):
        step: IntArray = getattr(program, name).step
        if len(step) and (step.min() < 0 or step.max() >= len(kinds)):
            found += (("L1", f"{name}: a step is not one of the {len(kinds)}"),)
        elif np.any(np.diff(step) < 0) or np.any(kinds[step] != kind):
            found += (("L1", f"{name}: steps do not ascend or are no {kind.name} steps"),)
        missing = np.setdiff1d(np.flatnonzero(kinds == kind), step)
        found += tuple(
            ("L1", f"step {i} {program.steps[i].name}: has no {name}") for i in missing[:1]
        )
    return found


def _indices(reading: Reading) -> Violations:
    program, count = reading.program, len(reading.program.shards)
    runs, copies, transfers = program.runs, program.copies, program.transfers
    found: Violations = ()
    for name, shard, least in (
        ("run output", runs.output, 0),
        ("run input0", runs.input0, -1),
        ("run input1", runs.input1, -1),
        ("copy source", copies.source, 0),
        ("copy destination", copies.destination, 0),
        ("transfer source", transfers.source, 0),
        ("receiver", transfers.destination, 0),
    ):
        wrong = np.flatnonzero((shard < least) | (shard >= count))
        found += tuple(("L1", f"{name} {i}: shard {shard[i]} of {count}") for i in wrong[:1])
    bounds = program.transfers.destination_start
    if bounds[0] != 0 or bounds[-1] != len(program.transfers.destination):
        found += (("L1", "transfers: bounds of the receivers do not span them"),)
    if np.any(np.diff(bounds) < 1):
        found += (("L1", "transfers: one has no receiver"),)
    return found


def _moving(reading: Reading) -> Violations:
    """Only shards that a repeat has anew in each iteration hold rectangles that move."""
    shards = reading.program.shards
    moves = (shards.row_advance != 0) | (shards.column_advance != 0)
    return first_of(
        "L1",
        moves & (renewed(reading.program) < 0),
        lambda i: (
            f"{reading.name(i)} moves by {shards.row_advance[i]} rows and "
            f"{shards.column_advance[i]} columns an iteration, but is no temporary of one repeat"
        ),
    )


def _span(
    reading: Reading, what: str, shard: IntArray, offset: IntArray, size: IntArray
) -> Violations:
    """Whole words inside the shard; ``size`` in bytes."""
    room = reading.program.shards.size_bytes[shard]
    bad = (
        (offset < 0) | (offset + size > room) | (offset % WORD_BYTES > 0) | (size % WORD_BYTES > 0)
    )
    return first_of(
        "L1",
        bad,
        lambda i: (
            f"{what} {i}: {size[i]} bytes at offset {offset[i]} of {reading.name(shard[i])}, "
            f"which has {room[i]}; both must be multiples of {WORD_BYTES}"
        ),
    )


def _operand(
    reading: Reading,
    what: str,
    table: Any,
    operand: str,
    size: IntArray,
    beyond: IntArray | int = 0,
) -> Violations:
    """The span of an operand, ``beyond`` its offset; in a repeat, in the last iteration too."""
    shard = getattr(table, operand)
    offset = getattr(table, f"{operand}_offset") + beyond
    used = np.flatnonzero(shard >= 0)
    found = _span(reading, f"{what} {operand}", shard[used], offset[used], size[used])
    if reading.program.repeats:
        advance = getattr(table, f"{operand}_advance")
        last = offset + advance * (reading.program.times[table.step] - 1)
        found += _span(reading, f"last {what} {operand}", shard[used], last[used], size[used])
    return found


def _on_tile(reading: Reading, what: str, tile: IntArray, shard: IntArray) -> Violations:
    return first_of(
        "L1",
        (shard >= 0) & (reading.program.shards.tile[shard] != tile),
        lambda i: f"{what} {i} on tile {tile[i]} uses {reading.name(shard[i])}",
    )


def _runs(reading: Reading) -> Violations:
    runs = reading.program.runs
    found: Violations = ()
    for name in ("output", "input0", "input1"):
        found += _on_tile(reading, f"run {name}", runs.tile, getattr(runs, name))
        found += _operand(reading, "run", runs, name, np.zeros_like(runs.tile))
    return found


def _copies(reading: Reading) -> Violations:
    copies = reading.program.copies
    size, count = copies.size_bytes, copies.count
    found = first_of(
        "L1",
        (size < 1) | (count < 1),
        lambda i: f"copy {i}: {count[i]} rows of {size[i]} bytes",
    )
    for side in ("source", "destination"):
        shard, offset = getattr(copies, side), getattr(copies, f"{side}_offset")
        found += _on_tile(reading, f"copy {side}", copies.tile, shard)
        found += _span(reading, f"copy {side}", shard, offset, size)
        rows = (count - 1) * getattr(copies, f"{side}_stride")
        found += _operand(reading, "copy", copies, side, size, rows)
    return found + first_of(
        "L1",
        np.minimum(copies.source_stride, copies.destination_stride) < size,
        lambda i: f"copy {i}: rows of {size[i]} bytes overlap",
    )


def _transfers(reading: Reading) -> Violations:
    table, tiles = reading.program.transfers, reading.program.shards.tile
    transfer, size = reading.receiver_transfer, table.words * WORD_BYTES
    receiver = tiles[table.destination]
    key = np.sort(transfer * reading.plan.tiles + receiver)
    twice = np.zeros(len(key), dtype=np.bool_)
    twice[1:] = key[1:] == key[:-1]
    return (
        first_of(
            "L1",
            (table.words < 1) | (table.words > MAX_WORDS),
            lambda i: f"transfer {i}: {table.words[i]} words, must be 1..{MAX_WORDS}",
        )
        + _operand(reading, "transfer", table, "source", size)
        + _span(reading, "receiver", table.destination, table.destination_offset, size[transfer])
        + first_of(
            "L1",
            receiver == tiles[table.source[transfer]],
            lambda i: f"transfer {transfer[i]}: tile {receiver[i]} sends to itself",
        )
        + first_of(
            "L1",
            twice,
            lambda i: f"transfer {key[i] // reading.plan.tiles}: two receivers on one tile",
        )
    )
