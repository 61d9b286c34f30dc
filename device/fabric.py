"""Rows of one exchange phase, executed event by event on all tiles at once.

A word that tile s sends at event P passes the mux of tile t if t had selected s at X = P + T(s, t) + 1,
and is written at X + 52 + 2 row(t), where the pointer of t says at that event (``ipu21.md`` 3.1). Selecting
acts on words as much later as writing does, so both are looked at when the word is written. A delay ends
with its control; a ``sendpic`` or ``sendpicp`` carries one for the event after its first (``ipu21.md`` 4).
Items of 8 bytes take the path of the sender's partner too: see :mod:`ipuopt.device.paired`.
"""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.device import decode as d
from ipuopt.device import marks as k
from ipuopt.device.issue import issue
from ipuopt.device.paired import turn
from ipuopt.device.receive import note_end, receive
from ipuopt.layout import IntArray
from ipuopt.target.constants import ROW_LATENCY, SOURCE_LATENCY, WORD_BYTES
from ipuopt.target.memory import BASE, STOP
from ipuopt.target.registers import NEUTRAL


@kernel
def run_phase(
    memory: d.Words,
    tiles: IntArray,
    rows: IntArray,
    bases: IntArray,
    time: k.Small,
    way: k.Flags,
    done: IntArray,
) -> tuple[int, d.Whole, d.Whole, d.Whole]:
    """Execute rows until all have ended.

    Parameters
    ----------
    memory
        Words of every physical tile.
    tiles
        Physical tiles that take part, ascending.
    rows
        Address of the first word of each row.
    bases
        Incoming and outgoing base of each, in bytes, shape ``(tiles, 2)``.
    time, way
        T(s, t) and direction between physical tiles.
    done
        Event at which each row ends; written.

    Returns
    -------
    tuple
        Fault, physical tile, event, and a detail; zeros if there was none.
    """
    count = len(tiles)
    bus = np.zeros((len(memory), k.RING), np.uint32)
    flag = np.zeros((len(memory), k.RING), np.int8)
    # One more stands for partners that have no row.
    state = np.zeros((count + 1, k.COLUMNS), np.int64)
    queue = np.zeros((count, 2, k.QUEUE, 2), np.int64)
    # Controls that act at the next two events: of the delay that ends, of the send that has begun.
    control = np.full((count, 4), -1, np.int64)
    ends = np.full((count + 1, k.ENDS), -1, np.int64)
    x = np.zeros(d.MOST_OPERANDS, np.int64)
    # Place of each tile among the tiles; behind them for those that have no row.
    place = np.full(len(memory), count)
    for i in range(count):
        place[tiles[i]] = i
    for i in range(count + 1):
        state[i, k.POINTER], state[i, k.LAST], state[i, k.LAST_OFF] = -1, -1, -1
        state[i, k.DONE], state[i, k.PENDING], state[i, k.AT], state[i, k.SINCE] = -1, -1, -1, -1
        state[i, k.ACTIVE], state[i, k.PAIR], state[i, k.BEFORE] = NEUTRAL, NEUTRAL, NEUTRAL
        state[i, k.AHEAD], state[i, k.WITH_WORD], state[i, k.OPENED] = -1, -1, -1
        state[i, k.FORMAT_PLAN :] = -1
        if i < count:
            state[i, k.PC], state[i, k.ROW] = rows[i], tiles[i] // 64
    state[count, k.DONE] = 0
    paired = False
    open_rows, event = count, 0
    while open_rows > 0:
        slot = event % k.RING
        for i in range(count):
            t = tiles[i]
            flag[t, slot] = 0
            if state[i, k.DONE] >= 0:
                continue
            fault, detail = issue(memory, t, state[i], control[i], queue[i], event, x)
            if fault != k.FINE:
                return fault, t, event, detail
            if state[i, k.DONE] >= 0:
                open_rows -= 1
                done[i] = event
                continue
            if state[i, k.HOLDS]:
                paired = True
            if paired:
                turn(state[i], queue[i, k.ITEMS_OF], event)
            if state[i, k.SENDING]:
                size = 2 if state[i, k.CONTROL] & k.ITEMS else 1
                address = state[i, k.ADDRESS] * size * WORD_BYTES + bases[i, 1]
                if address < BASE or address >= STOP or address % (size * WORD_BYTES):
                    return k.BAD_SEND, t, event, address
                at = (address - BASE) // WORD_BYTES
                bus[t, slot] = memory[t, at]
                if size == 2:
                    paired = True
                    bus[t ^ k.LANE, slot] = memory[t, at + 1]
                state[i, k.READ] = address
                flag[t, slot] = state[i, k.CONTROL] | (k.FIRST if state[i, k.OPENS] else 0)
                state[i, k.OPENS] = 0
                state[i, k.ADDRESS] += 1
        for i in range(count):
            if state[i, k.DONE] >= 0:
                continue
            fault, detail = receive(
                memory, tiles[i], state[i], state[place[tiles[i] ^ k.LANE]], queue[i], event, bus, flag, bases[i],
                time, way, paired,
            )  # fmt: skip
            if fault != k.FINE:
                return fault, tiles[i], event, detail
            source = state[i, k.HEARD]
            if source >= 0:
                far, at = time[source, tiles[i]], place[source]
                sent = (
                    event - k.WRITE_LATENCY - SOURCE_LATENCY - ROW_LATENCY * state[i, k.ROW] - far
                )
                note_end(ends[at], state[at, k.DONE], sent, far)
        event += 1
        if event > k.MOST_EVENTS:
            return k.TOO_LONG, tiles[np.argmin(done)], event, k.MOST_EVENTS
    for i in range(count):
        needed = ends[i].max()
        if needed > done[i]:
            return k.EARLY_END, tiles[i], done[i], needed
    return k.FINE, 0, 0, 0
