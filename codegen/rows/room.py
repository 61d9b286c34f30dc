"""Least size of the exchange rows of a program, before anything is scheduled.

Rows lie in executable memory (:data:`ipuopt.target.memory.ROW_ROOM` bytes without any data), one a
phase and tile. Each message begins with a ``send``, which carries no control; each control event
takes a word of its own, alone or as half of a pair (``ipu21.md`` 3.3, 4). So a row has a word for

* each transfer that the tile sends,
* the source event of each receive, and the neutral event after the last one,
* each pointer event that no schedule makes superfluous: of a receive inside a buffer, at an
  address at which no other receive of the phase ends,
* its last instruction, ``br``.

Paired64 receives have more controls, and long messages more instructions; a schedule adds delays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ipuopt.errors import MOST_OWNERS, Infeasibility, InfeasibleError
from ipuopt.program import IntArray, Program
from ipuopt.target.constants import WORD_BYTES
from ipuopt.target.memory import ROW_ROOM

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Receives:
    """Receives of all phases: phase, shard and words of each, shape ``(receivers,)``."""

    phase: IntArray
    shard: IntArray
    words: IntArray


def least_row_words(program: Program) -> IntArray:
    """Least words of the rows, shape ``(3, phases, tiles)``: for sends, for receives, to return."""
    sends, receives, all_of_them = _messages(program)
    pointer = _needs_pointer(program, all_of_them)
    pointers = _count(program, all_of_them.phase[pointer], all_of_them.shard[pointer])
    return np.stack((sends, receives + (receives > 0) + pointers, np.ones_like(sends)))


def _messages(program: Program) -> tuple[IntArray, IntArray, _Receives]:
    """Sends and receives of every phase and tile, shape ``(phases, tiles)``, and the receives."""
    transfers = program.transfers
    phase = np.searchsorted(program.phases, transfers.step)
    counts = np.diff(transfers.destination_start)
    receives = _Receives(
        np.repeat(phase, counts), transfers.destination, np.repeat(transfers.words, counts)
    )
    sent = _count(program, phase, transfers.source)
    return sent, _count(program, receives.phase, receives.shard), receives


def _count(program: Program, phase: IntArray, shard: IntArray) -> IntArray:
    shape = (len(program.phases), program.tiles)
    place = phase * program.tiles + program.shards.tile[shard]
    return np.bincount(place, minlength=shape[0] * shape[1]).reshape(shape)


def _needs_pointer(program: Program, receives: _Receives) -> BoolArray:
    """Receives inside a buffer that continue no other receive of their phase."""
    offset, shards = program.transfers.destination_offset, program.shards
    stop = int(shards.size_bytes.max(initial=0)) + 1
    begins = (receives.phase * len(shards) + receives.shard) * stop + offset
    result: BoolArray = (offset > 0) & ~np.isin(begins, begins + receives.words * WORD_BYTES)
    return result


def most_row_words(program: Program) -> IntArray:
    """At least the words of :func:`least_row_words`, in less time: two controls for every receive.

    Shape ``(phases, tiles)``.
    """
    sends, receives, _ = _messages(program)
    return sends + 2 * receives + 2


def refuse_long_rows(program: Program) -> None:
    """Raise if the rows of some tile need more executable memory than there is.

    That proves that there is no program, whatever the schedule and wherever data lie.

    Raises
    ------
    InfeasibleError
        Names the tile with the longest rows and its five longest.
    """
    # Most programs are far below.
    if most_row_words(program).sum(axis=0).max(initial=0) * WORD_BYTES <= ROW_ROOM:
        return
    least = least_row_words(program) * WORD_BYTES
    tile = int(least.sum(axis=(0, 1)).argmax())
    to_send, to_receive, _ = least[:, :, tile].sum(axis=1).tolist()
    rows = least[:, :, tile].sum(axis=0)
    demand = int(rows.sum())
    if demand <= ROW_ROOM:
        return
    names = [program.steps[step].name for step in program.phases]
    longest = np.argsort(-rows, kind="stable")[:MOST_OWNERS].tolist()
    step = program.phases[longest[0]]
    raise InfeasibleError(
        Infeasibility(
            where=f"tile {tile}, exchange rows, most of them for step {step} ({names[longest[0]]})",
            demand=demand,
            capacity=ROW_ROOM,
            unit="bytes",
            owners=tuple((names[phase], int(rows[phase])) for phase in longest),
            levers=("layouts that the values move between in longer pieces", "more tiles"),
            parts=(("to send", to_send), ("to receive", to_receive)),
        )
    )
