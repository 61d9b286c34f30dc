"""Labels and pairs that no solution cheaper than a known one has: a certificate tells.

The moved costs of a certificate add up to the cost of every solution that fits, or less. So a
solution costs at least the bound and, beyond it, the excess of what it chooses at a node, on all of
its edges and at their other ends. Integers only: what goes is proven to be no part of a better one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.models.assignment.bounds import LARGE, Certificate
from ipuopt.models.assignment.graph import Graph, offsets
from ipuopt.models.assignment.problem import FORBIDDEN, IntArray


def excesses(graph: Graph, proof: Certificate) -> IntArray:
    """What every label costs beyond the bound at least, scaled; shape ``(labels,)``."""
    return _spread(graph, proof, LARGE // 2, graph.table.copy())


def without_worse(graph: Graph, proof: Certificate, cutoff: int) -> Graph:
    """Forbid the labels and pairs with which every solution costs ``cutoff`` or more."""
    gap = (cutoff - 1 - graph.constant) * proof.scale - proof.total
    if gap >= LARGE // 2:
        return graph
    table = graph.table.copy()
    excess = _spread(graph, proof, gap, table)
    return replace(graph, cost=np.where(excess > gap, FORBIDDEN, graph.cost), table=table)


def _spread(graph: Graph, proof: Certificate, gap: int, table: IntArray) -> IntArray:
    """Excess of every label, cut off above ``gap``; forbids the pairs of ``table`` above it."""
    excess = proof.cost - np.repeat(proof.nodes, graph.sizes)
    sizes = graph.sizes
    at_tail, at_head = offsets(sizes[graph.tail]), offsets(sizes[graph.head])
    total, least = excess.copy(), np.empty(graph.widest, np.int64)
    columns = (graph.first, graph.tail, graph.head, graph.table_first, at_tail, at_head)
    moved = (proof.to_tail, proof.to_head, proof.edges, excess)
    _pairs(columns, moved, proof.scale, gap, table, total, least)
    return total


@kernel
def _pairs(
    columns: tuple[IntArray, ...],
    moved: tuple[IntArray, IntArray, IntArray, IntArray],
    scale: int,
    gap: int,
    table: IntArray,
    total: IntArray,
    least: IntArray,
) -> None:
    """Add to ``total`` the least that every edge and its other end cost beside each label."""
    first, tail, head, table_first, at_tail, at_head = columns
    to_tail, to_head, edges, excess = moved
    for edge in range(len(tail)):
        a, b = first[tail[edge]], first[head[edge]]
        rows, columns_of = first[tail[edge] + 1] - a, first[head[edge] + 1] - b
        cell = table_first[edge]
        least[:columns_of] = gap + 1
        for row in range(rows):
            least_of_row = gap + 1
            for column in range(columns_of):
                value = min(table[cell], LARGE // scale) * scale - edges[edge]
                value -= to_tail[at_tail[edge] + row] + to_head[at_head[edge] + column]
                with_head = value + excess[b + column]
                with_tail = value + excess[a + row]
                if with_head > gap or with_head + excess[a + row] > gap:
                    table[cell] = FORBIDDEN
                least_of_row = min(least_of_row, with_head)
                least[column] = min(least[column], with_tail)
                cell += 1
            total[a + row] = min(total[a + row], gap + 1) + least_of_row
        for column in range(columns_of):
            total[b + column] = min(total[b + column], gap + 1) + least[column]
