"""Walk through the rows of all tiles (``ipu21.md`` 3.3 rules 1 to 6, 4).

Between two instructions whose place is forced, ``gap`` events are covered by one instruction or
more: a plain delay, or a part of the send. Two of them leave the choice of one word or two, so only
gaps of 0 and 1 fix the parity of the word count. Longest instructions do not matter: where a gap is
too long for one of them, more words fit as well.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipuopt.compiled import inner_kernel, small_kernel
from ipuopt.models.exchange.check_times import MOST
from ipuopt.models.exchange.problem import IntArray

KINDS = 8
"""Tokens of one event, in the order in which a row meets them; the number of codes."""
SOURCE, NEUTRAL, XPIC, ADVANCED, PIC, END, START = range(7)
"""Source and neutral event of Word32; other XPIC; pointer that may be dropped; other PIC; end and
start of an own send."""

FITS, COLLISION, ODD = range(3)
"""Verdicts on a row."""

EVEN = 1
ANY = 3
"""Sets of parities, as bits: 1 for even, 2 for odd."""


class Findings(NamedTuple):
    """What :func:`walk` finds.

    Attributes
    ----------
    struck
        Tokens that break (E4), by kind, the first :data:`MOST`.
    counts
        Of each kind.
    unfit
        Tokens that break (E7) with their verdict, the first :data:`MOST`.
    total
        How many break (E7): at most one a tile, and only of tiles that keep (E4).
    """

    struck: IntArray
    counts: IntArray
    unfit: IntArray
    total: int


def walk(token: IntArray, span: int, low: int) -> Findings:
    """Judge all tiles.

    Parameters
    ----------
    token
        ``(tile * span + event - low) * KINDS + kind``, sorted.
    span, low
        As above.
    """
    struck = np.zeros((KINDS, MOST), np.int64)
    counts = np.zeros(KINDS, np.int64)
    unfit = np.zeros((MOST, 2), np.int64)
    return Findings(struck, counts, unfit, _walk(token, span, low, struck, counts, unfit))


@small_kernel
def _walk(
    token: IntArray, span: int, low: int, struck: IntArray, counts: IntArray, unfit: IntArray
) -> int:
    total = 0
    begin = 0
    # A literal has a type of its own, for which the judge of a row would be compiled again.
    no = span < 0
    while begin < len(token):
        stop = (token[begin] // (KINDS * span) + 1) * KINDS * span
        end = begin
        while end < len(token) and token[end] < stop:
            end += 1
        if _strike(token[begin:end], struck, counts):
            zero = stop - KINDS * span - low * KINDS
            verdict, at = _row(token[begin:end], zero, no)
            if verdict and _row(token[begin:end], zero, not no)[0]:
                if total < MOST:
                    unfit[total, 0] = token[begin + at]
                    unfit[total, 1] = verdict
                total += 1
        begin = end
    return total


@inner_kernel
def _strike(token: IntArray, struck: IntArray, counts: IntArray) -> bool:
    """Note the controls of a tile on the first two events of its sends (E4); if there are none."""
    good = True
    for at in range(len(token)):
        if token[at] % KINDS == START:
            place = token[at] // KINDS
            first = at
            while first > 0 and token[first - 1] // KINDS == place:
                first -= 1
            for k in range(first, len(token)):
                if token[k] // KINDS > place + 1:
                    break
                kind = token[k] % KINDS
                if kind < END and kind != ADVANCED:
                    if counts[kind] < MOST:
                        struck[kind, counts[kind]] = token[k]
                    counts[kind] += 1
                    good = False
    return good


@inner_kernel
def _row(token: IntArray, zero: int, drop: bool) -> tuple[int, int]:
    """Verdict on one row, and the place of the token that broke it.

    Pointers that have been reached anyway are dropped where ``drop`` is set, where the row must be
    silent for the start of a message, and where another PIC falls on the event.
    """
    parity = EVEN
    base = 0  # end of the last forced instruction; inside a send, its start
    begun = -2  # start of the last own send
    sending = False
    stretches = False  # the last instruction sends nothing and may last longer
    at = 0
    while at < len(token):
        event = (token[at] - zero) // KINDS
        if token[at] % KINDS == END:
            parity = ANY if event - base > 1 else parity
            base, sending, stretches = event, False, False
            at += 1
            continue
        if token[at] % KINDS == START:
            parity = _swapped(_padded(parity, event - base, stretches))
            base, begun, sending, stretches = event, event, True, False
            at += 1
            continue
        first = at
        sources, neutrals, others, advanced, fixed = 0, 0, 0, 0, 0
        while at < len(token) and (token[at] - zero) // KINDS == event and token[at] % KINDS < END:
            kind = token[at] % KINDS
            sources += kind == SOURCE
            neutrals += kind == NEUTRAL
            others += kind == XPIC
            advanced += kind == ADVANCED
            fixed += kind == PIC
            at += 1
        silent = event - begun <= 1 or _starts(token, at, (token[first] // KINDS) * KINDS)
        if not (drop or silent or fixed):
            fixed = advanced
        selects = others + max(sources, neutrals)
        if selects > 1 or fixed > 1:
            return COLLISION, first
        if selects + fixed == 2:
            gap = event - 1 - base
            parity = _grown(parity, gap) if sending else _padded(parity, gap, stretches)
            if not parity & EVEN:
                return ODD, first
            parity = EVEN
        elif selects + fixed == 1:
            gap = event - base - 1
            parity = _swapped(_grown(parity, gap) if sending else ANY if gap else parity)
        else:
            continue
        stretches = selects + fixed == 2 and not sending
        base = event - 1 if sending else event
    return FITS, 0


@inner_kernel
def _starts(token: IntArray, at: int, place: int) -> bool:
    """Whether an own send starts at the event ``place`` of the tokens before ``at``."""
    while at < len(token) and token[at] < place + KINDS:
        if token[at] == place + START:
            return True
        at += 1
    return False


@inner_kernel
def _swapped(parity: int) -> int:
    """One word more."""
    return ANY if parity == ANY else 3 - parity


@inner_kernel
def _padded(parity: int, gap: int, stretches: bool) -> int:
    """``gap`` idle events: one instruction or more, none where the one before may last longer."""
    if gap == 0:
        return parity
    if gap == 1 and not stretches:
        return _swapped(parity)
    return ANY


@inner_kernel
def _grown(parity: int, gap: int) -> int:
    """``gap`` items from the start of an instruction to that of the next: up to ``gap - 1`` more."""
    return ANY if gap > 1 else parity
