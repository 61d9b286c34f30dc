"""Construction in several orders, then local search over the order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import numpy as np

from ipuopt.models.placement.greedy import FAILED, HARD, construct
from ipuopt.models.placement.problem import IntArray, Solution
from ipuopt.models.placement.tables import Tables
from ipuopt.target.memory import element_range


@dataclass(frozen=True, slots=True, order=True)
class Cost:
    """Both objectives, compared in order of importance: conflict words, then bytes."""

    words: int
    footprint: int


@dataclass(frozen=True, slots=True)
class Found:
    """A placement and its cost."""

    cost: Cost
    solution: Solution


def orders(tables: Tables) -> tuple[IntArray, ...]:
    """Orders worth trying: by lifetime, start, size, pairs, area and end, each one long first."""
    start, stop = tables.live[:, 0], tables.live[:, 1]
    size, life = tables.size, stop - start
    weight = np.where(tables.near_words == HARD, tables.size.max(initial=1), tables.near_words)
    ends = np.concatenate(([0], np.cumsum(weight)))
    pairs = ends[tables.near_start[1:]] - ends[tables.near_start[:-1]]
    keys = (
        (-size, -life),
        (-size, start),
        (-pairs, -size),
        (-size * life, -life),
        (-life, -size),
        (start, stop),
    )
    return tuple(np.lexsort(key[::-1]) for key in keys)


def quick(tables: Tables, goal: int, expired: Callable[[], bool]) -> Found | None:
    """Best of the constructions in all :func:`orders`; None if each fails.

    Stops at the first without conflict words whose footprint is at most ``goal`` bytes, and after
    the first at all once ``expired`` holds: with tens of thousands of buffers each takes seconds.
    """
    best: Found | None = None
    address = np.zeros(len(tables.size), dtype=np.int64)
    for aware in (True, False):
        for order in orders(tables):
            words, footprint, boundary = construct(order, aware, *tables.columns, address)
            cost = Cost(int(words), int(footprint))
            if words != FAILED and (best is None or cost < best.cost):
                best = Found(cost, Solution(address.copy(), int(boundary)))
            if expired() or (best is not None and best.cost <= Cost(0, goal)):
                return best
    return best


def _blamed(tables: Tables, found: Found) -> list[int]:
    """Buffers that share an element with a neighbour, or else lie at the top of an extent."""
    address = found.solution.address
    if found.cost.words:
        first, last = element_range(address, tables.size)
        owner = np.repeat(np.arange(len(address)), np.diff(tables.near_start))
        shared = (first[owner] <= last[tables.near]) & (first[tables.near] <= last[owner])
        return [int(buffer) for buffer in np.unique(owner[shared])]
    above = address >= found.solution.boundary
    extent = np.where(tables.interleaved == 1, 0, np.where(above, 2, 1))
    by_top = np.lexsort((address + tables.size, extent))
    last_of_extent = np.flatnonzero(np.diff(extent[by_top], append=3))
    return [int(buffer) for buffer in by_top[last_of_extent]]


def improve(tables: Tables, found: Found | None, trials: int, seed: int, goal: int) -> Found | None:
    """Local search over the order of construction; never worse than ``found``.

    It starts from the order of the addresses in ``found``. A move takes a buffer, half of the time
    one that is to blame for the cost, to another place of the order; it is kept unless the cost
    becomes worse. The search ends after ``trials`` moves, or without conflict words and at most
    ``goal`` bytes of footprint.
    """
    random = Random(seed)
    count = len(tables.size)
    start = orders(tables)[0] if found is None else np.argsort(found.solution.address)
    order: list[int] = start.tolist()
    best, current = found, None
    blamed: list[int] = []
    address = np.zeros(count, dtype=np.int64)
    for trial in range(trials if count > 1 else 0):
        moved = order.copy()
        if trial:
            source, target = random.randrange(count), random.randrange(count)
            if blamed and random.random() < 0.5:
                source = order.index(random.choice(blamed))
            moved.insert(target, moved.pop(source))
        words, footprint, boundary = construct(
            np.array(moved, dtype=np.int64), True, *tables.columns, address
        )
        cost = Cost(int(words), int(footprint))
        if words == FAILED or (current is not None and cost > current.cost):
            continue
        changed = current is None or cost < current.cost
        order, current = moved, Found(cost, Solution(address.copy(), int(boundary)))
        if changed:
            blamed = _blamed(tables, current)
        if best is None or cost < best.cost:
            best = current
            if cost <= Cost(0, goal):
                break
    return best
