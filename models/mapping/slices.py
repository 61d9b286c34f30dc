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
    large: int


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
        capacity.high - least * capacity.granule,
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


Tables = tuple[list[IntArray], list[IntArray], int]
"""Bytes of the labels of every node, of the pairs of every edge, and the limit on their sum."""


def _kinds(problem: Problem, limits: Slice) -> tuple[Tables, Tables, Tables]:
    """(M4), (M5) and (M3); pairs need no interleaved bytes of their own."""
    nodes, edges = problem.nodes, problem.edges
    none = [np.zeros_like(edge.staging) for edge in edges]
    return (
        ([node.standard for node in nodes], [edge.staging for edge in edges], limits.standard),
        ([node.large for node in nodes], [edge.large for edge in edges], limits.large),
        ([node.interleaved for node in nodes], none, limits.interleaved),
    )


def _least(problem: Problem, tables: list[IntArray], pairs: list[IntArray]) -> IntArray:
    """Bytes that any choice needs at every step, at least."""
    needs = np.zeros(len(problem.steps), dtype=np.int64)
    for table in tables:
        needs += table.min(axis=0)
    for edge, pair in zip(problem.edges, pairs, strict=True):
        needs[edge.step] += pair[edge.cost != FORBIDDEN].min(initial=1 << 60)
    return needs


def _label_masks(problem: Problem, limits: Slice) -> list[BoolArray] | None:
    masks = [np.ones(len(node.cost), dtype=np.bool_) for node in problem.nodes]
    for tables, pairs, limit in _kinds(problem, limits):
        needs = _least(problem, tables, pairs)
        if np.any(needs > limit):
            return None
        for mask, table in zip(masks, tables, strict=True):
            mask &= (table <= limit - needs + table.min(axis=0)).all(axis=1)
    return masks


def _pair_masks(problem: Problem, limits: Slice) -> list[BoolArray]:
    """Allowed pairs whose staging does not fit beside the least of their groups' labels."""
    masks = [np.zeros(edge.cost.shape, dtype=np.bool_) for edge in problem.edges]
    for tables, pairs, limit in _kinds(problem, limits):
        needs = _least(problem, tables, pairs)
        for mask, edge, pair in zip(masks, problem.edges, pairs, strict=True):
            rest = needs[edge.step] - pair[edge.cost != FORBIDDEN].min()
            sides = []
            for node, groups, count in (
                (edge.tail, edge.tail_group, edge.cost.shape[0]),
                (edge.head, edge.head_group, edge.cost.shape[1]),
            ):
                bytes_of_label = tables[node][:, edge.step]
                least = np.full(count, 1 << 60, dtype=np.int64)
                np.minimum.at(least, groups, bytes_of_label)
                rest -= bytes_of_label.min()
                sides.append(least)
            need = sides[0][:, None] + pair + sides[1][None, :] + rest
            mask |= (edge.cost != FORBIDDEN) & (need > limit)
    return masks
