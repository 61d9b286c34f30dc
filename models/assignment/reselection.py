"""A forest of nodes is chosen anew beside all others; the choice stays unless it costs more.

The forest is an induced one, so that its best labels follow by dynamic programming from the leaves to
the roots; on the way back a label is taken only if its memory fits beside all others.
"""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import inner_kernel, kernel
from ipuopt.models.assignment.forests import grow_forest
from ipuopt.models.assignment.messages import FloatArray
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

Forest = tuple[IntArray, IntArray, IntArray]
"""Nodes, each with the place of its parent in the forest, -1 for roots, and the edge to it."""


@kernel
def improve(
    edges: Columns,
    tables: Tables,
    memory: Columns,
    cost: FloatArray,
    labels: IntArray,
    most: IntArray,
    added: IntArray,
    widest: int,
    blocks: int,
    size: int,
    seed: int,
) -> None:
    """Choose ``blocks`` forests of up to ``size`` nodes anew; no node has more than ``widest`` labels.

    Changes ``labels`` and the tree ``most``, ``added`` of the memory that they use.
    """
    state = np.array([seed * 2654435761 + 88172645463325252], dtype=np.int64)
    touched = np.zeros(len(labels), dtype=np.int64)
    nodes, parent = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    link_of, old = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    waiting = np.empty((64 * size, 2), dtype=np.int64)
    values = np.empty((size, widest), dtype=np.float64)
    offered = np.empty(widest, dtype=np.float64)
    for _ in range(blocks):
        count = grow_forest(edges, memory, size, state, touched, nodes, parent, link_of, waiting)
        forest = nodes[:count], parent[:count], link_of[:count]
        for at in range(count):
            old[at] = labels[nodes[at]]
            use_memory(nodes[at], old[at], -1, memory, most, added)
        before = _costs_outside(
            edges, tables, memory, cost, labels, most, added, touched, forest, values
        )
        _gather(edges, tables, forest, values, offered)
        chosen = _choose(edges, tables, memory, labels, most, added, forest, values)
        if (
            chosen < count
            or _cost_of(edges, tables, cost, labels, touched, forest) > before
            or not all_fit(nodes, count, memory, most, added)
        ):
            for at in range(count):
                node = nodes[at]
                if at < chosen:
                    use_memory(node, labels[node], -1, memory, most, added)
                labels[node] = old[at]
                use_memory(node, old[at], 1, memory, most, added)
        _reset(edges, nodes[:count], touched)


@inner_kernel
def _costs_outside(
    edges: Columns,
    tables: Tables,
    memory: Columns,
    cost: FloatArray,
    labels: IntArray,
    most: IntArray,
    added: IntArray,
    touched: IntArray,
    forest: Forest,
    values: FloatArray,
) -> float:
    """Set ``values`` to the costs beside all nodes that stay, infinite for labels without room.

    Returns what the present labels of the forest cost.
    """
    first, tail, head, _, link_first, link = edges
    nodes, parent, link_of = forest
    total = 0.0
    for at in range(len(nodes)):
        node = nodes[at]
        value = values[at, : first[node + 1] - first[node]]
        for label in range(len(value)):
            value[label] = cost[first[node] + label]
        for place in range(link_first[node], link_first[node + 1]):
            edge = link[place]
            other = tail[edge] + head[edge] - node
            if touched[other] >= 0:
                value += costs_beside(edge, other, labels[other], edges, tables)
        total += value[labels[node]]
        if parent[at] >= 0:
            up = nodes[parent[at]]
            total += costs_beside(link_of[at], up, labels[up], edges, tables)[labels[node]]
        exclude(node, value, memory, most, added)
    return total


@inner_kernel
def _gather(
    edges: Columns, tables: Tables, forest: Forest, values: FloatArray, offered: FloatArray
) -> None:
    """Add to the labels of every node the least cost of all below it, from the leaves to the roots."""
    first = edges[0]
    nodes, parent, link_of = forest
    for at in range(len(nodes) - 1, -1, -1):
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
                # Not min(): its care for NaN keeps the compiler from using vectors.
                offer[column] = sum_of if sum_of < offer[column] else offer[column]  # noqa: FURB136
        above += offer


@inner_kernel
def _choose(
    edges: Columns,
    tables: Tables,
    memory: Columns,
    labels: IntArray,
    most: IntArray,
    added: IntArray,
    forest: Forest,
    values: FloatArray,
) -> int:
    """Choose the labels from the roots to the leaves; returns how many nodes got one that fits."""
    first = edges[0]
    nodes, parent, link_of = forest
    for at in range(len(nodes)):
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
            return at
        labels[node] = best
        use_memory(node, best, 1, memory, most, added)
        if not fits(node, memory, most, added):
            return at + 1
    return len(nodes)


@inner_kernel
def _cost_of(
    edges: Columns,
    tables: Tables,
    cost: FloatArray,
    labels: IntArray,
    touched: IntArray,
    forest: Forest,
) -> float:
    """What the labels of the forest cost, with all edges from it."""
    first, tail, head, _, link_first, link = edges
    nodes, parent, link_of = forest
    total = 0.0
    for at in range(len(nodes)):
        node = nodes[at]
        total += cost[first[node] + labels[node]]
        for place in range(link_first[node], link_first[node + 1]):
            edge = link[place]
            other = tail[edge] + head[edge] - node
            if touched[other] >= 0:
                total += costs_beside(edge, other, labels[other], edges, tables)[labels[node]]
        if parent[at] >= 0:
            up = nodes[parent[at]]
            total += costs_beside(link_of[at], up, labels[up], edges, tables)[labels[node]]
    return total


@inner_kernel
def _reset(edges: Columns, nodes: IntArray, touched: IntArray) -> None:
    """Take the marks of a forest away."""
    _, tail, head, _, link_first, link = edges
    for node in nodes:
        touched[node] = 0
        for place in range(link_first[node], link_first[node + 1]):
            touched[tail[link[place]] + head[link[place]] - node] = 0
