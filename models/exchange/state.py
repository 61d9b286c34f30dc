"""What is taken at each event while transfers are inserted, on bit rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ipuopt.compiled import kernel
from ipuopt.models.exchange.bits import BitRows, fill, next_free, next_taken
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.problem import IntArray


class State(NamedTuple):
    """What is taken at each event, one bit row a tile (or a hot element), and the starts.

    ``starts`` marks the event P of each own send, ``mux`` and ``pointers`` the control events;
    ``sent`` and ``received`` are the accesses of hot elements. ``gap`` is, by tile, an event before
    which no gap between source windows is long enough for any receive.
    """

    sends: BitRows
    windows: BitRows
    writes: BitRows
    starts: BitRows
    mux: BitRows
    pointers: BitRows
    sent: BitRows
    received: BitRows
    gap: IntArray
    start: IntArray


def empty_state(phase: Instance, events: int) -> State:
    """Nothing placed; rows hold events below ``events``.

    Bytes: about 6 bits per tile and event, and 2 per hot element and event.
    """
    words = (events + 63) // 64 + 1

    def rows(count: int) -> npt.NDArray[np.uint64]:
        return np.zeros((max(count, 1), words), np.uint64)

    return State(
        sends=rows(phase.tiles),
        windows=rows(phase.tiles),
        writes=rows(phase.tiles),
        starts=rows(phase.tiles),
        mux=rows(phase.tiles),
        pointers=rows(phase.tiles),
        sent=rows(phase.hot),
        received=rows(phase.hot),
        gap=np.zeros(phase.tiles, np.int64),
        start=np.full(len(phase.words), -1, np.int64),
    )


@kernel
def place(p: Instance, s: State, transfer: int, start: int) -> None:
    """Take everything that ``transfer`` uses when it starts at ``start``."""
    tile, words = p.source[transfer], p.words[transfer]
    s.start[transfer] = start
    fill(s.sends, tile, start, start + words)
    event = start + words - 1 if p.mirror else start
    fill(s.starts, tile, event, event + 1)
    for row in range(p.send_first[transfer], p.send_first[transfer] + p.send_count[transfer]):
        fill(s.sent, row, start, start + words)
    for receive in range(p.bounds[transfer], p.bounds[transfer + 1]):
        tile = p.receiver[receive]
        window, write = start + p.window[receive], start + p.write[receive]
        fill(s.windows, tile, window, window + words)
        if p.both_windows[tile]:
            fill(s.writes, tile, write, write + words)
        # The event after a window and the next one's first coincide when they touch.
        edge = window - 1 if p.mirror else window
        fill(s.mux, tile, edge, edge + 1)
        fill(s.mux, tile, edge + words, edge + words + 1)
        event = write + words - 1 if p.mirror else write
        fill(s.pointers, tile, event, event + 1)
        count = p.receive_count[receive]
        for row in range(p.receive_first[receive], p.receive_first[receive] + count):
            fill(s.received, row, write, write + words)


@kernel
def first_gap(p: Instance, s: State, tile: int) -> int:
    """First event of a gap between source windows that some receive of the tile could use."""
    end = s.windows.shape[1] << 6
    event = int(s.gap[tile])
    while True:
        event = next_free(s.windows, tile, event)
        stop = min(event + p.shortest[tile], end)
        taken = next_taken(s.windows, tile, event, stop)
        if taken == stop:
            break
        event = taken
    s.gap[tile] = event
    return event
