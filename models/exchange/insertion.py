"""Earliest fit of transfers into the gaps of all their buses at once, on bit rows.

Every conflict names its last taken event, so the start jumps past it: no start in between can be
free of that conflict. A start free of all conflicts is hence the earliest one from where the
search began.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ipuopt.compiled import kernel
from ipuopt.models.exchange.bits import BitRows, clear, fill, last_taken, next_free, next_taken
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


def empty_state(problem: Instance, events: int) -> State:
    """Nothing placed; rows hold events below ``events``.

    Bytes: about 6 bits per tile and event, and 2 per hot element and event.
    """
    words = (events + 63) // 64 + 1

    def rows(count: int) -> npt.NDArray[np.uint64]:
        return np.zeros((max(count, 1), words), np.uint64)

    tiles, hot = problem.tiles, problem.hot
    return State(
        sends=rows(tiles),
        windows=rows(tiles),
        writes=rows(tiles),
        starts=rows(tiles),
        mux=rows(tiles),
        pointers=rows(tiles),
        sent=rows(hot),
        received=rows(hot),
        gap=np.zeros(tiles, np.int64),
        start=np.full(len(problem.words), -1, np.int64),
    )


@kernel
def _send_shift(p: Instance, s: State, transfer: int, start: int) -> int:
    """Events by which ``start`` must move for the sender's sake; 0 when it fits."""
    tile, words = p.source[transfer], p.words[transfer]
    taken = last_taken(s.sends[tile], start, start + words)  # (E2)
    if taken >= 0:
        return int(taken + 1 - start)
    first = start + words - 2 if p.mirror else start
    taken = max(  # (E4)
        last_taken(s.mux[tile], first, first + 2), last_taken(s.pointers[tile], first, first + 2)
    )
    if taken >= 0:
        return int(taken + 1 - first)
    if p.send_count[transfer]:  # (E6)
        before, after = p.receive_extra[tile], p.send_extra[transfer]
        if p.mirror:
            before, after = after, before
        for row in range(p.send_count[transfer]):
            taken = last_taken(
                s.received[p.send_first[transfer] + row], start - before, start + words + after
            )
            if taken >= 0:
                return int(taken + 1 - (start - before))
    return 0


@kernel
def _receive_shift(p: Instance, s: State, words: int, receive: int, start: int) -> int:
    """Events by which ``start`` must move for one receiver's sake; 0 when it fits."""
    tile = p.receiver[receive]
    window = start + p.window[receive]
    taken = last_taken(s.windows[tile], window, window + words)  # (E3)
    if taken >= 0:
        return int(taken + 1 - window)
    write = start + p.write[receive]
    if p.both_windows[tile]:
        taken = last_taken(s.writes[tile], write, write + words)  # (E3)
        if taken >= 0:
            return int(taken + 1 - write)
    # (E4): control event c against own sends at c - 1 and c; mirrored at c and c + 1.
    first = 0 if p.mirror else -1
    opening = window + words - 1 if p.mirror else window
    closing = window - 1 if p.mirror else window + words
    pointer = write + words - 1 if p.mirror else write
    for control in (opening, closing, pointer):
        taken = last_taken(s.starts[tile], control + first, control + first + 2)
        if taken >= 0:
            return int(taken + 1 - (control + first))
    if p.receive_count[receive]:  # (E6)
        before, after = p.send_extra_most[tile], p.receive_extra[tile]
        if p.mirror:
            before, after = after, before
        for row in range(p.receive_count[receive]):
            taken = last_taken(
                s.sent[p.receive_first[receive] + row], write - before, write + words + after
            )
            if taken >= 0:
                return int(taken + 1 - (write - before))
    return 0


@kernel
def first_gap(p: Instance, s: State, tile: int) -> int:
    """First event of a gap between source windows that some receive of the tile could use."""
    row = s.windows[tile]
    event = int(s.gap[tile])
    while True:
        event = next_free(row, event)
        stop = min(event + p.shortest[tile], len(row) << 6)
        taken = next_taken(row, event, stop)
        if taken == stop:
            break
        event = taken
    s.gap[tile] = event
    return event


@kernel
def earliest(p: Instance, s: State, transfer: int, start: int, latest: int) -> int:
    """Earliest start from ``start`` on without conflict; -1 if it would be after ``latest``."""
    words = p.words[transfer]
    first = p.bounds[transfer]
    parts = p.bounds[transfer + 1] - first + 1
    for receive in range(first, p.bounds[transfer + 1]):
        start = max(start, first_gap(p, s, p.receiver[receive]) - int(p.window[receive]))
    part, fitting = 0, 0
    while fitting < parts:
        if start > latest:
            return -1
        if part == 0:
            shift = _send_shift(p, s, transfer, start)
        else:
            shift = _receive_shift(p, s, words, first + part - 1, start)
        if shift:
            start += shift
            fitting = 0
        else:
            fitting += 1
            part = part + 1 if part + 1 < parts else 0
    return start


