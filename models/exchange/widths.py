"""Which transfers may travel as Paired64, and what that would change (``ipu21.md`` 3.2)."""

from __future__ import annotations

import numpy as np

from ipuopt.models.exchange.problem import BoolArray, IntArray, Problem
from ipuopt.target.fabric import PARTNER, ROW, time_to_mux

LEAST_ITEMS = 64
"""Fewest 8-byte items of a Paired64 transfer (ipu21.md 3.2)."""


def qualifying(problem: Problem) -> BoolArray:
    """Transfers that the double-width path can carry, shape ``(transfers,)``.

    An even number of words that makes at least :data:`LEAST_ITEMS` items; addresses that are
    multiples of 8; receivers that are complete pairs with one address a pair, none of them the
    source or its partner; and no early receiver whose control events would coincide.
    """
    if not len(problem):
        return np.zeros(0, np.bool_)
    first = problem.destination_start[:-1]
    items = problem.words // 2
    fits = (problem.words % 2 == 0) & (items >= LEAST_ITEMS)
    fits &= np.all(problem.source_address % 8 == 0, axis=1)
    fits &= PARTNER[problem.source] < problem.tiles
    transfer = np.repeat(np.arange(len(problem)), np.diff(problem.destination_start))
    receiver, address = problem.destination_tile, problem.destination_address
    source = problem.source[transfer]
    bad = (address % 8 != 0) | (PARTNER[receiver] >= problem.tiles)
    bad |= (receiver == source) | (receiver == PARTNER[source])
    bad |= ~_accompanied(transfer, receiver, address)
    late_by = until_format_on(receiver)
    spread = items[transfer]
    bad |= early(problem) & ((spread == late_by) | (spread == late_by + 2))
    result: BoolArray = fits & ~np.logical_or.reduceat(bad, first)
    return result


def _accompanied(transfer: IntArray, receiver: IntArray, address: IntArray) -> BoolArray:
    """Receivers whose partner receives the same transfer at the same address."""
    order = np.lexsort((receiver, transfer))
    one, other = order[:-1], order[1:]
    together = transfer[one] == transfer[other]
    together &= (receiver[other] == PARTNER[receiver[one]]) & (address[one] == address[other])
    result = np.zeros(len(receiver), np.bool_)
    result[one[together]] = True
    result[other[together]] = True
    return result


def until_format_on(tile: IntArray) -> IntArray:
    """Events from the source event of a Paired64 transfer to "format on" (``ipu21.md`` 3.2)."""
    return 51 + 2 * ROW[tile]


def early(problem: Problem) -> BoolArray:
    """Receivers that a word reaches before their partner, shape ``(receivers,)``."""
    own, other = _times(problem)
    result: BoolArray = own < other
    return result


def pair_time(problem: Problem) -> IntArray:
    """T2 of each receiver: the later of the times to mux of its pair, shape ``(receivers,)``."""
    return np.maximum(*_times(problem))


def _times(problem: Problem) -> tuple[IntArray, IntArray]:
    """Times to mux of each receiver and of its partner; the own time twice without a partner."""
    source = np.repeat(problem.source, np.diff(problem.destination_start))
    receiver = problem.destination_tile
    mux = time_to_mux(problem.tiles)
    partner = np.where(PARTNER[receiver] < problem.tiles, PARTNER[receiver], receiver)
    return mux[source, receiver].astype(np.int64), mux[source, partner].astype(np.int64)


def choices(problem: Problem) -> list[BoolArray]:
    """Choices of widths worth a try: every qualifying transfer from some number of items on, or none.

    An early receiver is taken for more than 51 events longer than the items last (``ipu21.md``
    3.2), so short transfers may lose by the double width.
    """
    may = qualifying(problem)
    items = problem.words // 2
    steps = [
        least for least in (LEAST_ITEMS, 96, 144, 216, 324, 486) if np.any(may & (items >= least))
    ]
    masks = [may & (items >= least) for least in steps]
    masks.append(np.zeros(len(problem), np.bool_))
    unique = {mask.tobytes(): mask for mask in masks}
    return list(unique.values())
