"""Load bounds: what lives together needs as many addresses, above the lowest that it may have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.models.placement.bounds import stacked
from ipuopt.models.placement.problem import IntArray
from ipuopt.models.placement.space.instance import Instance
from ipuopt.ranges import by_owner


@dataclass(frozen=True, slots=True)
class Load:
    """Blocks of one section that need the most height.

    Attributes
    ----------
    height
        Units of height that they need at least.
    section
        Where they live together.
    above
        None of them may have a lower address than this.
    blocks
        Their numbers.
    """

    height: int
    section: int
    above: int
    blocks: IntArray


def merged_holes(instance: Instance) -> list[tuple[int, int]]:
    """Holes in order, without those that lie in others."""
    ranges = instance.problem.holes // instance.unit
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(map(tuple, ranges.tolist())):
        if end <= begin:
            continue
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def _top(above: int, units: int, holes: list[tuple[int, int]]) -> int:
    """Least height with ``units`` free units from ``above`` on."""
    for begin, end in holes:
        if units <= max(0, begin - above):
            break
        units -= max(0, begin - above)
        above = max(above, end)
    return above + units


def free_units(instance: Instance, above: int, limit: int) -> int:
    """Units between ``above`` and ``limit`` that are in no hole."""
    free = max(0, limit - above)
    for begin, end in merged_holes(instance):
        free -= max(0, min(end, limit) - max(begin, above))
    return free


def demand(instance: Instance, blocks: IntArray, reserved: IntArray) -> int:
    """Units that blocks of one section take up, one on the other.

    All their addresses are multiples of the common divisor of the alignments, so that each but the
    topmost is followed by an address that is one. What lies between may be a hole or a part of a
    block that does not live, though.
    """
    if not len(blocks) or instance.hole.any() or instance.base.any():
        return int(reserved.sum())
    return int(stacked(reserved, np.gcd.reduce(instance.alignment[blocks])))


def loads(instance: Instance) -> list[Load]:
    """Load of every section: the worst over all subsets above a common lowest address."""
    keep = instance.hole[instance.owner] == 0
    owner, section = instance.owner[keep], instance.section[keep]
    reserved = instance.reserved[keep]
    order, bounds = by_owner(section, instance.sections)
    holes = merged_holes(instance)
    found = []
    for number in range(instance.sections):
        rows = order[bounds[number] : bounds[number + 1]]
        blocks, units = owner[rows], reserved[rows]
        lows = instance.low[blocks]
        worst = Load(0, number, 0, blocks)
        for above in np.unique(lows).tolist():
            chosen = lows >= above
            height = _top(above, demand(instance, blocks[chosen], units[chosen]), holes)
            if height > worst.height:
                worst = Load(height, number, above, blocks[chosen])
        found.append(worst)
    return found


def load_bound(instance: Instance) -> int:
    """Least height in units that the loads allow; 0 without blocks."""
    return max((load.height for load in loads(instance)), default=0)
