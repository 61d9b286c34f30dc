"""Differences of starts that a component forbids, pair by pair."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.problem import BoolArray, IntArray
from ipuopt.models.exchange.setups import Hots, hots_of


class Pairs(NamedTuple):
    """``low < P_other - P_one < high`` is forbidden, for ``one < other``; sorted.

    Intervals of a pair neither overlap nor leave no difference between them.
    """

    one: IntArray
    other: IntArray
    low: IntArray
    high: IntArray

    @property
    def several(self) -> IntArray:
        """Number of intervals of the pair that each belongs to."""
        pair = np.cumsum(_first(self.one, self.other)) - 1
        number: IntArray = np.bincount(pair)[pair] if len(pair) else pair
        return number


def pairs_of(phase: Instance) -> Pairs:
    """All that (E2), (E3) and (E6) forbid on a component, each pair once.

    Two transfers that share many tiles have one interval for each; most often they overlap, so that
    one order holds on all of them.
    """
    one, other, low, high = np.concatenate([*_rows(phase), _sharing(hots_of(phase))], axis=1)
    swap = one > other
    one, other = np.where(swap, other, one), np.where(swap, one, other)
    low, high = np.where(swap, -high, low), np.where(swap, -low, high)
    order = np.lexsort((low, other, one))
    one, other, low, high = one[order], other[order], low[order], high[order]
    if not len(one):
        return Pairs(one, other, low, high)
    # The highest end so far, pair by pair: pairs lie far apart on one axis.
    apart = int(np.abs((low, high)).max()) * 2 + 2
    base = apart * (np.cumsum(_first(one, other)) - 1)
    reach = np.maximum.accumulate(base + high)
    fresh = np.ones(len(one), np.bool_)
    fresh[1:] = (base + low)[1:] >= reach[:-1]
    first = np.flatnonzero(fresh)
    return Pairs(
        one[first], other[first], low[first], np.maximum.reduceat(base + high, first) - base[first]
    )


def _first(one: IntArray, other: IntArray) -> BoolArray:
    """Whether a pair begins."""
    begins: BoolArray = (np.diff(one, prepend=-1) != 0) | (np.diff(other, prepend=-1) != 0)
    return begins


def _rows(phase: Instance) -> list[IntArray]:
    """Pairs on buses, muxes and write ports, as columns (one, other, low, high)."""
    tiles = phase.tiles
    everyone = np.arange(len(phase.words))
    receives = np.repeat(everyone, np.diff(phase.bounds))
    wide = np.flatnonzero(phase.partner >= 0)
    parts = [
        (phase.source, everyone, 0 * everyone, phase.words),
        (tiles + phase.receiver, receives, phase.window, phase.window_length),
        (2 * tiles + phase.receiver, receives, phase.write, phase.write_length),
    ]
    for family in range(3):
        row = family * tiles + phase.partner[wide]
        parts.append((row, wide, 0 * wide, phase.words[wide]))
    row, transfer, first, length = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((transfer, row))
    transfer, first, end = transfer[order], first[order], (first + length)[order]
    cuts = np.flatnonzero(np.diff(row[order], prepend=-1, append=-1))
    result = []
    for begin, count in zip(cuts[:-1], np.diff(cuts), strict=True):
        i, j = np.triu_indices(count, 1)
        i, j = i + begin, j + begin
        result.append(np.stack((transfer[i], transfer[j], first[i] - end[j], end[i] - first[j])))
    return result


def _sharing(hots: Hots) -> IntArray:
    """Pairs of a send and a receive on hot elements, as columns (one, other, low, high)."""
    count = len(hots.send_start) - 1
    sends = np.repeat(np.arange(count), np.diff(hots.send_start))
    receives = np.repeat(np.arange(count), np.diff(hots.receive_start))
    order = np.argsort(hots.receive_element, kind="stable")
    bounds = np.searchsorted(
        hots.receive_element[order], (hots.send_element, hots.send_element + 1)
    )
    each = bounds[1] - bounds[0]
    send = np.repeat(np.arange(len(sends)), each)
    place = np.arange(len(send)) - np.repeat(np.cumsum(each) - each, each)
    receive = order[np.repeat(bounds[0], each) + place]
    first = hots.receive_first[receive]
    return np.stack(
        (
            sends[send],
            receives[receive],
            -first - hots.receive_length[receive],
            hots.send_length[send] - first,
        )
    )
