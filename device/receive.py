"""What a tile writes at an event, and every access to its memory then."""

from __future__ import annotations

from ipuopt.compiled import inner_kernel
from ipuopt.device import decode as d
from ipuopt.device import marks as k
from ipuopt.device.paired import delay, hear, sharing
from ipuopt.layout import IntArray
from ipuopt.target.constants import ROW_LATENCY, SEND_LATENCY, SOURCE_LATENCY, WORD_BYTES
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
    mate: IntArray,
    queue: IntArray,
    event: int,
    bus: d.Words,
    flag: k.Flags,
    bases: IntArray,
    time: k.Small,
    way: k.Flags,
    paired: bool,
) -> tuple[int, int]:
    """What is written now, and every access of this event.

    Parameters
    ----------
    state
        Of the tile; afterwards ``HEARD`` is the source of a message of words that begins to be written.
    mate
        State of the partner.
    paired
        Whether anything of the phase so far is for items of 8 bytes.
    """
    read = -1
    state[k.HEARD] = -1
    if state[k.SENDING]:
        read = _element(state[k.READ])
    near = _element(state[k.PC])
    far = _element(state[k.PC] + LOOKAHEAD)
    if read == near or read == far:
        return k.FETCH_CLASH, read
    late = event - k.WRITE_LATENCY - ROW_LATENCY * state[k.ROW] - SOURCE_LATENCY
    fault, source, heard = _hear(flag, t, state, queue[k.WORDS_OF], late, event, time, way)
    if fault != k.FINE:
        return fault, source
    size = 1
    if paired:
        fault, other, mark = hear(flag, t, state, mate, late, event, time, way)
        if fault != k.FINE:
            return fault, other
        if mark > 0:
            if heard > 0:
                return k.TWO_WRITES, other
            source, heard, size = other, mark, 2
        tail = state[k.TAIL]
        listens = tail > 0 and queue[k.WORDS_OF, (tail - 1) % k.QUEUE, 1] != NEUTRAL
        fault = sharing(state, mate, listens or state[k.HOLDS] > 0 or heard > 0)
        if fault != k.FINE:
            return fault, 0
    if state[k.PENDING] >= 0:
        address = state[k.PENDING] * WORD_BYTES + bases[0]
        if address < BASE or address >= STOP:
            return k.BAD_POINTER, address
        if heard & k.FIRST:
            if state[k.AHEAD] != event:
                state[k.WITH_WORD] = event
            state[k.POINTER], state[k.PENDING] = state[k.PENDING], -1
        elif _opens_next(state, queue[k.WORDS_OF], event):
            state[k.AHEAD] = event + 1
        else:
            return k.STRAY, source
    if heard == 0:
        return k.FINE, 0
    if state[k.POINTER] < 0:
        return k.NO_POINTER, source
    address = state[k.POINTER] * WORD_BYTES + bases[0]
    if address % (size * WORD_BYTES):
        return k.ODD_POINTER, address
    if address < BASE or address >= STOP:
        return k.BAD_POINTER, address
    element = _element(address)
    if element == read:
        return k.CLASH, element
    if element == near or element == far:
        return k.FETCH_CLASH, element
    at = (address - BASE) // WORD_BYTES
    if size == 1:
        if heard & k.FIRST:
            state[k.HEARD] = source
        memory[t, at] = bus[source, (late - time[source, t]) % k.RING]
    else:
        left = (late - delay(source, t, time)) % k.RING
        memory[t, at], memory[t, at + 1] = bus[source, left], bus[source ^ k.LANE, left]
    state[k.POINTER] += size
    return k.FINE, 0


@inner_kernel
def note_end(ends: IntArray, done: int, start: int, time: int) -> None:
    """Note until when the row of a sender has to last for a message that is heard.

    Parameters
    ----------
    ends
        Of the sender, shape ``(ENDS,)``: -1, or what its last messages ask.
    done
        Event at which its row ended; -1 if it goes on.
    start, time
        P and T(s, t) of the message: the row lasts until P - P0 + 6, with P0 of the receiver that
        it reaches first (ipu21.md 3.1).
    """
    if done < 0 or done - start >= SEND_LATENCY:
        return
    needed = start + min(0, time) + SEND_LATENCY
    slot = start % k.ENDS
    if ends[slot] < 0 or needed < ends[slot]:
        ends[slot] = needed


@inner_kernel
def _hear(
    flag: k.Flags,
    t: int,
    state: IntArray,
    queue: IntArray,
    late: int,
    event: int,
    time: k.Small,
    way: k.Flags,
) -> tuple[int, int, int]:
    """The word that is written now: fault and its detail; else source, and its mark, 0 for none."""
    switches = False
    head = state[k.HEAD]
    if head < state[k.TAIL] and queue[head % k.QUEUE, 0] == event:
        before = state[k.ACTIVE]
        if before != NEUTRAL:
            heard = _heard(flag, before, t, late - time[before, t], way)
            if heard > 0 and heard & k.FIRST == 0:
                return k.CUT, before, 0
            if _stray(state, event):
                return k.STRAY, before, 0
        state[k.OPENED] = event
        state[k.ACTIVE] = queue[head % k.QUEUE, 1]
        state[k.HEAD] = head + 1
        switches = True
    source = state[k.ACTIVE]
    if source == NEUTRAL:
        return k.FINE, source, 0
    if source < 0 or source >= len(time):
        return k.BAD_SOURCE, source, 0
    heard = _heard(flag, source, t, late - time[source, t], way)
    if heard == 0:
        return k.SILENT, source, 0
    if heard & k.ITEMS:
        return k.WIDTH, source, 0
    opens = heard & k.FIRST > 0
    if switches and not opens:
        return k.LATE, source, 0
    if opens and not switches:
        return k.OVERLAP, source, 0
    return k.FINE, source, heard


@inner_kernel
def _opens_next(state: IntArray, queue: IntArray, event: int) -> bool:
    """Whether a window begins at the next event."""
    head = state[k.HEAD]
    return bool(head < state[k.TAIL] and queue[head % k.QUEUE, 0] == event + 1)


@inner_kernel
def _stray(state: IntArray, event: int) -> bool:
    """Whether the pointer of a window that ends was set at an event of windows of another length."""
    opened = state[k.OPENED]
    if event - opened == k.EARLY_POINTER_WORDS:
        return bool(state[k.WITH_WORD] == opened)
    return bool(state[k.AHEAD] == opened)


@inner_kernel
def _heard(flag: k.Flags, source: int, t: int, event: int, way: k.Flags) -> int:
    """Mark of the word that left ``source`` at an event, 0 if there was none for ``t``."""
    if event < 0:
        return 0
    mark = flag[source, event % k.RING]
    return mark if mark & way[source, t] else 0
