"""Clique bound: buffers that must not meet each other need disjoint addresses, whenever they live.

Two buffers must not meet if they live together (S1) or are apart (S5). The loads see the buffers of
one step only; a clique may hold buffers that never live together.
"""

from __future__ import annotations

import numpy as np

from ipuopt.models.placement.problem import IntArray
from ipuopt.models.placement.space.bounds import demand, merged_holes
from ipuopt.models.placement.space.instance import BoolArray, Instance

MOST_BLOCKS = 4000
"""Blocks up to which pairs are looked at as a matrix."""

MOST_ELEMENTS = 2000
"""Elements of a clique up to which they are counted one by one."""

MOST_SEEDS = 64
"""Apart pairs from which a clique is grown: the longest ones."""


def _matrix(instance: Instance, pairs: IntArray) -> IntArray:
    """Units that the row's block takes up below the column's; 0 where the two may meet."""
    apart = np.zeros((len(instance), len(instance)), dtype=np.int64)
    one, other, below, above = pairs[:, :4].T
    np.maximum.at(apart, (one, other), below)
    np.maximum.at(apart, (other, one), above)
    return apart


def _grow(pair: tuple[int, int], meets: BoolArray, size: IntArray) -> IntArray:
    """A clique that holds a pair: the largest block that meets nobody of it, as long as one is."""
    chosen = list(pair)
    left = meets[pair[0]] & meets[pair[1]]
    while left.any():
        block = int(np.argmax(np.where(left, size, -1)))
        chosen.append(block)
        left &= meets[block]
    return np.array(chosen, dtype=np.int64)


def _height(instance: Instance, clique: IntArray, units: IntArray, grain: int) -> int:
    """Least height of a clique whose blocks take up ``units`` each; by whole elements if apart."""
    above = int(instance.low[clique].min())
    height = above + demand(instance, clique, units)
    if grain > 1:
        elements = -(-units // grain)
        slack = int((elements * grain - units).max())
        height = max(height, (above // grain + int(elements.sum())) * grain - slack)
    return height


def _by_elements(instance: Instance, clique: IntArray, units: IntArray) -> int:
    """Least height of a clique that is apart, by the elements that there are.

    Each of its blocks has elements to itself, none of which lies in a hole as a whole, unless a part
    of the block that never lives is there. Below the one in which the topmost block begins are at
    least those of all others.
    """
    counts = -(-units // int(instance.elements[:, 1].max()))
    left = int(counts.sum() - counts.max())
    if left > MOST_ELEMENTS:
        return 0
    whole = np.isin(clique, instance.owner[instance.reserved == instance.size[instance.owner]])
    holes = merged_holes(instance) if whole.all() else []
    at = int(instance.low[clique].min())
    while True:
        first, length = instance.elements[instance.elements[:, 0] <= at][-1].tolist()
        at -= (at - first) % length
        over = [end for begin, end in holes if begin <= at and at + length <= end]
        if not over:
            left -= 1
            if left < 0:
                return int(at + units.min())
        at = max([at + length, *(end - 1 for end in over)])


def clique_bound(instance: Instance) -> int:
    """Least height in units that the cliques found allow; 0 without apart pairs."""
    if instance.pairs is None or instance.interlocked or len(instance) > MOST_BLOCKS:
        return 0
    apart = instance.pairs[instance.pairs[:, 5] == 1]
    if not len(apart):
        return 0
    distance = _matrix(instance, instance.pairs)
    meets = (distance > 0) & (distance.T > 0)
    meets[instance.hole == 1] = False
    meets[:, instance.hole == 1] = False
    # Whatever shares none of the elements shares no smaller part of them either.
    grain = int(np.gcd.reduce(instance.elements.ravel()))
    by_element = np.zeros_like(meets)
    by_element[apart[:, 0], apart[:, 1]] = by_element[apart[:, 1], apart[:, 0]] = True
    seeds = np.argsort(-(apart[:, 2] + apart[:, 3]), kind="stable")[:MOST_SEEDS]
    best = 0
    # An alias that is apart has elements to itself for its own bytes, not for those of its block.
    own = _matrix(instance, apart)
    for one, other in apart[seeds, :2].tolist():
        clique = _grow((one, other), meets, instance.size)
        best = max(best, _height(instance, clique, _taken(distance, clique), 1))
        clique = _grow((one, other), by_element & meets, instance.size)
        units = _taken(own, clique)
        best = max(best, _height(instance, clique, units, grain))
        best = max(best, _by_elements(instance, clique, units))
    return best


def _taken(distance: IntArray, clique: IntArray) -> IntArray:
    """What each block of a clique takes up below each other one: the least of these."""
    below = distance[np.ix_(clique, clique)]
    np.fill_diagonal(below, np.iinfo(np.int64).max)
    taken: IntArray = below.min(axis=1)
    return taken
