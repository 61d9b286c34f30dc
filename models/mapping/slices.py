"""Slices of the boundary: with the boundary fixed, memory is a set of plain upper limits.

The boundary is the interleaved peak rounded up, a few multiples of the granule. For a range
``[least, most]`` of boundaries every feasible choice satisfies the limits of that range, and if the
range is a single value, every choice within the limits is feasible. The slices cover all
boundaries, so the least of their bounds is a bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.models.mapping.dominance import BoolArray
from ipuopt.models.mapping.problem import FORBIDDEN, Capacity, IntArray, Problem
from ipuopt.models.mapping.reduction import Reduction, consistent

MAX_SLICES = 16
"""More boundaries than this share slices: the limits get looser, the bounds stay valid."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Limits in bytes for boundaries of ``least`` to ``most`` granules."""

    least: int
    most: int
    standard: int
    interleaved: int
    contiguous: int


def slices(problem: Problem) -> list[Slice]:
    """Ranges of boundaries that cover all that the labels can make, in rising order."""
    capacity = problem.capacity
    low = sum((node.interleaved.min(axis=0) for node in problem.nodes), np.int64(0))
    high = sum((node.interleaved.max(axis=0) for node in problem.nodes), np.int64(0))
    least = -(-int(np.max(low, initial=0)) // capacity.granule)
    peak = min(int(np.max(high, initial=0)), capacity.interleaved, capacity.total)
    most = -(-peak // capacity.granule)
    if most < least:
        return []
    width = -(-(most - least + 1) // MAX_SLICES)
    starts = range(least, most + 1, width)
    return [slice_of(capacity, start, min(start + width - 1, most)) for start in starts]


def slice_of(capacity: Capacity, least: int, most: int) -> Slice:
    """Limits for boundaries of ``least`` to ``most`` granules."""
    return Slice(
        least,
        most,
        capacity.total - least * capacity.granule,
        min(capacity.interleaved, most * capacity.granule),
        max(capacity.low, capacity.high - least * capacity.granule),
    )


def fitting(reduction: Reduction, limits: Slice) -> Reduction | None:
    """Leave out labels and pairs that break a limit even beside the least of all others.

    None if no choice is left: then none is feasible within the slice.
    """
    while True:
        smaller = consistent(reduction)
        if smaller is None:
            return None
        masks = _label_masks(smaller.problem, limits)
        if masks is None:
            return None
        narrower = smaller.restrict(masks)
        if narrower is None:
            return None
        if narrower is smaller:
            pairs = _pair_masks(smaller.problem, limits)
            if not any(mask.any() for mask in pairs):
                return smaller
            narrower = smaller.forbid(pairs)
        reduction = narrower


def least_standard(problem: Problem) -> IntArray:
    """Standard bytes that any choice needs at every step, at least."""
    total = sum((node.standard.min(axis=0) for node in problem.nodes), np.int64(0))
    needs = np.zeros(len(problem.steps), dtype=np.int64) + total
    for edge in problem.edges:
        needs[edge.step] += edge.staging[edge.cost != FORBIDDEN].min(initial=1 << 60)
    return needs


def _label_masks(problem: Problem, limits: Slice) -> list[BoolArray] | None:
    standard = least_standard(problem)
    interleaved = sum((node.interleaved.min(axis=0) for node in problem.nodes), np.int64(0))
    if np.any(standard > limits.standard) or np.any(interleaved > limits.interleaved):
        return None
    masks = []
    for node in problem.nodes:
        spare = limits.standard - standard + node.standard.min(axis=0)
        spare_interleaved = limits.interleaved - interleaved + node.interleaved.min(axis=0)
        masks.append(
            (node.standard <= spare).all(axis=1)
            & (node.interleaved <= spare_interleaved).all(axis=1)
            & (node.contiguous <= limits.contiguous)
        )
    return masks


def _pair_masks(problem: Problem, limits: Slice) -> list[BoolArray]:
    """Allowed pairs whose staging does not fit beside the least of their groups' labels."""
    needs, masks = least_standard(problem), []
    for edge in problem.edges:
        rest = needs[edge.step] - edge.staging[edge.cost != FORBIDDEN].min()
        sides = []
        for node, groups, count in (
            (edge.tail, edge.tail_group, edge.cost.shape[0]),
            (edge.head, edge.head_group, edge.cost.shape[1]),
        ):
            bytes_of_label = problem.nodes[node].standard[:, edge.step]
            least = np.full(count, 1 << 60, dtype=np.int64)
            np.minimum.at(least, groups, bytes_of_label)
            rest -= bytes_of_label.min()
            sides.append(least)
        need = sides[0][:, None] + edge.staging + sides[1][None, :] + rest
        masks.append((edge.cost != FORBIDDEN) & (need > limits.standard))
    return masks
