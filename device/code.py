"""Supervisor and worker code, word by word, up to where a tile needs the others or the host."""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import inner_kernel, kernel
from ipuopt.device import decode as d
from ipuopt.layout import IntArray
from ipuopt.target.constants import WORD_BYTES, WORKERS
from ipuopt.target.memory import BASE, EXECUTABLE_END, STOP
from ipuopt.target.registers import ALL_TILES, LOCAL, OUTGOING_BASE, PHASES, WITH_HOST, WORDS

RUNNING, ENDED, SYNC, ANSWERED, COUNTED, TRAP, ROW, CALLED = range(8)
"""States of a tile: at code; at address 0; at a ``sync`` of several tiles; at a local one with answers
that are still to be given; at one for words from the host; at a trap; at the first word of a row; at
code that is watched, just called."""
(NO_INSTRUCTION, NO_MEMORY, NO_CODE, FORBIDDEN, ENDLESS, UNANSWERED, FULL, UNKNOWN) = range(8, 16)
"""What stops a tile: a word that is no instruction; an access outside memory or off a word; a program
counter outside executable memory; an instruction that has no place there; too many instructions; a
second ``sans`` before the first is done; more words for the host than a batch has; a special
register that no source names."""
EXIT, LAUNCH = 16, 17
"""Ends of a stretch of code inside a tile: a worker's, and a launch of workers."""
SPECIALS = 256
MOST_WORDS = 4096
"""Words that a tile may send to the host in one batch: 1024 of data, headers and requests."""
_NAMED = np.zeros(SPECIALS, np.bool_)
_NAMED[[0x20, *range(0x21, 0x27), 0x31, 0x33, 0x50, 0x70]] = True  # isa.md
_NAMED[[0xA0, 0xA1, 0xA3, 0xA4, 0xA6, 0xA7]] = True  # ipu21.md 4
_MASK = 0xFFFFFFFF
_WORKER_BASE, _CONTEXT = 0x21, 1
COUNTER = 0x60
"""Special that holds the cycles of a tile; no code of the supervisor writes it."""
_MOST_INSTRUCTIONS = 1 << 22


@kernel
def advance(
    memory: d.Words,
    registers: IntArray,
    place: IntArray,
    state: IntArray,
    zone: IntArray,
    answers: IntArray,
    specials: IntArray,
    outgoing: d.Words,
    sent: IntArray,
    watched: int,
) -> None:
    """Run all tiles that are at code until none is.

    Parameters
    ----------
    memory
        Words of every tile.
    registers
        $m0 to $m15, shape ``(tiles, 16)``.
    place
        Program counters.
    state
        See :data:`RUNNING` and below.
    zone
        Of the last synchronisation that a tile has passed, or, at a ``sync``, of that.
    answers
        Synchronisations that each tile has still to answer for its last ``sans``.
    specials
        Shape ``(tiles, 256)``; workers read the counter there.
    outgoing, sent
        Words for the host, and how many.
    watched
        Address at which a tile stops when it calls it.
    """
    operands = np.zeros(d.MOST_OPERANDS, np.int64)
    own, floats = np.zeros(16, np.int64), np.zeros(16, np.int64)
    for t in range(len(place)):
        while state[t] == RUNNING:
            state[t], place[t] = _stretch(
                memory[t], registers[t], floats, place[t], -1, zone, answers, specials[t],
                outgoing[t], sent, t, operands, watched,
            )  # fmt: skip
            if state[t] != LAUNCH:
                continue
            state[t] = RUNNING
            entry, base, step = operands[0], operands[1], operands[2]
            start, block = registers[t, entry], registers[t, base]
            for worker in range(WORKERS):
                own[:] = 0
                own[12] = specials[t, _WORKER_BASE + worker]
                own[13] = block + WORD_BYTES * worker * step
                end, where = _stretch(
                    memory[t], own, floats, start, worker, zone, answers, specials[t],
                    outgoing[t], sent, t, operands, watched,
                )  # fmt: skip
                if end != EXIT:
                    state[t] = end if end >= NO_INSTRUCTION and end < EXIT else FORBIDDEN
                    place[t] = where
                    break


