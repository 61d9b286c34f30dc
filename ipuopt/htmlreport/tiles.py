"""What each tile holds and does: bytes, live bytes over the steps, busy cycles, words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.codegen.phases import phase_slice
from ipuopt.program import IntArray, Program, StepKind
from ipuopt.result import Built
from ipuopt.target.constants import SYNC_CYCLES
from ipuopt.target.memory import DATA_HIGH, DATA_LOW

CAPACITY_BYTES = DATA_LOW[1] - DATA_LOW[0] + DATA_HIGH[1] - DATA_HIGH[0]
"""Bytes of a tile that data may use."""


@dataclass(frozen=True, slots=True)
class TileFacts:
    """Figures by tile.

    Attributes
    ----------
    live_bytes
        Bytes that are live in each step, shape ``(tiles, steps)``.
    used_bytes
        Bytes of all shards that share an address range only in time, shape ``(tiles,)``: what the
        addresses of the tile's shards cover.
    busy_cycles
        Cycles of kernels and copies in all iterations, shape ``(tiles,)``.
    sent, received
        Words by phase in all iterations, shape ``(phases, tiles)``.
    """

    live_bytes: IntArray
    used_bytes: IntArray
    busy_cycles: IntArray
    sent: IntArray
    received: IntArray


def tile_facts(built: Built) -> TileFacts:
    """Figures of every tile of a program."""
    program, shards = built.program, built.program.shards
    change = np.zeros((program.tiles, len(program.steps) + 1), dtype=np.int64)
    np.add.at(change, (shards.tile, shards.live_start), shards.size_bytes)
    np.add.at(change, (shards.tile, shards.live_stop), -shards.size_bytes)
    busy = np.zeros(program.tiles, dtype=np.int64)
    for table in (program.runs, program.copies):
        np.add.at(busy, table.tile, table.cycles * program.times[table.step])
    sent = np.zeros((len(program.phases), program.tiles), dtype=np.int64)
    received = np.zeros_like(sent)
    transfers = program.transfers
    for phase, step in enumerate(program.phases):
        part = phase_slice(program, step)
        words = transfers.words[part] * program.times[step]
        np.add.at(sent[phase], shards.tile[transfers.source[part]], words)
        bounds = transfers.destination_start[part.start : part.stop + 1]
        receivers = shards.tile[transfers.destination[bounds[0] : bounds[-1]]]
        np.add.at(received[phase], receivers, np.repeat(words, np.diff(bounds)))
    return TileFacts(
        live_bytes=change.cumsum(axis=1)[:, :-1],
        used_bytes=_covered(program, built.address),
        busy_cycles=busy,
        sent=sent,
        received=received,
    )


def _covered(program: Program, address: IntArray) -> IntArray:
    """Bytes of each tile that lie in at least one of its shards."""
    shards = program.shards
    order = np.lexsort((address, shards.tile))
    tile, start = shards.tile[order], address[order]
    # One line for all tiles: each has its own stretch of it, longer than any address.
    stretch = tile << 24
    start, stop = start + stretch, start + stretch + shards.size_bytes[order]
    before = np.concatenate(([0], np.maximum.accumulate(stop)[:-1])) if len(stop) else stop
    own = np.maximum(0, stop - np.maximum(start, before))
    result: IntArray = np.bincount(tile, weights=own, minlength=program.tiles).astype(np.int64)
    return result


def cycle_parts(built: Built) -> dict[str, int]:
    """Cycles of the whole program by what takes them; they sum to its total."""
    program = built.program
    cycles, times = program.step_cycles(), program.times[list(program.phases)]
    kinds = np.array([step.kind for step in program.steps])
    return {
        "kernels": int(cycles[kinds == StepKind.RUN].sum()),
        "copies": int(cycles[kinds == StepKind.COPY].sum()),
        "exchange": int((built.horizon * times).sum()),
        "synchronisation": SYNC_CYCLES * int(times.sum()),
    }
