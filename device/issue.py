"""What a row does at an event: its next instruction, its controls, its end."""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import inner_kernel
from ipuopt.device import decode as d
from ipuopt.device import marks as k
from ipuopt.layout import IntArray
from ipuopt.target.constants import RECEIVE_LATENCY, ROW_LATENCY, WORD_BYTES
from ipuopt.target.memory import BASE, EXECUTABLE_END
from ipuopt.target.registers import NEUTRAL


@inner_kernel
def issue(
    memory: d.Words,
    t: int,
    state: IntArray,
    control: IntArray,
    queue: IntArray,
    event: int,
    x: IntArray,
) -> tuple[int, d.Whole]:
    """Controls that act now, and the instruction that begins now, if any."""
    if state[k.LEFT] > 0:
        state[k.LEFT] -= 1
        if state[k.AT] == event:
            state[k.AT] = -1
            return _apply(t, state, control, queue, event)
        return k.FINE, 0
    acts = state[k.AT] == event
    if acts:
        state[k.AT] = -1
        fault, detail = _apply(t, state, control, queue, event)
        if fault != k.FINE:
            return fault, detail
    pc = state[k.PC]
    if pc < BASE or pc + WORD_BYTES > EXECUTABLE_END:
        return k.OUTSIDE_CODE, pc
    at = (pc - BASE) // WORD_BYTES
    word = np.int64(memory[t, at])
    name = d.name_of(word)
    if name == d.NONE or name > d.BR:
        return k.BAD_WORD, word
    second = np.int64(0)
    if d.LENGTH[name] == 2:
        if pc % (2 * WORD_BYTES):
            return k.ODD_PAIR, pc
        second = np.int64(memory[t, at + 1])
    d.split(name, word, second, x)
    if name == d.BR:
        return _end(state, queue, event)
    state[k.PC] = pc + WORD_BYTES * d.LENGTH[name]
    state[k.LEFT] = x[0]
    went = state[k.SENDING]
    state[k.SENDING] = 0
    if name == d.DELAYPIC or name == d.DELAYXPIC:
        kind = k.PIC if name == d.DELAYPIC else k.XPIC
        _plan(state, control, event + x[0] + 1, kind, x[1], x[2])
    elif name == d.SEND:
        if acts:
            return k.ON_START, 0
        if x[2] & k.WAYS == 0:
            return k.NO_DIRECTION, 0
        state[k.SENDING], state[k.OPENS] = 1, 1
        state[k.ADDRESS], state[k.CONTROL] = x[1], x[2]
    elif name == d.SENDOFF or name == d.SENDPIC:
        if not went:
            return k.NO_MESSAGE, 0
        state[k.SENDING] = 1
        if name == d.SENDOFF and x[2] != state[k.CONTROL]:
            return k.RESTART, x[2]
        if name == d.SENDPIC:
            kind = k.XPIC if x[1] < 2 else k.PIC
            _plan(state, control, event + 1, kind, x[1] % 2, x[2])
    elif name == d.SENDPICP:
        if x[2] > 0:
            if not went:
                return k.NO_MESSAGE, 0
            if x[2] != state[k.CONTROL] or x[1] != state[k.ADDRESS]:
                return k.RESTART, x[1] * WORD_BYTES
            state[k.SENDING] = 1
        _plan(state, control, event + 1, k.PIC, x[3], x[4])
        _plan(state, control, event + 1, k.XPIC, x[5], x[6])
    return k.FINE, 0


@inner_kernel
def _plan(
    state: IntArray, control: IntArray, event: int, kind: int, selector: int, value: int
) -> None:
    state[k.AT] = event
    control[kind], control[kind + 1] = selector, value


@inner_kernel
def _apply(
    t: int, state: IntArray, control: IntArray, queue: IntArray, event: int
) -> tuple[int, int]:
    """Let the controls of this event act; a pointer is left for the write of the same event."""
    if control[k.PIC] > 0:
        way = control[k.PIC_VALUE]
        state[k.FORMAT_PLAN + (event + k.FORMAT_LATENCY) % k.FORMAT_SLOTS] = way
        state[k.HOLDS] = 1 if way > 0 else 0
        if way == 0:
            state[k.LAST_OFF] = event
    elif control[k.PIC] == 0:
        if state[k.PENDING] >= 0:
            return k.STRAY, 0
        state[k.PENDING] = control[k.PIC_VALUE]
    control[k.PIC] = -1
    if control[k.XPIC] >= 0:
        fault, detail = _select(t, state, control, queue, event)
        if fault != k.FINE:
            return fault, detail
        control[k.XPIC] = -1
    selected = _chosen(state[k.TAIL], queue[k.WORDS_OF])
    if state[k.HOLDS] and selected != NEUTRAL:
        return k.HELD, selected
    return k.FINE, 0


@inner_kernel
def _select(
    t: int, state: IntArray, control: IntArray, queue: IntArray, event: int
) -> tuple[int, int]:
    """Select a source for words, or for items of 8 bytes: then seen from lane 0 (``ipu21.md`` 3.2)."""
    source = control[k.XPIC_VALUE]
    acts = event + k.WRITE_LATENCY + ROW_LATENCY * state[k.ROW]
    if control[k.XPIC] == 0:
        if source == t:
            return k.BAD_SOURCE, source
        tail = state[k.TAIL]
        queue[k.WORDS_OF, tail % k.QUEUE, 0] = acts
        queue[k.WORDS_OF, tail % k.QUEUE, 1] = source
        state[k.TAIL], state[k.LAST] = tail + 1, event
        return k.FINE, 0
    if source != NEUTRAL:
        source ^= t & k.LANE
        if source & ~k.LANE == t & ~k.LANE:
            return k.BAD_SOURCE, source
        if state[k.HOLDS]:
            return k.HELD, source
        state[k.HOLDS] = 1
    tail = state[k.PAIR_TAIL]
    # The item waits for the later tile of the pair, an event after the earlier one.
    queue[k.ITEMS_OF, tail % k.QUEUE, 0] = acts + 1
    queue[k.ITEMS_OF, tail % k.QUEUE, 1] = source
    state[k.PAIR_TAIL] = tail + 1
    return k.FINE, 0


@inner_kernel
def _chosen(tail: int, queue: IntArray) -> int:
    """The source selected last."""
    return queue[(tail - 1) % k.QUEUE, 1] if tail > 0 else NEUTRAL


@inner_kernel
def _end(state: IntArray, queue: IntArray, event: int) -> tuple[int, int]:
    """End of a row: its mux must have been free for as long as its last words take."""
    state[k.SENDING] = 0
    for kind in (k.WORDS_OF, k.ITEMS_OF):
        tail = state[k.TAIL] if kind == k.WORDS_OF else state[k.PAIR_TAIL]
        source = _chosen(tail, queue[kind])
        if source != NEUTRAL:
            return k.SELECTED, source
    if state[k.HOLDS]:
        return k.STILL_ON, 0
    due = -1
    if state[k.LAST] >= 0:
        due = state[k.LAST] + RECEIVE_LATENCY + ROW_LATENCY * state[k.ROW]
    if state[k.LAST_OFF] >= 0:
        due = max(due, state[k.LAST_OFF] + k.FORMAT_TAIL)
    if event < due:
        return k.EARLY_END, due
    state[k.DONE] = event
    return k.FINE, 0
