"""Earliest start of one transfer without conflict on all its buses at once.

A short transfer looks at 64 starts at a time: each rule gives the starts that it forbids as one
word. A long one jumps: each conflict names its last taken event, and no start before the one
behind that event can be free of that conflict. Both find the same start.
"""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.models.exchange.bits import FULL, last_taken, lowest_bit, taken_starts
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.state import State, first_gap

SHORT = 48
"""Most words of a transfer that looks at 64 starts at a time.

With the events that shared elements add (at most 6 before and 6 after), spans stay within a word.
"""


@kernel
def earliest(p: Instance, s: State, transfer: int, start: int, latest: int) -> int:
    """Earliest start from ``start`` on without conflict; -1 if it would be after ``latest``."""
    for receive in range(p.bounds[transfer], p.bounds[transfer + 1]):
        start = max(start, first_gap(p, s, p.receiver[receive]) - int(p.window[receive]))
    if p.words[transfer] <= SHORT:
        return _in_blocks(p, s, transfer, start, latest)
    return _in_jumps(p, s, transfer, start, latest)


@kernel
def _in_blocks(p: Instance, s: State, transfer: int, start: int, latest: int) -> int:
    """Look at blocks of 64 starts; the part that forbade the last block goes first."""
    first = p.bounds[transfer]
    parts = p.bounds[transfer + 1] - first + 1
    part = 0
    while start <= latest:
        free = FULL
        for _ in range(parts):
            if part == 0:
                free &= ~_send_taken(p, s, transfer, start)
            else:
                free &= ~_receive_taken(p, s, p.words[transfer], first + part - 1, start)
            if not free:
                break
            part = part + 1 if part + 1 < parts else 0
        if free:
            start += lowest_bit(free)
            return start if start <= latest else -1
        start += 64
    return -1


@kernel
def _in_jumps(p: Instance, s: State, transfer: int, start: int, latest: int) -> int:
    """Go round the parts until all of them fit."""
    first = p.bounds[transfer]
    parts = p.bounds[transfer + 1] - first + 1
    part, fitting = 0, 0
    while fitting < parts:
        if start > latest:
            return -1
        if part == 0:
            shift = _send_shift(p, s, transfer, start)
        else:
            shift = _receive_shift(p, s, p.words[transfer], first + part - 1, start)
        if shift:
            start += shift
            fitting = 0
        else:
            fitting += 1
            part = part + 1 if part + 1 < parts else 0
    return start


@kernel
def _send_taken(p: Instance, s: State, transfer: int, start: int) -> np.uint64:
    """Bit ``i`` is set if the sender's rules forbid ``start + i``."""
    tile, words = p.source[transfer], p.words[transfer]
    taken = taken_starts(s.sends, tile, start, words)  # (E2)
    first = start + words - 2 if p.mirror else start
    taken |= taken_starts(s.mux, tile, first, 2) | taken_starts(s.pointers, tile, first, 2)  # (E4)
    if p.send_count[transfer]:  # (E6)
        before, after = p.receive_extra[tile], p.send_extra[transfer]
        if p.mirror:
            before, after = after, before
        for row in range(p.send_count[transfer]):
            row += p.send_first[transfer]
            taken |= taken_starts(s.received, row, start - before, before + words + after)
    return taken


@kernel
def _receive_taken(p: Instance, s: State, words: int, receive: int, start: int) -> np.uint64:
    """Bit ``i`` is set if one receiver's rules forbid ``start + i``."""
    tile = p.receiver[receive]
    window = start + p.window[receive]
    write = start + p.write[receive]
    taken = taken_starts(s.windows, tile, window, words)  # (E3)
    if p.both_windows[tile]:
        taken |= taken_starts(s.writes, tile, write, words)  # (E3)
    if taken == FULL:
        return taken
    # (E4): control event c against own sends at c - 1 and c; mirrored at c and c + 1.
    first = 0 if p.mirror else -1
    opening = window + words - 1 if p.mirror else window
    closing = window - 1 if p.mirror else window + words
    pointer = write + words - 1 if p.mirror else write
    for control in (opening, closing, pointer):
        taken |= taken_starts(s.starts, tile, control + first, 2)
    if p.receive_count[receive]:  # (E6)
        before, after = p.send_extra_most[tile], p.receive_extra[tile]
        if p.mirror:
            before, after = after, before
        for row in range(p.receive_count[receive]):
            row += p.receive_first[receive]
            taken |= taken_starts(s.sent, row, write - before, before + words + after)
    return taken


@kernel
def _send_shift(p: Instance, s: State, transfer: int, start: int) -> int:
    """Events by which ``start`` must move for the sender's sake; 0 when it fits."""
    tile, words = p.source[transfer], p.words[transfer]
    taken = last_taken(s.sends, tile, start, start + words)  # (E2)
    if taken >= 0:
        return int(taken + 1 - start)
    first = start + words - 2 if p.mirror else start
    taken = max(  # (E4)
        last_taken(s.mux, tile, first, first + 2), last_taken(s.pointers, tile, first, first + 2)
    )
    if taken >= 0:
        return int(taken + 1 - first)
    if p.send_count[transfer]:  # (E6)
        before, after = p.receive_extra[tile], p.send_extra[transfer]
        if p.mirror:
            before, after = after, before
        for row in range(p.send_count[transfer]):
            row += p.send_first[transfer]
            taken = last_taken(s.received, row, start - before, start + words + after)
            if taken >= 0:
                return int(taken + 1 - (start - before))
    return 0


@kernel
def _receive_shift(p: Instance, s: State, words: int, receive: int, start: int) -> int:
    """Events by which ``start`` must move for one receiver's sake; 0 when it fits."""
    tile = p.receiver[receive]
    window = start + p.window[receive]
    taken = last_taken(s.windows, tile, window, window + words)  # (E3)
    if taken >= 0:
        return int(taken + 1 - window)
    write = start + p.write[receive]
    if p.both_windows[tile]:
        taken = last_taken(s.writes, tile, write, write + words)  # (E3)
        if taken >= 0:
            return int(taken + 1 - write)
    # (E4): control event c against own sends at c - 1 and c; mirrored at c and c + 1.
    first = 0 if p.mirror else -1
    opening = window + words - 1 if p.mirror else window
    closing = window - 1 if p.mirror else window + words
    pointer = write + words - 1 if p.mirror else write
    for control in (opening, closing, pointer):
        taken = last_taken(s.starts, tile, control + first, control + first + 2)
        if taken >= 0:
            return int(taken + 1 - (control + first))
    if p.receive_count[receive]:  # (E6)
        before, after = p.send_extra_most[tile], p.receive_extra[tile]
        if p.mirror:
            before, after = after, before
        for row in range(p.receive_count[receive]):
            row += p.receive_first[receive]
            taken = last_taken(s.sent, row, write - before, write + words + after)
            if taken >= 0:
                return int(taken + 1 - (write - before))
    return 0
