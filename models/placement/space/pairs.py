"""Pairs of blocks that must not meet, and how far apart they lie at least."""

from __future__ import annotations

import numpy as np

from ipuopt.models.placement.problem import IntArray
from ipuopt.ranges import ranges

MAX_PAIRS = 4_000_000
"""Pairs of blocks that live together, up to which they are listed (about 200 MB of tables)."""


def pairs_of(
    owner: IntArray,
    section: IntArray,
    reserved: IntArray,
    base: IntArray,
    size: IntArray,
    sections: int,
    apart: IntArray,
    grain: int,
) -> tuple[IntArray | None, bool]:
    """Rows ``one, other, one_below, other_below, grain, apart`` of the pairs that must not meet.

    And whether blocks may be interlocked.
    """
    order = np.lexsort((owner, section))
    owner, section, reserved, base = owner[order], section[order], reserved[order], base[order]
    blocks = len(size)
    entry = owner * sections + section
    # Two blocks meet first where one of them begins; where sizes vary, every section counts.
    varying = np.zeros(blocks, dtype=bool)
    varying[owner[(reserved != size[owner]) | (base > 0)]] = True
    fresh = ~np.isin(entry - 1, entry) | (section == 0)
    fresh |= varying[owner]
    live = np.bincount(section, minlength=sections)
    begins = np.bincount(section[fresh], minlength=sections)
    if int((live * begins).sum()) > 4 * MAX_PAIRS:
        return None, False
    # Every fresh entry with all entries of its section.
    at = np.flatnonzero(fresh)
    first = np.concatenate(([0], np.cumsum(live)))[section[at]]
    many = live[section[at]]
    one, other = np.repeat(at, many), ranges(first, many)
    one, other = np.minimum(one, other), np.maximum(one, other)  # owners ascend in a section
    apart_blocks = owner[one] != owner[other]
    one, other = one[apart_blocks], other[apart_blocks]
    keys, group = np.unique(owner[one] * blocks + owner[other], return_inverse=True)
    if len(keys) > MAX_PAIRS:
        return None, False
    over = base[one] + reserved[one] - base[other]
    under = base[other] + reserved[other] - base[one]
    interlocked = len(keys) > 0 and bool(base.any()) and _interlocked(group, over, under)
    below, above = (_largest(distance, group, len(keys)) for distance in (over, under))
    rows = np.stack(
        (keys // blocks, keys % blocks, below, above, np.ones_like(keys), np.zeros_like(keys)),
        axis=1,
    )
    # Aliases that are apart from others count with their own bytes, whatever their block has.
    swapped = apart[:, 0] > apart[:, 1]
    apart = np.where(swapped[:, None], apart[:, [1, 0, 3, 2]], apart)
    key, group = np.unique(apart[:, 0] * blocks + apart[:, 1], return_inverse=True)
    distances = [_largest(apart[:, column], group, len(key)) for column in (2, 3)]
    marks = np.full(len(key), grain), np.ones(len(key), dtype=np.int64)
    marked = np.stack((key // blocks, key % blocks, *distances, *marks), axis=1)
    return np.concatenate((rows, marked)), interlocked


def _interlocked(pair: IntArray, over: IntArray, under: IntArray) -> bool:
    """Whether in some pair what no section forbids is more than two half-lines above and below 0.

    In a section the difference of both addresses may not lie strictly between ``-under`` and
    ``over``. All of them together are one range if each, in order of their begins, begins before
    the greatest end so far.
    """
    order = np.lexsort((-under, pair))
    pair, over, under = pair[order], over[order], under[order]
    fresh = np.append(True, pair[1:] != pair[:-1])
    # Ranks of a pair lie above those of all pairs before it: a running maximum stays in its pair.
    ascending, rank = np.unique(over, return_inverse=True)
    first = pair * len(ascending)
    ends = ascending[np.maximum.accumulate(rank.ravel() + first) - first]
    apart = ~fresh[1:] & (-under[1:] >= ends[:-1])
    count = int(pair.max()) + 1
    most = [_largest(distance, pair, count) for distance in (over, under)]
    return bool(apart.any() or np.any(most[0] <= 0) or np.any(most[1] <= 0))


def _largest(values: IntArray, entry: IntArray, count: int) -> IntArray:
    found = np.full(count, np.iinfo(np.int64).min)
    np.maximum.at(found, entry, values)
    return found
