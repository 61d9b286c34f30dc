"""What a tile writes at an event, and every access to its memory then."""

from __future__ import annotations

from ipuopt.compiled import inner_kernel
from ipuopt.device import decode as d
from ipuopt.device import marks as k
from ipuopt.layout import IntArray
from ipuopt.target.constants import ROW_LATENCY, SOURCE_LATENCY, WORD_BYTES
from ipuopt.target.memory import (
    BASE,
    INTERLEAVED_BASE,
    INTERLEAVED_ELEMENT,
    LOOKAHEAD,
    STANDARD_ELEMENT,
    STOP,
)
from ipuopt.target.registers import NEUTRAL


@inner_kernel
def _element(address: int) -> int:
    if address < INTERLEAVED_BASE:
        return address // STANDARD_ELEMENT
    standard = INTERLEAVED_BASE // STANDARD_ELEMENT
    return standard + (address - INTERLEAVED_BASE) // INTERLEAVED_ELEMENT


@inner_kernel
def receive(
    memory: d.Words,
    t: int,
    state: IntArray,
    queue: IntArray,
    event: int,
    bus: d.Words,
    flag: k.Flags,
    bases: IntArray,
    time: k.Small,
    way: k.Flags,
) -> tuple[int, int]:
    """The word that is written now, and every access of this event."""
    read = -1
    if state[k.SENDING]:
        read = _element(state[k.ADDRESS] * WORD_BYTES - WORD_BYTES + bases[1])
    near = _element(state[k.PC])
    far = _element(state[k.PC] + LOOKAHEAD)
    if read == near or read == far:
        return k.FETCH_CLASH, read
    late = event - k.WRITE_LATENCY - ROW_LATENCY * state[k.ROW] - SOURCE_LATENCY
    switches = False
    head = state[k.HEAD]
    if head < state[k.TAIL] and queue[head % k.QUEUE, 0] == event:
        before = state[k.ACTIVE]
        if before != NEUTRAL:
            heard = _heard(flag, before, t, late - time[before, t], way)
            if heard > 0 and heard & k.FIRST == 0:
                return k.CUT, before
        state[k.ACTIVE] = queue[head % k.QUEUE, 1]
        state[k.HEAD] = head + 1
        switches = True
    source = state[k.ACTIVE]
    heard = 0
    if source != NEUTRAL:
        if source < 0 or source >= len(time):
            return k.BAD_SOURCE, source
        left = late - time[source, t]
        heard = _heard(flag, source, t, left, way)
        if heard == 0:
            return k.SILENT, source
        opens = heard & k.FIRST > 0
        if switches and not opens:
            return k.LATE, source
        if opens and not switches:
            return k.OVERLAP, source
    if state[k.PENDING] >= 0:
        inside = heard > 0 and heard & k.FIRST == 0
        if inside and not _short_next(state, queue, event):
            return k.MOVED, source
        if not inside:
            state[k.POINTER] = state[k.PENDING]
            state[k.PENDING] = -1
        due = state[k.PENDING] if inside else state[k.POINTER]
        address = due * WORD_BYTES + bases[0]
        if address < BASE or address >= STOP:
            return k.BAD_POINTER, address
    if heard == 0:
        return k.FINE, 0
    if state[k.POINTER] < 0:
        return k.NO_POINTER, source
    address = state[k.POINTER] * WORD_BYTES + bases[0]
    if address < BASE or address >= STOP:
        return k.BAD_POINTER, address
    element = _element(address)
    if element == read:
        return k.CLASH, element
    if element == near or element == far:
        return k.FETCH_CLASH, element
    memory[t, (address - BASE) // WORD_BYTES] = bus[source, left % k.RING]
    state[k.POINTER] += 1
    return k.FINE, 0


@inner_kernel
def _short_next(state: IntArray, queue: IntArray, event: int) -> bool:
    """Whether a window of 52 words begins at the next event: its pointer is due at this one.

    On row 0 the end of that window is not known yet.
    """
    head, tail = state[k.HEAD], state[k.TAIL]
    if head >= tail or queue[head % k.QUEUE, 0] != event + 1:
        return False
    if head + 1 == tail:
        return True
    return bool(queue[(head + 1) % k.QUEUE, 0] == event + 1 + k.EARLY_POINTER_WORDS)


@inner_kernel
def _heard(flag: k.Flags, source: int, t: int, event: int, way: k.Flags) -> int:
    """Mark of the word that left ``source`` at an event, 0 if there was none for ``t``."""
    if event < 0:
        return 0
    mark = flag[source, event % k.RING]
    return mark if mark & way[source, t] else 0
