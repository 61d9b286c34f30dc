"""Rows of one exchange phase, executed event by event on all tiles at once.

A word that tile s sends at event P passes the mux of tile t if t had selected s at X = P + T(s, t) + 1,
and is written at X + 52 + 2 row(t), where the pointer of t says at that event (``ipu21.md`` 3.1). Selecting
acts on words as much later as writing does, so both are looked at when the word is written. A delay ends
with its control; a ``sendpic`` or ``sendpicp`` carries one for the event after its first (``ipu21.md`` 4).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ipuopt.compiled import inner_kernel, kernel
from ipuopt.device import decode as d
from ipuopt.layout import IntArray
from ipuopt.target.constants import RECEIVE_LATENCY, ROW_LATENCY, SOURCE_LATENCY, WORD_BYTES
from ipuopt.target.memory import (
    BASE,
    EXECUTABLE_END,
    INTERLEAVED_BASE,
    INTERLEAVED_ELEMENT,
    STANDARD_ELEMENT,
    STOP,
)

Small = npt.NDArray[np.int16]
Flags = npt.NDArray[np.int8]

WRITE_LATENCY = 52
"""Events from the source window to the write window on row 0 (ipu21.md 3.1)."""
NEUTRAL = 0x640
"""Mux of no source (ipu21.md 3.3)."""
LOOKAHEAD = 64
"""Bytes past an instruction that are fetched too (ipu21.md 2)."""
FINE = 0
(
    BAD_WORD,
    ODD_PAIR,
    OUTSIDE_CODE,
    WIDE,
    NO_MESSAGE,
    NO_DIRECTION,
    BAD_SEND,
    ON_START,
    BAD_SOURCE,
    CUT,
    LATE,
    SILENT,
    OVERLAP,
    NO_POINTER,
    MOVED,
    BAD_POINTER,
    CLASH,
    FETCH_CLASH,
    EARLY_END,
    SELECTED,
    RESTART,
) = range(1, 22)
"""What a phase can do wrong; :data:`ipuopt.device.faults.FAULTS` says it in words."""
_RING = 256
"""Events that words stay on the fabric; more than any route takes."""
_QUEUE = 256
"""Selections of a tile that have not acted yet; more than events in their latency."""
_FIRST = 8
_WAYS = 3
(_PC, _LEFT, _ADDRESS, _CONTROL, _SENDING, _OPENS, _AT, _POINTER, _ACTIVE, _HEAD, _TAIL, _LAST, _DONE,
 _PENDING, _ROW) = range(15)  # fmt: skip
_XPIC, _XPIC_VALUE, _PIC, _PIC_VALUE = range(4)


@inner_kernel
def _element(address: int) -> int:
    if address < INTERLEAVED_BASE:
        return address // STANDARD_ELEMENT
    standard = INTERLEAVED_BASE // STANDARD_ELEMENT
    return standard + (address - INTERLEAVED_BASE) // INTERLEAVED_ELEMENT


@kernel
def run_phase(
    memory: d.Words,
    tiles: IntArray,
    rows: IntArray,
    bases: IntArray,
    time: Small,
    way: Flags,
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
    bus = np.zeros((len(memory), _RING), np.uint32)
    flag = np.zeros((len(memory), _RING), np.int8)
    state = np.zeros((count, 15), np.int64)
    queue = np.zeros((count, _QUEUE, 2), np.int64)
    # Controls that act at the next two events: of the delay that ends, of the send that has begun.
    control = np.full((count, 4), -1, np.int64)
    x = np.zeros(d.MOST_OPERANDS, np.int64)
    for i in range(count):
        state[i, _PC], state[i, _POINTER], state[i, _ACTIVE] = rows[i], -1, NEUTRAL
        state[i, _LAST], state[i, _DONE], state[i, _PENDING], state[i, _AT] = -1, -1, -1, -1
        state[i, _ROW] = tiles[i] // 64
    open_rows, event = count, 0
    while open_rows > 0:
        slot = event % _RING
        for i in range(count):
            t = tiles[i]
            flag[t, slot] = 0
            if state[i, _DONE] >= 0:
                continue
            fault, detail = _issue(memory, t, state[i], control[i], queue[i], event, x)
            if fault != FINE:
                return fault, t, event, detail
            if state[i, _DONE] >= 0:
                open_rows -= 1
                done[i] = event
                continue
            if state[i, _SENDING]:
                address = state[i, _ADDRESS] * WORD_BYTES + bases[i, 1]
                if address < BASE or address >= STOP:
                    return BAD_SEND, t, event, address
                bus[t, slot] = memory[t, (address - BASE) // WORD_BYTES]
                flag[t, slot] = state[i, _CONTROL] | (_FIRST if state[i, _OPENS] else 0)
                state[i, _OPENS] = 0
                state[i, _ADDRESS] += 1
        for i in range(count):
            if state[i, _DONE] >= 0:
                continue
            fault, detail = _receive(
                memory, tiles[i], state[i], queue[i], event, bus, flag, bases[i], time, way
            )
            if fault != FINE:
                return fault, tiles[i], event, detail
        event += 1
    return FINE, 0, 0, 0


@inner_kernel
def _issue(
    memory: d.Words,
    t: int,
    state: IntArray,
    control: IntArray,
    queue: IntArray,
    event: int,
    x: IntArray,
) -> tuple[int, d.Whole]:
    """Controls that act now, and the instruction that begins now, if any."""
    if state[_LEFT] > 0:
        state[_LEFT] -= 1
        if state[_AT] == event:
            state[_AT] = -1
            return _apply(t, state, control, queue, event)
        return FINE, 0
    acts = state[_AT] == event
    if acts:
        state[_AT] = -1
        fault, detail = _apply(t, state, control, queue, event)
        if fault != FINE:
            return fault, detail
    pc = state[_PC]
    if pc < BASE or pc + WORD_BYTES > EXECUTABLE_END:
        return OUTSIDE_CODE, pc
    at = (pc - BASE) // WORD_BYTES
    word = np.int64(memory[t, at])
    name = d.name_of(word)
    if name == d.NONE or name > d.BR:
        return BAD_WORD, word
    second = np.int64(0)
    if d.LENGTH[name] == 2:
        if pc % (2 * WORD_BYTES):
            return ODD_PAIR, pc
        second = np.int64(memory[t, at + 1])
    d.split(name, word, second, x)
    if name == d.BR:
        return _end(state, queue, event)
    state[_PC] = pc + WORD_BYTES * d.LENGTH[name]
    state[_LEFT] = x[0]
    went = state[_SENDING]
    state[_SENDING] = 0
    if name == d.DELAYPIC or name == d.DELAYXPIC:
        kind = _PIC if name == d.DELAYPIC else _XPIC
        _plan(state, control, event + x[0] + 1, kind, x[1], x[2])
    elif name == d.SEND:
        if acts:
            return ON_START, 0
        if x[2] & ~_WAYS:
            return WIDE, 0
        if x[2] == 0:
            return NO_DIRECTION, 0
        state[_SENDING], state[_OPENS] = 1, 1
        state[_ADDRESS], state[_CONTROL] = x[1], x[2]
    elif name == d.SENDOFF or name == d.SENDPIC:
        if not went:
            return NO_MESSAGE, 0
        state[_SENDING] = 1
        if name == d.SENDOFF and x[2] != state[_CONTROL]:
            return RESTART, x[2]
        if name == d.SENDPIC:
            kind = _XPIC if x[1] < 2 else _PIC
            _plan(state, control, event + 1, kind, x[1] % 2, x[2])
    elif name == d.SENDPICP:
        if x[2] > 0:
            if not went:
                return NO_MESSAGE, 0
            if x[2] != state[_CONTROL] or x[1] != state[_ADDRESS]:
                return RESTART, x[1] * WORD_BYTES
            state[_SENDING] = 1
        _plan(state, control, event + 1, _PIC, x[3], x[4])
        _plan(state, control, event + 1, _XPIC, x[5], x[6])
    return FINE, 0


@inner_kernel
def _plan(
    state: IntArray, control: IntArray, event: int, kind: int, selector: int, value: int
) -> None:
    state[_AT] = event
    control[kind], control[kind + 1] = selector, value


@inner_kernel
def _apply(
    t: int, state: IntArray, control: IntArray, queue: IntArray, event: int
) -> tuple[int, int]:
    """Let the controls of this event act; a pointer is left for the write of the same event."""
    if control[_XPIC] >= 0:
        source = control[_XPIC_VALUE]
        if control[_XPIC] > 0:
            return WIDE, 0
        if source != NEUTRAL and source == t:
            return BAD_SOURCE, source
        tail = state[_TAIL]
        queue[tail % _QUEUE, 0] = event + WRITE_LATENCY + ROW_LATENCY * state[_ROW]
        queue[tail % _QUEUE, 1] = source
        state[_TAIL], state[_LAST] = tail + 1, event
        control[_XPIC] = -1
    if control[_PIC] > 0:
        return WIDE, 0
    if control[_PIC] == 0:
        state[_PENDING] = control[_PIC_VALUE]
        control[_PIC] = -1
    return FINE, 0


@inner_kernel
def _end(state: IntArray, queue: IntArray, event: int) -> tuple[int, int]:
    """End of a row: its mux must have been free for as long as its last words take."""
    state[_SENDING] = 0
    last = state[_LAST]
    if last >= 0:
        if queue[(state[_TAIL] - 1) % _QUEUE, 1] != NEUTRAL:
            return SELECTED, queue[(state[_TAIL] - 1) % _QUEUE, 1]
        due = last + RECEIVE_LATENCY + ROW_LATENCY * state[_ROW]
        if event < due:
            return EARLY_END, due
    state[_DONE] = event
    return FINE, 0


@inner_kernel
def _receive(
    memory: d.Words,
    t: int,
    state: IntArray,
    queue: IntArray,
    event: int,
    bus: d.Words,
    flag: Flags,
    bases: IntArray,
    time: Small,
    way: Flags,
) -> tuple[int, int]:
    """The word that is written now, and every access of this event."""
    read = -1
    if state[_SENDING]:
        read = _element(state[_ADDRESS] * WORD_BYTES - WORD_BYTES + bases[1])
    near = _element(state[_PC])
    far = _element(state[_PC] + LOOKAHEAD)
    if read == near or read == far:
        return FETCH_CLASH, read
    late = event - WRITE_LATENCY - ROW_LATENCY * state[_ROW] - SOURCE_LATENCY
    switches = False
    head = state[_HEAD]
    if head < state[_TAIL] and queue[head % _QUEUE, 0] == event:
        before = state[_ACTIVE]
        if before != NEUTRAL:
            heard = _heard(flag, before, t, late - time[before, t], way)
            if heard > 0 and heard & _FIRST == 0:
                return CUT, before
        state[_ACTIVE] = queue[head % _QUEUE, 1]
        state[_HEAD] = head + 1
        switches = True
    source = state[_ACTIVE]
    heard = 0
    if source != NEUTRAL:
        if source < 0 or source >= len(time):
            return BAD_SOURCE, source
        left = late - time[source, t]
        heard = _heard(flag, source, t, left, way)
        if heard == 0:
            return SILENT, source
        opens = heard & _FIRST > 0
        if switches and not opens:
            return LATE, source
        if opens and not switches:
            return OVERLAP, source
    if state[_PENDING] >= 0:
        if heard > 0 and heard & _FIRST == 0:
            return MOVED, source
        state[_POINTER] = state[_PENDING]
        state[_PENDING] = -1
        address = state[_POINTER] * WORD_BYTES + bases[0]
        if address < BASE or address >= STOP:
            return BAD_POINTER, address
    if heard == 0:
        return FINE, 0
    if state[_POINTER] < 0:
        return NO_POINTER, source
    address = state[_POINTER] * WORD_BYTES + bases[0]
    if address < BASE or address >= STOP:
        return BAD_POINTER, address
    element = _element(address)
    if element == read:
        return CLASH, element
    if element == near or element == far:
        return FETCH_CLASH, element
    memory[t, (address - BASE) // WORD_BYTES] = bus[source, left % _RING]
    state[_POINTER] += 1
    return FINE, 0


@inner_kernel
def _heard(flag: Flags, source: int, t: int, event: int, way: Flags) -> int:
    """Mark of the word that left ``source`` at an event, 0 if there was none for ``t``."""
    if event < 0:
        return 0
    mark = flag[source, event % _RING]
    return mark if mark & way[source, t] else 0
