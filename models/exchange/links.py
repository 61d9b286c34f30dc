"""Placed transfers looked up by what they take, and taken out again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipuopt.compiled import inner_kernel
from ipuopt.models.exchange.bits import bit, flip
from ipuopt.models.exchange.claims import FILL_FIRST, FILL_LENGTH, FILL_ROW, Row
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.problem import BoolArray, IntArray
from ipuopt.models.exchange.state import State

WINDOW, MUX = int(Row.WINDOW), int(Row.MUX)


class Links(NamedTuple):
    """Who else is there: claims that fill each row, owner of each claim, successors (E5).

    ``reserved`` are tiles that Paired64 transfers of their partners reserve.
    """

    row_start: IntArray
    row_claim: IntArray
    owner: IntArray
    after_start: IntArray
    after: IntArray
    after_lag: IntArray
    reserved: BoolArray


def links(phase: Instance) -> Links:
    """Tables of a forward instance that the moves look up."""
    rows = phase.claims[:, FILL_ROW].astype(np.int64)
    filling = np.flatnonzero(phase.claims[:, FILL_LENGTH] > 0)
    order = filling[np.argsort(rows[filling], kind="stable")]
    count = len(phase.words)
    after = np.repeat(np.arange(count), np.diff(phase.before_bounds))
    pairs = np.argsort(phase.before, kind="stable")
    reserved = np.zeros(phase.tiles, np.bool_)
    reserved[phase.partner[phase.partner >= 0]] = True
    return Links(
        row_start=np.searchsorted(rows[order], np.arange(phase.rows + 1)),
        row_claim=order,
        owner=np.repeat(np.arange(count), np.diff(phase.claim_start)),
        after_start=np.searchsorted(phase.before[pairs], np.arange(count + 1)),
        after=after[pairs],
        after_lag=phase.lag[pairs],
        reserved=reserved,
    )


@inner_kernel
def remove(p: Instance, s: State, links: Links, transfer: int) -> None:
    """Free what ``transfer`` takes; buses come before the controls that neighbours may share."""
    at = s.start[transfer]
    s.start[transfer] = -1
    for claim in range(p.claim_start[transfer], p.claim_start[transfer + 1]):
        row, length = p.claims[claim, FILL_ROW], p.claims[claim, FILL_LENGTH]
        first = at + p.claims[claim, FILL_FIRST]
        family = row // p.tiles
        if family == MUX:
            # The neutral event of one window and the source event of the next may be one.
            tile = row - MUX * p.tiles
            window = WINDOW * p.tiles + tile
            near = bit(s.rows, window, first - 1) or bit(s.rows, window, first)
            if near and not p.wide[tile] and _shared(p, s, links, row, first):
                continue
        flip(s.rows, row, first, first + length)
        if row < len(s.gap):
            s.gap[row] = min(s.gap[row], first)


@inner_kernel
def _shared(p: Instance, s: State, links: Links, row: int, event: int) -> bool:
    """Whether a neighbour has a control at an event; the time of a reserved partner has none."""
    if not links.reserved[row % p.tiles]:
        return True
    for place_ in range(links.row_start[row], links.row_start[row + 1]):
        claim = links.row_claim[place_]
        at = s.start[links.owner[claim]]
        if at >= 0 and at + p.claims[claim, FILL_FIRST] == event:
            return True
    return False