@kernel
def place(p: Instance, s: State, transfer: int, start: int) -> None:
    """Take everything that ``transfer`` uses when it starts at ``start``."""
    tile, words = p.source[transfer], p.words[transfer]
    s.start[transfer] = start
    fill(s.sends[tile], start, start + words)
    event = start + words - 1 if p.mirror else start
    fill(s.starts[tile], event, event + 1)
    for row in range(p.send_first[transfer], p.send_first[transfer] + p.send_count[transfer]):
        fill(s.sent[row], start, start + words)
    for receive in range(p.bounds[transfer], p.bounds[transfer + 1]):
        tile = p.receiver[receive]
        window, write = start + p.window[receive], start + p.write[receive]
        fill(s.windows[tile], window, window + words)
        if p.both_windows[tile]:
            fill(s.writes[tile], write, write + words)
        # The event after a window and the next one's first coincide when they touch.
        edge = window - 1 if p.mirror else window
        fill(s.mux[tile], edge, edge + 1)
        fill(s.mux[tile], edge + words, edge + words + 1)
        event = write + words - 1 if p.mirror else write
        fill(s.pointers[tile], event, event + 1)
        count = p.receive_count[receive]
        for row in range(p.receive_first[receive], p.receive_first[receive] + count):
            fill(s.received[row], write, write + words)


@kernel
def remove(p: Instance, s: State, transfer: int) -> None:
    """Undo :func:`place`."""
    tile, words, start = p.source[transfer], p.words[transfer], s.start[transfer]
    s.start[transfer] = -1
    clear(s.sends[tile], start, start + words)
    event = start + words - 1 if p.mirror else start
    clear(s.starts[tile], event, event + 1)
    for row in range(p.send_first[transfer], p.send_first[transfer] + p.send_count[transfer]):
        clear(s.sent[row], start, start + words)
    for receive in range(p.bounds[transfer], p.bounds[transfer + 1]):
        tile = p.receiver[receive]
        window, write = start + p.window[receive], start + p.write[receive]
        clear(s.windows[tile], window, window + words)
        s.gap[tile] = min(s.gap[tile], window)
        if p.both_windows[tile]:
            clear(s.writes[tile], write, write + words)
        edge = window - 1 if p.mirror else window
        # A neighbour that touches the window keeps the event that both share.
        if last_taken(s.windows[tile], window - 1, window) < 0:
            clear(s.mux[tile], edge, edge + 1)
        if last_taken(s.windows[tile], window + words, window + words + 1) < 0:
            clear(s.mux[tile], edge + words, edge + words + 1)
        event = write + words - 1 if p.mirror else write
        clear(s.pointers[tile], event, event + 1)
        count = p.receive_count[receive]
        for row in range(p.receive_first[receive], p.receive_first[receive] + count):
            clear(s.received[row], write, write + words)


@kernel
def ready(p: Instance, s: State, transfer: int) -> int:
    """Least start of a transfer that its head and its placed predecessors allow (E1, E5)."""
    start = int(p.head[transfer])
    for pair in range(p.before_bounds[transfer], p.before_bounds[transfer + 1]):
        start = max(start, int(s.start[p.before[pair]] + p.lag[pair]))
    return start


@kernel
def insert_all(p: Instance, s: State, order: IntArray, horizon: int) -> bool:
    """Place transfers in ``order`` (a topological one), each at its earliest fit.

    False as soon as one would end after ``horizon``.
    """
    for transfer in order:
        latest = horizon - p.tail[transfer]
        start = earliest(p, s, transfer, ready(p, s, transfer), latest)
        if start < 0:
            return False
        place(p, s, transfer, start)
    return True


@kernel
def append_all(p: Instance, s: State, order: IntArray, horizon: int) -> bool:
    """As :func:`insert_all`, but never before the previous ends on the transfer's own buses.

    The rule of the public compiler (``ipu21.md`` 3.4): P - P0 is not before the previous send end
    of the source, nor before the previous write end of any receiver.
    """
    send_end = np.zeros(p.tiles, np.int64)
    write_end = np.zeros(p.tiles, np.int64)
    for transfer in order:
        tile, words = p.source[transfer], p.words[transfer]
        receives = range(p.bounds[transfer], p.bounds[transfer + 1])
        free = send_end[tile]
        for receive in receives:
            free = max(free, write_end[p.receiver[receive]])
        start = max(free + p.head[transfer], ready(p, s, transfer))
        start = earliest(p, s, transfer, start, horizon - p.tail[transfer])
        if start < 0:
            return False
        place(p, s, transfer, start)
        send_end[tile] = start + words
        for receive in receives:
            write_end[p.receiver[receive]] = start + p.write[receive] + words
    return True
