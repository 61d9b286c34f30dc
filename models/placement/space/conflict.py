"""Why buffers do not fit: a small set of them that does not fit either."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ipuopt.models.placement.problem import IntArray
from ipuopt.models.placement.space.bounds import demand, free_units, loads
from ipuopt.models.placement.space.instance import Instance, build
from ipuopt.models.placement.space.problem import Problem
from ipuopt.models.placement.space.proof import verdict
from ipuopt.models.placement.space.search import FAILED

PROOF_NODES = 20_000
"""Nodes that may prove that a smaller set does not fit; less than a second."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Buffers that do not fit into the capacity together.

    Attributes
    ----------
    buffers
        Their numbers.
    step
        A step in which all of them live; None if there is none: they do not fit as a whole.
    demand
        Bytes of address space that they need at least; without a step, their largest load.
    free
        Bytes that there are for them.
    minimal
        Whether it is proven that each smaller set of these fits by itself or is at least not
        known to be in conflict; False when time ran out.
    """

    buffers: IntArray
    step: int | None
    demand: int
    free: int
    minimal: bool


def _members(instance: Instance, blocks: IntArray) -> IntArray:
    """Buffers of blocks that have bytes."""
    inside = np.isin(instance.block, blocks) & (instance.problem.size_bytes > 0)
    return np.flatnonzero(inside)


def by_load(instance: Instance, capacity: int) -> Conflict | None:
    """Fewest buffers of one step whose load is above ``capacity`` bytes; None if none is."""
    limit = capacity // instance.unit
    best: tuple[int, int, Conflict] | None = None
    for load in loads(instance):
        if load.height <= limit:
            continue
        rows = np.flatnonzero(instance.section == load.section)
        units = np.zeros(len(instance), dtype=np.int64)
        units[instance.owner[rows]] = instance.reserved[rows]
        free = free_units(instance, load.above, limit)
        largest = load.blocks[np.argsort(-units[load.blocks], kind="stable")]
        count = len(largest)
        for few in range(1, len(largest) + 1):
            if demand(instance, largest[:few], units[largest[:few]]) > free:
                count = few
                break
        chosen = largest[:count]
        buffers = _members(instance, chosen)
        needs = demand(instance, chosen, units[chosen])
        if best is None or (len(buffers), -needs) < best[:2]:
            conflict = Conflict(
                buffers=buffers,
                step=int(instance.step[load.section]),
                demand=needs * instance.unit,
                free=free * instance.unit + capacity % instance.unit,
                minimal=True,
            )
            best = (len(buffers), -needs, conflict)
    return None if best is None else best[2]


def _without(problem: Problem, keep: IntArray) -> Problem:
    """The problem of some of its buffers; the others become empty and lose their window."""
    gone = np.ones(len(problem), dtype=bool)
    gone[keep] = False
    part = problem.part
    if len(part):
        part = np.where(gone[problem.span_owner][:, None], 0, part)
    return replace(
        problem,
        size_bytes=np.where(gone, 0, problem.size_bytes),
        part=part,
        low=np.where(gone, 0, problem.low),
        high=np.where(gone, problem.high.max(initial=0), problem.high),
        alignment=np.where(gone, 1, problem.alignment),
        alias=np.where(gone, -1, problem.alias),
    )


def _cannot(problem: Problem, capacity: int, expired: Callable[[], bool]) -> bool:
    """Whether a bounded search proves that the buffers do not fit."""
    return verdict(problem, capacity, PROOF_NODES, expired).said == FAILED


def by_search(problem: Problem, capacity: int, expired: Callable[[], bool]) -> Conflict:
    """Leave out buffers of an infeasible problem as long as the rest is proven not to fit.

    Halves first, then ever smaller groups, down to single buffers.
    """
    kept = np.flatnonzero(problem.size_bytes > 0)
    size = max(1, len(kept) // 2)
    complete = True
    while True:
        at, fewer = 0, False
        while at < len(kept):
            if expired():
                complete = False
                break
            rest = np.concatenate((kept[:at], kept[at + size :]))
            if _cannot(_without(problem, rest), capacity, expired):
                kept, fewer = rest, True
            else:
                at += size
        if not complete or (size == 1 and not fewer):
            break
        size = max(1, size // 2)
    small = build(_without(problem, kept))
    worst = max(loads(small), key=lambda load: load.height)
    return Conflict(
        buffers=kept,
        step=None,
        demand=worst.height * small.unit,
        free=capacity,
        minimal=complete,
    )
