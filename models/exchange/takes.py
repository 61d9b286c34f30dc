"""What each transfer takes of buses and shared elements, and what of it excludes what.

The claims of insertion are stricter where a pointer or a neutral event may be saved; a proof needs
exactly what (E2), (E3) and (E6) say.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipuopt.models.exchange.claims import (
    BUSES,
    FILL_FIRST,
    FILL_ROW,
    TEST_FIRST,
    TEST_LENGTH,
    Row,
)
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.problem import IntArray


class Takes(NamedTuple):
    """Intervals ``[P + first, + length)`` of transfers, those of one in ``start[j]:start[j + 1]``.

    Two of them may not overlap if ``row`` of one is ``against`` of the other. Rows are send buses,
    muxes and write ports of all tiles; then, of each hot element, what sends and what receives take.
    """

    start: IntArray
    transfer: IntArray
    row: IntArray
    against: IntArray
    first: IntArray
    length: IntArray


def takes_of(phase: Instance) -> Takes:
    """Intervals of a forward instance."""
    tiles = phase.tiles
    everyone = np.arange(len(phase.words))
    receives = np.repeat(everyone, np.diff(phase.bounds))
    wide = np.flatnonzero(phase.partner >= 0)
    parts = [
        _bus(everyone, phase.source, 0 * everyone, phase.words),
        _bus(receives, tiles + phase.receiver, phase.window, phase.window_length),
        _bus(receives, 2 * tiles + phase.receiver, phase.write, phase.write_length),
    ]
    for family in range(BUSES):
        row = family * tiles + phase.partner[wide]
        parts.append(_bus(wide, row, 0 * wide, phase.words[wide]))
    parts.append(_elements(phase))
    transfer, *rest = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.argsort(transfer, kind="stable")
    start = np.searchsorted(transfer[order], np.arange(len(phase.words) + 1))
    return Takes(start, transfer[order], *(column[order] for column in rest))


def _bus(
    transfer: IntArray, row: IntArray, first: IntArray, length: IntArray
) -> tuple[IntArray, ...]:
    return transfer, row, row, first, length


def _elements(phase: Instance) -> tuple[IntArray, ...]:
    """Claims fill the events of the bus only: until when an endpoint is busy is in their tests."""
    base = Row.HOT * phase.tiles
    elements = (phase.rows - base) // 2
    claims = phase.claims.astype(np.int64)
    owner = np.repeat(np.arange(len(phase.words)), np.diff(phase.claim_start))
    hot = np.flatnonzero(claims[:, FILL_ROW] >= base)
    received, element = np.divmod(claims[hot, FILL_ROW] - base, max(elements, 1))
    row = BUSES * phase.tiles + 2 * element
    first = claims[hot, FILL_FIRST]
    length = claims[hot, TEST_FIRST] + claims[hot, TEST_LENGTH] - first
    return owner[hot], row + received, row + 1 - received, first, length
