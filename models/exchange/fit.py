"""Earliest start of one transfer at which none of its claims is taken.

A short transfer looks at 64 starts at a time: each claim gives the starts that it forbids as one
word. A long one jumps: a claim names its last taken event, and no start before the one behind that
event can be free of it. Both find the same start.
"""

from __future__ import annotations

from ipuopt.compiled import inner_kernel
from ipuopt.models.exchange.bits import FULL, last_taken, lowest_bit, taken_starts
from ipuopt.models.exchange.claims import TEST_FIRST, TEST_LENGTH, TEST_ROW
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.state import State, first_gap

SHORT = 64
"""Most events of a test that is looked at for 64 starts at a time."""


@inner_kernel
def earliest(p: Instance, s: State, transfer: int, start: int, latest: int) -> int:
    """Earliest start from ``start`` on without conflict; -1 if it would be after ``latest``.

    Claims go round until all fit in a row; the one that forbade the last start goes first.
    """
    begin, stop = p.claim_start[transfer], p.claim_stop[transfer]
    buses = len(p.shortest)
    for claim in range(begin, stop):
        row = p.claims[claim, TEST_ROW]
        if row < buses:
            start = max(start, first_gap(p, s, row) - p.claims[claim, TEST_FIRST])
    claim, fitting = begin, 0
    short = p.longest[transfer] <= SHORT
    free = FULL
    while start <= latest:
        row, length = p.claims[claim, TEST_ROW], p.claims[claim, TEST_LENGTH]
        first = start + p.claims[claim, TEST_FIRST]
        shift = 0
        if short:
            free &= ~taken_starts(s.rows, row, first, length)
            shift = 0 if free else 64
        else:
            taken = last_taken(s.rows, row, first, first + length)
            shift = taken + 1 - first if taken >= 0 else 0
        if shift:
            start += shift
            fitting = 0
            free = FULL
            continue
        fitting += 1
        if fitting == stop - begin:
            start += lowest_bit(free) if short else 0
            return start if start <= latest else -1
        claim = claim + 1 if claim + 1 < stop else begin
    return -1
