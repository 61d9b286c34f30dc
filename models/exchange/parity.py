"""Evenness of two-word instructions, looked at around the events that one transfer adds (E7).

Two control events at one event of a tile take an instruction of two words, which must start at an
even word of the tile's row (``ipu21.md`` 3.3 rule 6). Whatever lies between two of them may be cut
into more instructions where it lasts long enough, and so change the parity: three events without
any boundary always can. So only a run of boundaries closer than that needs to be walked. All
pointers are kept here; a row may drop some of them (rule 2).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ipuopt.compiled import inner_kernel
from ipuopt.models.exchange.bits import BitRows, bit, fill, flip, next_taken
from ipuopt.models.exchange.claims import FILL_FIRST, FILL_LENGTH, FILL_ROW, Row
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.state import State

FREE = 3
"""Events without a boundary before a token after which both parities can be had."""
EVEN, BOTH = 1, 3
"""Sets of parities: bit 0 for even, bit 1 for odd."""

SEND, START, MUX, POINTER, HOT = map(int, (Row.SEND, Row.START, Row.MUX, Row.POINTER, Row.HOT))

Saved = npt.NDArray[np.uint64]


@inner_kernel
def encodable(p: Instance, s: State, transfer: int, start: int, saved: Saved) -> bool:
    """Whether all pairs of controls can be even with ``transfer`` at ``start``; forward only.

    Its controls and its send are taken for the time of the question. ``saved`` has room for a word
    a claim.
    """
    begin, stop = p.claim_start[transfer], p.claim_start[transfer + 1]
    tile, end = p.source[transfer], start + p.words[transfer]
    for claim in range(begin, stop):
        row, event = p.claims[claim, FILL_ROW], start + p.claims[claim, FILL_FIRST]
        if START * p.tiles <= row < HOT * p.tiles:
            saved[claim - begin] = s.rows[row, event >> 6]
            fill(s.rows, row, event, event + p.claims[claim, FILL_LENGTH])
    fill(s.rows, SEND * p.tiles + tile, start, end)
    fits = _all_even(p, s.rows, transfer, start)
    flip(s.rows, SEND * p.tiles + tile, start, end)
    for claim in range(stop - 1, begin - 1, -1):
        row, event = p.claims[claim, FILL_ROW], start + p.claims[claim, FILL_FIRST]
        if START * p.tiles <= row < HOT * p.tiles:
            s.rows[row, event >> 6] = saved[claim - begin]
    return fits


@inner_kernel
def still_even(p: Instance, s: State, transfer: int, start: int) -> bool:
    """As :func:`encodable` for the place that ``transfer`` has left."""
    return _all_even(p, s.rows, transfer, start)


@inner_kernel
def _all_even(p: Instance, rows: BitRows, transfer: int, start: int) -> bool:
    """Look at the controls of the receivers, and at all of the sender during the send."""
    for claim in range(p.claim_start[transfer], p.claim_start[transfer + 1]):
        family = p.claims[claim, FILL_ROW] // p.tiles
        if family == MUX or family == POINTER:
            tile = p.claims[claim, FILL_ROW] - family * p.tiles
            if not _even(rows, p.tiles, tile, start + p.claims[claim, FILL_FIRST]):
                return False
        elif family == START and p.claims[claim, FILL_LENGTH]:
            tile, end = p.source[transfer], start + p.words[transfer]
            event = start
            while event <= end:
                if not _even(rows, p.tiles, tile, event):
                    return False
                event = min(
                    next_taken(rows, MUX * p.tiles + tile, event + 1, max(end, event + 1)),
                    next_taken(rows, POINTER * p.tiles + tile, event + 1, max(end, event + 1)),
                )
    return True


@inner_kernel
def _even(rows: BitRows, tiles: int, tile: int, event: int) -> bool:
    """Whether the run of boundaries around ``event`` can be encoded."""
    send, own = SEND * tiles + tile, START * tiles + tile
    mux, pointer = MUX * tiles + tile, POINTER * tiles + tile
    # Back to a point whose parities are known: a pair, a free stretch, or the start of the row.
    first, quiet = event, 0
    parities, stretches, boundary = BOTH, False, 0
    while True:
        first -= 1
        if first < 0:
            parities = EVEN
            break
        sending, starts = bit(rows, send, first - 1), bit(rows, own, first)
        ends = sending and (starts or not bit(rows, send, first))
        controls = bit(rows, mux, first) + bit(rows, pointer, first)
        if controls == 2:
            parities, stretches = EVEN, not sending
            boundary = first - 1 if sending and not ends else first
            if starts:
                parities = _other(parities)
            break
        quiet = 0 if controls or ends or starts else quiet + 1
        if quiet == FREE:
            boundary = first
            break
    # Forward until the run ends.
    at, last = first, event
    while at <= last + FREE:
        at += 1
        sending = bit(rows, send, at - 1)
        controls = bit(rows, mux, at) + bit(rows, pointer, at)
        starts = bit(rows, own, at)
        if controls:
            if sending:
                spare = at - 2 - boundary
                words, boundary = 0, at - 1
            elif controls == 2:
                spare = at - 1 - boundary
                words = 0 if stretches or spare == 0 else 1
                spare -= words
                boundary = at
            else:
                spare, words, boundary = at - 1 - boundary, 0, at
            if spare > 0:
                parities = BOTH
            elif words:
                parities = _other(parities)
            last = max(last, at)
            stretches = controls == 2 and not sending
            if controls == 1:
                parities = _other(parities)
            elif not parities & EVEN:
                return False
            elif at > event:
                return True
            else:
                parities = EVEN
        if sending and (starts or not bit(rows, send, at)):
            if at - 1 - boundary > 0:
                parities = BOTH
            boundary, stretches = at, False
            last = max(last, at)
        if starts:
            spare = at - boundary
            words = 0 if stretches or spare == 0 else 1
            if spare - words > 0:
                parities = BOTH
            elif words:
                parities = _other(parities)
            parities = _other(parities)
            boundary, stretches = at, False
            last = max(last, at)
    return True


@inner_kernel
def _other(parities: int) -> int:
    """Parities after one more word."""
    return ((parities & 1) << 1) | (parities >> 1)
