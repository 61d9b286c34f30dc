"""Large-neighbourhood search: a forest of nodes is chosen anew at a time, the others stay.

The forest is an induced one, so that its best labels follow by dynamic programming from the leaves to
the roots; on the way back a label is taken only if its memory fits beside all others. Costs may
hold prices of memory: with them the search gathers room, without them it spends it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.models.assignment.forests import grow_forest
from ipuopt.models.assignment.graph import Graph
from ipuopt.models.assignment.messages import FloatArray, Passing
from ipuopt.models.assignment.moves import (
    Columns,
    Tables,
    all_fit,
    costs_beside,
    exclude,
    fits,
    use_memory,
)
from ipuopt.models.assignment.problem import IntArray
from ipuopt.models.assignment.range_tree import range_tree


@dataclass(slots=True)
class Place:
    """A choice of labels and the memory that it uses, as the search changes them.

    Attributes
    ----------
    labels
        Of every node.
    most, added
        Tree of use minus room.
    """

    labels: IntArray
    most: IntArray
    added: IntArray


@dataclass(frozen=True, slots=True)
class Searchable:
    """Columns that the kernels share."""

    graph: Graph
    edges: Columns
    tables: Tables
    memory: Columns

    @classmethod
    def of(cls, graph: Graph, passing: Passing) -> Searchable:
        """Columns of a graph; shares the tables of ``passing``."""
        memory = graph.memory
        piece_first = np.searchsorted(memory.node, np.arange(len(graph.first)))
        edges = (
            graph.first,
            graph.tail,
            graph.head,
            graph.table_first,
            passing.link_first,
            passing.link,
        )
        pieces = (piece_first, memory.start, memory.stop, memory.first, memory.usage)
        return cls(graph, edges, (passing.table, passing.turned), pieces)

    def use(self, labels: IntArray) -> IntArray:
        """Memory in use beyond the room of every row."""
        memory = self.graph.memory
        used = memory.usage[memory.first[:-1] + labels[memory.node]]
        return memory.totals(used) - memory.room

    def cost(self, labels: IntArray) -> int:
        """Cost of all labels, without the constant; ``FORBIDDEN`` pairs count as such."""
        graph = self.graph
        cell = graph.table_first[:-1] + labels[graph.tail] * graph.sizes[graph.head]
        pairs = graph.table[cell + labels[graph.head]]
        total: int = sum(graph.cost[graph.first[:-1] + labels].tolist()) + sum(pairs.tolist())
        return total

    def place(self, labels: IntArray) -> Place:
        """The search at ``labels``; rows that are over their room may stay so, not get worse."""
        return Place(labels.copy(), *range_tree(np.minimum(self.use(labels), 0)))

    def decode(self, passing: Passing, cost: FloatArray) -> IntArray:
        """Labels chosen one after the other by costs and messages, where they fit."""
        most, added = range_tree(-self.graph.memory.room)
        labels = np.full(len(self.graph.first) - 1, -1, dtype=np.int64)
        messages = (
            passing.to_tail_first,
            passing.to_head_first,
            passing.to_tail,
            passing.to_head,
        )
        _decode(self.edges, self.tables, messages, self.memory, cost, most, added, labels)
        return labels

    def improve(self, place: Place, cost: FloatArray, blocks: int, size: int, seed: int) -> float:
        """Choose ``blocks`` forests of up to ``size`` nodes anew; returns the change in ``cost``."""
        return float(
            _improve(
                self.edges,
                self.tables,
                self.memory,
                cost,
                place.labels,
                place.most,
                place.added,
                blocks,
                size,
                seed,
            )
        )


@kernel
def _decode(
    edges: Columns,
    tables: Tables,
    messages: tuple[IntArray, IntArray, FloatArray, FloatArray],
    memory: Columns,
    cost: FloatArray,
    most: IntArray,
    added: IntArray,
    labels: IntArray,
) -> None:
    first, tail, head, _, link_first, link = edges
    to_tail_first, to_head_first, to_tail, to_head = messages
    # The last pass went forwards: what a node gets from those before it is up to date.
    for node in range(len(labels) - 1, -1, -1):
        value = cost[first[node] : first[node + 1]].copy()
        for place in range(link_first[node], link_first[node + 1]):
            edge = link[place]
            other = tail[edge] + head[edge] - node
            if labels[other] >= 0:
                value += costs_beside(edge, other, labels[other], edges, tables)
            elif tail[edge] == node:
                at = to_tail_first[edge]
                value += to_tail[at : at + len(value)]
            else:
                at = to_head_first[edge]
                value += to_head[at : at + len(value)]
        fitting = value.copy()
        exclude(node, fitting, memory, most, added)
        best = int(fitting.argmin())
        if fitting[best] == np.inf:
            best = _least_use(node, len(value), memory)
            if value[best] == np.inf:
                best = int(value.argmin())
        labels[node] = best
        use_memory(node, best, 1, memory, most, added)


@kernel
def _least_use(node: int, size: int, memory: Columns) -> int:
    """Label of the least memory over all its rows."""
    piece_first, start, stop, usage_first, usage = memory
    best, least = 0, np.inf
    for label in range(size):
        total = 0.0
        for piece in range(piece_first[node], piece_first[node + 1]):
            total += float(usage[usage_first[piece] + label]) * (stop[piece] - start[piece])
        if total < least:
            best, least = label, total
    return best


@kernel
def _improve(
    edges: Columns,
    tables: Tables,
    memory: Columns,
    cost: FloatArray,
    labels: IntArray,
    most: IntArray,
    added: IntArray,
    blocks: int,
    size: int,
    seed: int,
) -> float:
    first, tail, head, _, link_first, link = edges
    widest = 1
    for node in range(len(labels)):
        widest = max(widest, first[node + 1] - first[node])
    state = np.array([seed * 2654435761 + 88172645463325252], dtype=np.int64)
    touched = np.zeros(len(labels), dtype=np.int64)
    nodes, parent = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    link_of, old = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    waiting = np.empty((64 * size, 2), dtype=np.int64)
    values = np.empty((size, widest), dtype=np.float64)
    offered = np.empty(widest, dtype=np.float64)
    gained = 0.0
    for _ in range(blocks):
        count = grow_forest(edges, memory, size, state, touched, nodes, parent, link_of, waiting)
        before = 0.0
        for at in range(count):
            node = nodes[at]
            old[at] = labels[node]
            use_memory(node, labels[node], -1, memory, most, added)
        for at in range(count):
            node = nodes[at]
            value = values[at, : first[node + 1] - first[node]]
            value[:] = cost[first[node] : first[node + 1]]
            for place in range(link_first[node], link_first[node + 1]):
                edge = link[place]
                other = tail[edge] + head[edge] - node
                if touched[other] >= 0:
                    value += costs_beside(edge, other, labels[other], edges, tables)
            before += value[old[at]]
            if parent[at] >= 0:
                up = nodes[parent[at]]
                before += costs_beside(link_of[at], up, labels[up], edges, tables)[old[at]]
            exclude(node, value, memory, most, added)
        for at in range(count - 1, -1, -1):
            if parent[at] < 0:
                continue
            node, up = nodes[at], nodes[parent[at]]
            value = values[at, : first[node + 1] - first[node]]
            above = values[parent[at], : first[up + 1] - first[up]]
            offer = offered[: len(above)]
            offer[:] = np.inf
            for label in range(len(value)):
                own = value[label]
                if own == np.inf:
                    continue
                cells = costs_beside(link_of[at], node, label, edges, tables)
                for column in range(len(offer)):
                    sum_of = cells[column] + own
                    offer[column] = sum_of if sum_of < offer[column] else offer[column]  # noqa: FURB136
            above += offer
        after = 0.0
        done = 0
        for at in range(count):
            node = nodes[at]
            value = values[at, : first[node + 1] - first[node]]
            if parent[at] >= 0:
                up = nodes[parent[at]]
                value += costs_beside(link_of[at], up, labels[up], edges, tables)
            exclude(node, value, memory, most, added)
            best, least = 0, np.inf
            for label in range(len(value)):
                if value[label] < least:
                    best, least = label, value[label]
            if least == np.inf:
                break
            labels[node] = best
            use_memory(node, best, 1, memory, most, added)
            done += 1
            if not fits(node, memory, most, added):
                break
        taken = False
        if done == count:
            for at in range(count):
                node = nodes[at]
                after += cost[first[node] + labels[node]]
                for place in range(link_first[node], link_first[node + 1]):
                    edge = link[place]
                    other = tail[edge] + head[edge] - node
                    if touched[other] >= 0:
                        after += costs_beside(edge, other, labels[other], edges, tables)[
                            labels[node]
                        ]
                if parent[at] >= 0:
                    up = nodes[parent[at]]
                    after += costs_beside(link_of[at], up, labels[up], edges, tables)[labels[node]]
            taken = after <= before and all_fit(nodes, count, memory, most, added)
        if taken:
            gained += after - before
        else:
            for at in range(count):
                node = nodes[at]
                if at < done:
                    use_memory(node, labels[node], -1, memory, most, added)
                labels[node] = old[at]
                use_memory(node, old[at], 1, memory, most, added)
        for at in range(count):
            node = nodes[at]
            touched[node] = 0
            for place in range(link_first[node], link_first[node + 1]):
                touched[tail[link[place]] + head[link[place]] - node] = 0
    return gained
