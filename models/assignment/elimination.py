"""Nodes without memory and with at most two neighbours are minimised out (bucket elimination)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.models.assignment.contract import contract, identity
from ipuopt.models.assignment.graph import Graph, Memory, offsets
from ipuopt.models.assignment.problem import FORBIDDEN, IntArray

GROWTH, SMALL = 4, 64
"""A table may grow to so many times the two that it replaces, or to so many cells."""


@dataclass(frozen=True, slots=True)
class Elimination:
    """What is needed to choose the labels of the nodes that are gone.

    Attributes
    ----------
    kept
        Old number of every node that is left.
    gone
        Old numbers of the nodes that are gone.
    left, right
        Their neighbours in the old graph; the node itself where there is none.
    width
        Labels of the right neighbour; 1 without.
    first, best
        Best label for every pair of labels of the neighbours, row by row from ``first``.
    """

    kept: IntArray
    gone: IntArray
    left: IntArray
    right: IntArray
    width: IntArray
    first: IntArray
    best: IntArray

    def lift(self, labels: IntArray) -> IntArray:
        """Labels of the old nodes for labels of those that are left."""
        old = np.zeros(len(self.kept) + len(self.gone), dtype=np.int64)
        old[self.kept] = labels
        # A node that is gone has label 0 here, so that it counts as no neighbour of its own.
        cell = self.first[:-1] + old[self.left] * self.width + old[self.right]
        old[self.gone] = self.best[cell]
        return old


def eliminate(graph: Graph) -> tuple[Graph, Elimination] | None:
    """Minimise out an independent set of nodes; None if there is no candidate."""
    nodes = len(graph.first) - 1
    bound = np.zeros(nodes, dtype=np.int64)
    bound[graph.memory.node] = 1
    edges = np.full((nodes, 2), -1, dtype=np.int64)
    degree = np.zeros(nodes, dtype=np.int64)
    gone_mark = np.zeros(nodes, dtype=np.int64)
    _choose(graph.first, graph.tail, graph.head, bound, degree, edges, gone_mark)
    gone = np.flatnonzero(gone_mark)
    if not len(gone):
        return None
    links = edges[gone]
    tails, heads = (np.append(side, -1)[links] for side in (graph.tail, graph.head))
    ends = np.where(tails == gone[:, None], heads, tails)
    left = np.where(links[:, 0] >= 0, ends[:, 0], gone)
    right = np.where(links[:, 1] >= 0, ends[:, 1], gone)
    sizes = graph.sizes
    height, width = np.where(left == gone, 1, sizes[left]), np.where(right == gone, 1, sizes[right])
    first = offsets(height * width)
    least, best = np.zeros(first[-1], np.int64), np.zeros(first[-1], np.int64)
    columns = (graph.first, graph.cost, graph.tail, graph.table_first, graph.table)
    _minimise(*columns, gone, links, height, width, first, least, best)
    cost = graph.cost.copy()
    alone, single = (left == gone), (left != gone) & (right == gone)
    constant = sum(least[first[:-1][alone]].tolist())
    for at in np.flatnonzero(single):
        begin = graph.first[left[at]]
        span = slice(begin, begin + height[at])
        cost[span] = np.minimum(cost[span] + least[first[at] : first[at + 1]], FORBIDDEN)
    kept = np.flatnonzero(gone_mark == 0)
    number = np.cumsum(gone_mark == 0) - 1
    old = (gone_mark[graph.tail] == 0) & (gone_mark[graph.head] == 0)
    pair = right != gone
    cells = np.diff(graph.table_first)
    joined = Graph(
        offsets(sizes[kept]),
        cost[np.repeat(gone_mark == 0, sizes)],
        np.concatenate((number[graph.tail[old]], number[left[pair]])),
        np.concatenate((number[graph.head[old]], number[right[pair]])),
        offsets(np.concatenate((cells[old], (height * width)[pair]))),
        np.concatenate(
            (graph.table[np.repeat(old, cells)], least[np.repeat(pair, height * width)])
        ),
        _renumbered(graph, number),
        graph.constant + constant,
    )
    step = Elimination(kept, gone, left, right, width, first, best)
    return contract(joined, identity(joined)), step


def _renumbered(graph: Graph, number: IntArray) -> Memory:
    return replace(graph.memory, node=number[graph.memory.node])


@kernel
def _choose(
    first: IntArray,
    tail: IntArray,
    head: IntArray,
    bound: IntArray,
    degree: IntArray,
    edges: IntArray,
    gone: IntArray,
) -> None:
    """Mark nodes of degree 0, then 1, then 2 that are no neighbours of each other."""
    for edge in range(len(tail)):
        for node in (tail[edge], head[edge]):
            if degree[node] < 2:
                edges[node, degree[node]] = edge
            degree[node] += 1
    blocked = bound.copy()
    for most in range(3):
        for node in range(len(first) - 1):
            if blocked[node] or degree[node] != most:
                continue
            ends = np.full(2, node, dtype=np.int64)
            for place in range(most):
                edge = edges[node, place]
                ends[place] = head[edge] if tail[edge] == node else tail[edge]
            if most == 2:
                rows = first[ends[0] + 1] - first[ends[0]]
                columns = first[ends[1] + 1] - first[ends[1]]
                size = first[node + 1] - first[node]
                if rows * columns > max(SMALL, GROWTH * size * (rows + columns)):
                    continue
            gone[node] = 1
            blocked[node] = 1
            blocked[ends[0]] = 1
            blocked[ends[1]] = 1


@kernel
def _minimise(
    first: IntArray,
    cost: IntArray,
    tail: IntArray,
    table_first: IntArray,
    table: IntArray,
    gone: IntArray,
    links: IntArray,
    height: IntArray,
    width: IntArray,
    out_first: IntArray,
    least: IntArray,
    best: IntArray,
) -> None:
    """Least cost of each node that goes, and the label that has it, by labels of the neighbours."""
    for at in range(len(gone)):
        node = gone[at]
        begin, size = first[node], first[node + 1] - first[node]
        rows, columns = height[at], width[at]
        cell = out_first[at]
        for row in range(rows):
            for column in range(columns):
                value, chosen = 4 * FORBIDDEN, 0
                for label in range(size):
                    total = cost[begin + label]
                    for edge, width_of, other in (
                        (links[at, 0], rows, row),
                        (links[at, 1], columns, column),
                    ):
                        if edge >= 0 and tail[edge] == node:
                            total += table[table_first[edge] + label * width_of + other]
                        elif edge >= 0:
                            total += table[table_first[edge] + other * size + label]
                    if total < value:
                        value, chosen = total, label
                least[cell] = min(value, FORBIDDEN)
                best[cell] = chosen
                cell += 1
