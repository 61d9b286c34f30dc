"""Construction in several orders, then local search over the order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.models.placement.greedy import FAILED, HARD, climb, construct
from ipuopt.models.placement.problem import IntArray, Solution
from ipuopt.models.placement.tables import Tables


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


def quick(tables: Tables, goal: int) -> Found | None:
    """Best of the constructions in all :func:`orders`; None if each fails.

    Stops at the first without conflict words whose footprint is at most ``goal`` bytes.
    """
    best: Found | None = None
    address = np.zeros(len(tables.size), dtype=np.int64)
    for aware in (True, False):
        for order in orders(tables):
            words, footprint, boundary = construct(order, aware, *tables.columns, address)
            if words == FAILED:
                continue
            cost = Cost(int(words), int(footprint))
            if best is None or cost < best.cost:
                best = Found(cost, Solution(address.copy(), int(boundary)))
            if best.cost <= Cost(0, goal):
                return best
    return best


def improve(tables: Tables, found: Found | None, trials: int, seed: int, goal: int) -> Found | None:
    """Local search over the order, from that of ``found``; never worse than ``found``.

    The order of ``found`` is read from its addresses: buffers that lie deep go first.
    """
    if found is None:
        order = orders(tables)[0]
    else:
        order = np.argsort(found.solution.address, kind="stable")
    address = np.zeros(len(tables.size), dtype=np.int64)
    words, footprint, boundary = climb(order, trials, seed, goal, *tables.columns, address)
    if words == FAILED:
        return found
    better = Found(Cost(int(words), int(footprint)), Solution(address, int(boundary)))
    return better if found is None or better.cost < found.cost else found
