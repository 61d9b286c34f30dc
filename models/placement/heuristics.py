"""Construction in several orders, then local search over the order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.models.placement.climb import climb
from ipuopt.models.placement.greedy import FAILED, HARD, construct
from ipuopt.models.placement.problem import IntArray, Solution
from ipuopt.models.placement.tables import Tables


@dataclass(frozen=True, slots=True)
class Found:
    """A placement, its cost, and the order that led to it.

    Attributes
    ----------
    words, footprint
        Conflict words and bytes: the two objectives, in this order.
    """

    words: int
    footprint: int
    order: IntArray
    solution: Solution

    @property
    def cost(self) -> tuple[int, int]:
        """Compares by importance."""
        return self.words, self.footprint


def orders(tables: Tables) -> tuple[IntArray, ...]:
    """Orders worth trying: by pairs, by size, by area, by lifetime, and as the peer does."""
    start, stop = tables.live[:, 0], tables.live[:, 1]
    size, life = tables.size, stop - start
    weight = np.where(tables.near_words == HARD, tables.size.max(initial=1), tables.near_words)
    ends = np.concatenate(([0], np.cumsum(weight)))
    pairs = ends[tables.near_start[1:]] - ends[tables.near_start[:-1]]
    keys = (
        (-life, -size),
        (start, -size),
        (-size, -pairs),
        (-life, -size * life),
        (-size, -life),
        (stop, start),
    )
    return tuple(np.lexsort(key) for key in keys)


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
            if best is None or (words, footprint) < best.cost:
                solution = Solution(address.copy(), int(boundary))
                best = Found(int(words), int(footprint), order, solution)
            if best.words == 0 and best.footprint <= goal:
                return best
    return best


def improve(
    tables: Tables, found: Found | None, trials: int, seed: int, goal: int
) -> Found | None:
    """Local search from ``found`` (from the first order without one); never worse than it."""
    order = (orders(tables)[0] if found is None else found.order).copy()
    address = np.zeros(len(tables.size), dtype=np.int64)
    words, footprint, boundary = climb(order, trials, seed, goal, *tables.columns, address)
    if words == FAILED:
        return found
    better = Found(int(words), int(footprint), order, Solution(address, int(boundary)))
    return better if found is None or better.cost < found.cost else found
