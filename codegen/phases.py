"""Exchange problems of a lowered and placed program, one a phase."""

from __future__ import annotations

import numpy as np

from ipuopt.models.exchange.problem import Problem
from ipuopt.program import IntArray, Program


def phase_slice(program: Program, step: int) -> slice:
    """Transfers of the phase at program step ``step``; tables are sorted by step."""
    first, last = np.searchsorted(program.transfers.step, [step, step + 1])
    return slice(int(first), int(last))


def exchange_problem(program: Program, address: IntArray, phase: int) -> Problem:
    """Transfers of one phase with absolute addresses.

    Parameters
    ----------
    program
        The lowered program.
    address
        Byte address of every shard, shape ``(shards,)``.
    phase
        Position in ``program.phases``. Where it sends from other addresses in each iteration of a
        repeat, the problem has all of them; otherwise those of a transfer are one.
    """
    step = program.phases[phase]
    table, shards = program.transfers, program.shards
    part = phase_slice(program, step)
    bounds = table.destination_start[part.start : part.stop + 1]
    receivers = slice(int(bounds[0]), int(bounds[-1]))
    source, destination = table.source[part], table.destination[receivers]
    sent_from = (address[source] + table.source_offset[part])[:, None]
    repeat = program.repeat_of(step)
    if repeat is not None and table.source_advance[part].any():
        moved = table.source_advance[part][:, None] * np.arange(repeat.count)
        sent_from = sent_from + moved
    return Problem(
        name=f"exchange {phase} {program.steps[step].name}",
        tiles=program.tiles,
        source=shards.tile[source],
        source_address=sent_from,
        words=table.words[part],
        destination_start=bounds - bounds[0],
        destination_tile=shards.tile[destination],
        destination_address=address[destination] + table.destination_offset[receivers],
    )
