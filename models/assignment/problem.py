"""The layout assignment problem as columns, and its solution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

FORBIDDEN = 10**18
"""Costs from here on stand for a choice that no useful solution makes (contest format)."""

LARGEST = 1 << 62
"""Numbers of a file are smaller: sums of two fit 64 bits."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Nodes with strategies, tables of costs between two nodes, memory over time.

    Attributes
    ----------
    name
        Of the instance.
    start, stop
        Node ``i`` uses memory at the times ``start[i] <= t < stop[i]``; shape ``(nodes,)``.
    first
        Strategies of node ``i`` are ``first[i]..first[i + 1] - 1`` of ``cost`` and ``usage``.
    cost, usage
        Cost and memory of every strategy, non-negative.
    tail, head
        Ends of every edge, two different nodes; shape ``(edges,)``.
    table_first
        Costs of edge ``e`` are ``table_first[e]..table_first[e + 1] - 1`` of ``table``.
    table
        Costs of every pair of strategies, row by row: the tail's strategy is the row.
    limit
        Most memory in use at any time; None for no limit.

    Raises
    ------
    ValueError
        For columns that do not fit together, or values out of range.
    """

    name: str
    start: IntArray
    stop: IntArray
    first: IntArray
    cost: IntArray
    usage: IntArray
    tail: IntArray
    head: IntArray
    table_first: IntArray
    table: IntArray
    limit: int | None

    def __post_init__(self) -> None:
        sizes = np.diff(self.first)
        if len(sizes) != len(self.start) or len(self.start) != len(self.stop):
            raise ValueError("first, start and stop: different numbers of nodes")
        if (sizes < 1).any() or (self.stop < self.start).any():
            raise ValueError("a node without strategy, or with stop before start")
        if len(self.cost) != self.first[-1] or len(self.usage) != self.first[-1]:
            raise ValueError("cost and usage: not one entry a strategy")
        if len(self.tail) and not (
            0 <= min(self.tail.min(), self.head.min())
            and max(self.tail.max(), self.head.max()) < len(sizes)
            and (self.tail != self.head).all()
        ):
            raise ValueError("tail and head: not two different nodes")
        cells = np.diff(self.table_first)
        if not np.array_equal(cells, sizes[self.tail] * sizes[self.head]):
            raise ValueError("table_first: not one cell a pair of strategies")
        for values in (self.cost, self.usage, self.table):
            if len(values) and not 0 <= values.min() <= values.max() < LARGEST:
                raise ValueError(f"costs and usages are 0 or more, and less than {LARGEST}")
        largest = sum(np.maximum.reduceat(self.usage, self.first[:-1]).tolist())
        if largest >= LARGEST:
            raise ValueError(f"largest usages of all nodes that add up to {largest}")

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, slots=True)
class Solution:
    """Chosen strategy of every node, shape ``(nodes,)``."""

    strategy: IntArray
