"""What is taken at each event while transfers are inserted, on bit rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipuopt.compiled import inner_kernel
from ipuopt.models.exchange.bits import BitRows, fill, next_free, next_taken
from ipuopt.models.exchange.claims import FILL_FIRST, FILL_LENGTH, FILL_ROW
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.problem import IntArray


class State(NamedTuple):
    """Bit rows of what is taken, and the starts; -1 before a transfer is placed.

    ``gap`` is, by bus row, an event before which no gap is long enough for any claim on it.
    """

    rows: BitRows
    gap: IntArray
    start: IntArray


def empty_state(phase: Instance, events: int) -> State:
    """Nothing placed; rows hold events below ``events``.

    Bytes: about 6 bits per tile and event, and 2 per hot element and event.
    """
    words = (events + 63) // 64 + 1
    return State(
        rows=np.zeros((max(phase.rows, 1), words), np.uint64),
        gap=np.zeros(len(phase.shortest), np.int64),
        start=np.full(len(phase.words), -1, np.int64),
    )


@inner_kernel
def place(p: Instance, s: State, transfer: int, start: int) -> None:
    """Take everything that ``transfer`` uses when it starts at ``start``."""
    s.start[transfer] = start
    for claim in range(p.claim_start[transfer], p.claim_start[transfer + 1]):
        first = start + p.claims[claim, FILL_FIRST]
        fill(s.rows, p.claims[claim, FILL_ROW], first, first + p.claims[claim, FILL_LENGTH])


@inner_kernel
def first_gap(p: Instance, s: State, row: int) -> int:
    """First event of a gap of a bus row that some claim on it could use."""
    end = s.rows.shape[1] << 6
    event = int(s.gap[row])
    while True:
        event = next_free(s.rows, row, event)
        stop = min(event + p.shortest[row], end)
        taken = next_taken(s.rows, row, event, stop)
        if taken == stop:
            break
        event = taken
    s.gap[row] = event
    return event
