"""Construction for instances whose pairs are too many to list: every block on all before it."""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import small_kernel
from ipuopt.models.placement.problem import IntArray
from ipuopt.models.placement.space.heuristics import Packing
from ipuopt.models.placement.space.instance import Instance
from ipuopt.ranges import by_owner


@small_kernel
def _stack(
    order: IntArray,
    begin: IntArray,
    section: IntArray,
    reserved: IntArray,
    base: IntArray,
    low: IntArray,
    alignment: IntArray,
    top: IntArray,
    start: IntArray,
) -> None:
    """Place blocks in ``order``, each above the tops of its sections."""
    for block in order:
        at = low[block]
        for entry in range(begin[block], begin[block + 1]):
            at = max(at, top[section[entry]] - base[entry])
        at = -(-at // alignment[block]) * alignment[block]
        start[block] = at
        for entry in range(begin[block], begin[block + 1]):
            top[section[entry]] = at + base[entry] + reserved[entry]


def skyline(instance: Instance) -> Packing | None:
    """Blocks by area, in one pass; None where holes or windows leave no room above the others."""
    count = len(instance)
    entries, begin = by_owner(instance.owner, count)
    area = np.bincount(instance.owner, instance.reserved, count)
    start = np.zeros(count, dtype=np.int64)
    _stack(
        np.lexsort((-area, instance.low, -instance.hole)),
        begin,
        instance.section[entries],
        instance.reserved[entries],
        instance.base[entries],
        instance.low,
        instance.alignment,
        np.zeros(instance.sections, dtype=np.int64),
        start,
    )
    if np.any(start > instance.last) or np.any((start != instance.low)[instance.hole == 1]):
        return None
    if len(instance.problem.apart):
        return None
    return Packing(start, instance.height(start))
