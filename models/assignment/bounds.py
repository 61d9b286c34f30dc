"""Bounds that count: messages and prices are rounded, and the sum of minima is formed in integers.

Whatever the messages and prices are, the sum bounds every solution; floating point only decides how
good it is. Numbers too large for 64 bits are replaced by smaller ones, which keeps the bound valid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.models.assignment.graph import Graph
from ipuopt.models.assignment.messages import FloatArray, Passing
from ipuopt.models.assignment.problem import IntArray

LARGE = 1 << 60
"""Scaled costs are cut off here: sums of a cost and all messages of a node stay below 2^63."""

MAX_SHIFT = 20
"""Messages are whole multiples of up to ``2^-MAX_SHIFT`` cost units."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """Costs moved by rounded messages and prices, in integers; they prove a bound.

    Attributes
    ----------
    bound
        On the cost of every solution of the graph.
    scale
        Units of the other numbers in one unit of cost.
    total
        The bound without the graph's constant, scaled and not rounded.
    cost
        Moved cost of every label, with what prices add; shape ``(labels,)``.
    to_tail, to_head
        Messages, laid out as in :class:`~ipuopt.models.assignment.messages.Passing`.
    nodes, edges
        Least moved cost of the labels of every node, and of the pairs of every edge.
    """

    bound: int
    scale: int
    total: int
    cost: IntArray
    to_tail: IntArray
    to_head: IntArray
    nodes: IntArray
    edges: IntArray


def certificate(graph: Graph, passing: Passing, prices: FloatArray) -> Certificate:
    """What any messages and prices >= 0, one a row of memory, prove about ``graph``."""
    scale = 1 << _shift(passing)
    to_tail, to_head = (
        np.round(messages * scale).astype(np.int64)
        for messages in (passing.to_tail, passing.to_head)
    )
    price = np.round(np.clip(prices, 0.0, float(LARGE) / scale / 4) * scale)
    if not np.isfinite(price).all() or float(price.sum()) > LARGE:
        price = np.zeros_like(price)
    whole = price.astype(np.int64)
    cost = np.minimum(graph.cost, LARGE // scale) * scale
    _add_memory(graph, whole, cost)
    columns = (graph.first, graph.tail, graph.head, graph.table_first)
    nodes, edges = np.zeros(len(graph.first) - 1, np.int64), np.zeros(len(graph.tail), np.int64)
    _minima(*columns, passing.to_tail_first, passing.to_head_first, cost, graph.table, scale,
            to_tail, to_head, nodes, edges)  # fmt: skip
    total: int = sum(nodes.tolist()) + sum(edges.tolist())
    total -= sum(p * r for p, r in zip(whole.tolist(), graph.memory.room.tolist(), strict=True))
    bound = graph.constant - (-total // scale)
    return Certificate(bound, scale, total, cost, to_tail, to_head, nodes, edges)


def _shift(passing: Passing) -> int:
    """Largest shift at which no sum of a node's messages comes near 64 bits."""
    most = max(
        float(np.abs(passing.to_tail).max(initial=1.0)),
        float(np.abs(passing.to_head).max(initial=1.0)),
    )
    degree = int(np.diff(passing.link_first).max(initial=1)) + 1
    room = LARGE / (most * degree)
    return int(np.clip(np.floor(np.log2(max(1.0, room))), 0, MAX_SHIFT))


def _add_memory(graph: Graph, price: IntArray, cost: IntArray) -> None:
    """Add usage x price to the costs of the labels; what is too large is cut off."""
    memory = graph.memory
    until = np.concatenate((np.zeros(1, np.int64), np.cumsum(price)))
    weight = until[memory.stop] - until[memory.start]
    sizes = np.diff(memory.first)
    owner = np.repeat(np.arange(len(memory.node)), sizes)
    label = np.repeat(graph.first[memory.node] - memory.first[:-1], sizes) + np.arange(
        len(memory.usage)
    )
    about = memory.usage.astype(np.float64) * weight[owner]
    fits = about < LARGE / 2
    added = np.where(fits, memory.usage * np.where(fits, weight[owner], 0), LARGE // 2)
    _accumulate(label, added, cost)


@kernel
def _accumulate(place: IntArray, added: IntArray, total: IntArray) -> None:
    for index in range(len(place)):
        total[place[index]] = min(total[place[index]] + added[index], LARGE)


@kernel
def _minima(
    first: IntArray,
    tail: IntArray,
    head: IntArray,
    table_first: IntArray,
    to_tail_first: IntArray,
    to_head_first: IntArray,
    cost: IntArray,
    table: IntArray,
    scale: int,
    to_tail: IntArray,
    to_head: IntArray,
    nodes: IntArray,
    edges: IntArray,
) -> None:
    """Least moved cost of every node and edge; adds the messages to ``cost``."""
    for edge in range(len(tail)):
        a, b = first[tail[edge]], first[head[edge]]
        rows, columns = first[tail[edge] + 1] - a, first[head[edge] + 1] - b
        at_tail, at_head, cell = to_tail_first[edge], to_head_first[edge], table_first[edge]
        for row in range(rows):
            cost[a + row] += to_tail[at_tail + row]
        for column in range(columns):
            cost[b + column] += to_head[at_head + column]
        least = 4 * LARGE
        for row in range(rows):
            for column in range(columns):
                value = min(table[cell], LARGE // scale) * scale
                least = min(least, value - to_tail[at_tail + row] - to_head[at_head + column])
                cell += 1
        edges[edge] = least
    for node in range(len(nodes)):
        nodes[node] = cost[first[node] : first[node + 1]].min()