@inner_kernel
def _stretch(
    memory: d.Words,
    m: IntArray,
    a: IntArray,
    pc: int,
    worker: int,
    zone: IntArray,
    answers: IntArray,
    specials: IntArray,
    outgoing: d.Words,
    sent: IntArray,
    t: int,
    x: IntArray,
    watched: int,
) -> tuple[int, int]:
    """Run one context (``worker``, or -1 for the supervisor); its state and program counter."""
    for _ in range(_MOST_INSTRUCTIONS):
        if pc == 0 and worker < 0:
            return ENDED, pc
        if pc < BASE or pc + WORD_BYTES > EXECUTABLE_END or pc % WORD_BYTES:
            return NO_CODE, pc
        word = np.int64(memory[(pc - BASE) // WORD_BYTES])
        name = d.name_of(word)
        if name == d.NONE:
            return NO_INSTRUCTION, pc
        d.split(name, word, 0, x)
        m[15] = 0
        following = pc + WORD_BYTES
        if name == d.LD32 or name == d.ST32 or name == d.LD64_A:
            size = 2 * WORD_BYTES if name == d.LD64_A else WORD_BYTES
            where = (m[x[1]] + m[x[2]] + size * x[3]) & _MASK
            if where < BASE or where + size > STOP or where % size:
                return NO_MEMORY, pc
            at = (where - BASE) // WORD_BYTES
            if name == d.LD32:
                m[x[0]] = memory[at]
            elif name == d.ST32:
                memory[at] = m[x[0]]
            else:
                a[x[0]], a[x[0] + 1] = memory[at], memory[at + 1]
        elif name == d.SETZI:
            m[x[0]] = x[1]
        elif name == d.ADD:
            m[x[0]] = (m[x[1]] + x[2]) & _MASK
        elif name == d.ADD_M:
            m[x[0]] = (m[x[1]] + m[x[2]]) & _MASK
        elif name == d.SUB_M:
            m[x[0]] = (m[x[1]] - m[x[2]]) & _MASK
        elif name == d.AND:
            m[x[0]] = m[x[1]] & x[2]
        elif name == d.SHL:
            m[x[0]] = m[x[1]] << x[2] & _MASK if x[2] < 32 else 0
        elif name == d.SHR:
            m[x[0]] = m[x[1]] >> x[2] if x[2] < 32 else 0
        elif name == d.BR:
            following = m[x[0]]
        elif name == d.CALL:
            m[x[0]], following = following, x[1]
            if following == watched:
                return CALLED, following
        elif name == d.BRZ:
            following = x[1] if m[x[0]] == 0 else following
        elif name == d.BRNZ:
            following = x[1] if m[x[0]] != 0 else following
        elif name == d.BRNZDEC:
            following = x[1] if m[x[0]] != 0 else following
            m[x[0]] = (m[x[0]] - 1) & _MASK
        elif worker >= 0:
            if name == d.EXITZ:
                return EXIT, pc
            if name == d.GET and x[1] == _CONTEXT:
                m[x[0]] = worker
            elif name == d.GET and x[1] == COUNTER:
                m[x[0]] = specials[COUNTER] & _MASK
            elif name != d.PUT_A and name != d.URAND64:
                return FORBIDDEN, pc
        elif name == d.PUT:
            if not _NAMED[x[0]]:
                return UNKNOWN, pc
            specials[x[0]] = m[x[1]]
        elif name == d.RUNALL:
            return LAUNCH, following
        elif name == d.TRAP:
            return TRAP, pc
        elif name == d.SANS:
            if answers[t] > 0:
                return UNANSWERED, pc
            answers[t] = x[0] + 1
        elif name == d.SYNC:
            if x[0] == LOCAL:
                if answers[t] > 0:
                    return ANSWERED, pc
            elif x[0] == WORDS:
                return COUNTED, pc
            elif x[0] == PHASES or x[0] == ALL_TILES or x[0] == WITH_HOST:
                zone[t] = x[0]
                return SYNC, pc
            else:
                return FORBIDDEN, pc
        elif name <= d.SENDPICP and zone[t] != ALL_TILES and zone[t] != WITH_HOST:
            return ROW, pc
        elif name == d.SEND or name == d.SENDOFF:
            end = _emit(memory, x, name == d.SENDOFF, outgoing, sent, t, specials)
            if end != RUNNING:
                return end, pc
        elif name != d.DELAY:
            return FORBIDDEN, pc
        pc = following
    return ENDLESS, pc


@inner_kernel
def _emit(
    memory: d.Words,
    x: IntArray,
    goes_on: bool,
    outgoing: d.Words,
    sent: IntArray,
    t: int,
    specials: IntArray,
) -> int:
    """Send words of a tile to the host; ``sent`` holds how many so far, and where the stream goes on."""
    count = x[0] + 1
    start = sent[t, 1] if goes_on else x[1] + specials[OUTGOING_BASE] // WORD_BYTES
    first = start - BASE // WORD_BYTES
    if first < 0 or first + count > len(memory):
        return NO_MEMORY
    if sent[t, 0] + count > len(outgoing):
        return FULL
    for i in range(count):
        outgoing[sent[t, 0] + i] = memory[first + i]
    sent[t, 0] += count
    sent[t, 1] = start + count
    return RUNNING
