"""Energetic argument over addresses: what blocks must occupy of a range, wherever they lie.

The loads know that blocks have a lowest address; this knows both ends of their windows. In one
section a block occupies a part of a range ``[p, q)`` at any of its addresses; the least of it is
that at its lowest or its highest address, because what it occupies of the range first grows and
then falls as it moves up. If these parts add up to more than the range has free, the blocks do not
fit: the energetic reasoning of scheduling (Erschler and Lopez 1990) with addresses for time.
"""

from __future__ import annotations

import numpy as np

from ipuopt.models.placement.problem import IntArray
from ipuopt.models.placement.space.instance import Instance
from ipuopt.ranges import by_owner

MOST_EDGES = 48
"""Ends of windows that are tried as ends of ranges in a section, at most."""

MOST_WORK = 20_000_000
"""Sections times ranges times blocks, above which only some sections are looked at."""


def _bounded(instance: Instance, height: int) -> IntArray:
    """Entries of blocks, holes among them, whose window is less than all addresses."""
    narrow = (instance.low > 0) | (instance.last + instance.size < height)
    return np.flatnonzero(narrow[instance.owner])


def overloaded(instance: Instance, height: int) -> bool:
    """Whether in a section blocks must occupy more of a range than it has, within ``height``."""
    narrow = _bounded(instance, height)
    blocks = instance.hole == 0
    last = np.where(blocks, np.minimum(instance.last, height - instance.size), instance.last)
    if np.any((last < instance.low) & (instance.size > 0)):
        return True
    if not np.any(blocks[instance.owner[narrow]]):
        return False
    order, begin = by_owner(instance.section, instance.sections)
    here = np.zeros(instance.sections, dtype=bool)
    here[instance.section[narrow]] = True
    is_narrow = np.zeros(len(instance.owner), dtype=bool)
    is_narrow[narrow] = True
    work = 0
    for section in np.flatnonzero(here).tolist():
        rows = order[begin[section] : begin[section + 1]]
        owner = instance.owner[rows]
        lowest = instance.low[owner] + instance.base[rows]
        highest = last[owner] + instance.base[rows]
        units = instance.reserved[rows]
        ends = is_narrow[rows]
        first = np.unique(np.append(lowest[ends], [0]))[:MOST_EDGES]
        stop = np.unique(np.append((highest + units)[ends].clip(max=height), [height]))
        stop = stop[:MOST_EDGES]
        work += len(first) * len(stop) * len(rows)
        if work > MOST_WORK:
            return False
        if _too_much(first, stop, lowest, highest, units):
            return True
    return False


def _too_much(
    first: IntArray, stop: IntArray, lowest: IntArray, highest: IntArray, units: IntArray
) -> bool:
    """Whether the least parts exceed one of the ranges ``[first, stop)``."""
    p, q = first[:, None, None], stop[None, :, None]
    parts = [
        np.minimum(q, address + units) - np.maximum(p, address) for address in (lowest, highest)
    ]
    least = np.minimum(*parts).clip(min=0).sum(axis=2)
    ranges = q[..., 0] - p[..., 0]
    return bool(np.any((ranges > 0) & (least > ranges)))


def energy_bound(instance: Instance, bound: int, most: int) -> int:
    """Least height from ``bound`` on that is not overloaded; ``most + 1`` if none up to ``most`` is.

    A greater height only leaves blocks more addresses, so that overloads end at one height.
    """
    if bound > most or not overloaded(instance, bound):
        return bound
    if overloaded(instance, most):
        return most + 1
    below, stride = bound, 1  # overloaded
    while below + stride < most and overloaded(instance, below + stride):
        below, stride = below + stride, stride * 2
    above = min(below + stride, most)  # not overloaded
    while above - below > 1:
        middle = (above + below) // 2
        if overloaded(instance, middle):
            below = middle
        else:
            above = middle
    return above
