"""Differences of starts that a component forbids, pair by pair."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.problem import BoolArray, IntArray
from ipuopt.models.exchange.takes import Takes, takes_of
from ipuopt.ranges import ranges


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
    one, other, low, high = _joined(takes_of(phase))
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


def _joined(takes: Takes) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Columns (one, other, low, high) of every two intervals that may not overlap."""
    order = np.argsort(takes.row, kind="stable")
    row = takes.row[order]
    begin = np.searchsorted(row, takes.against)
    count = np.searchsorted(row, takes.against, side="right") - begin
    mine = np.repeat(np.arange(len(row)), count)
    theirs = order[ranges(begin, count)]
    keep = takes.transfer[mine] < takes.transfer[theirs]
    mine, theirs = mine[keep], theirs[keep]
    return (
        takes.transfer[mine],
        takes.transfer[theirs],
        takes.first[mine] - takes.first[theirs] - takes.length[theirs],
        takes.first[mine] + takes.length[mine] - takes.first[theirs],
    )
