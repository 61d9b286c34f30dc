"""Exact optimum without memory where the graph is thin: nodes are minimised out one by one.

Bucket elimination (Dechter 1999, doi:10.1016/S0004-3702(99)00059-4) in the order of the smallest
next table. Integers only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ipuopt.models.assignment.graph import Graph
from ipuopt.models.assignment.problem import FORBIDDEN, IntArray

MAX_CELLS = 1 << 24
"""Largest table that is made."""

MAX_NODES = 2000
"""Larger graphs are not thin after the presolve; the order alone would take long."""


@dataclass(frozen=True, slots=True)
class _Factor:
    """A table over some nodes, ascending."""

    nodes: tuple[int, ...]
    table: IntArray


def optimum(graph: Graph) -> tuple[int, IntArray] | None:
    """Least cost without memory and labels that have it; None if the tables would be too large."""
    nodes = len(graph.first) - 1
    order = _order(graph) if nodes <= MAX_NODES else None
    if order is None:
        return None
    sizes = graph.sizes.tolist()
    factors = [
        _Factor((node,), graph.cost[graph.first[node] : graph.first[node + 1]])
        for node in range(nodes)
    ]
    for edge, (tail, head) in enumerate(zip(graph.tail.tolist(), graph.head.tolist(), strict=True)):
        cells = graph.table[graph.table_first[edge] : graph.table_first[edge + 1]]
        factors.append(_Factor((tail, head), cells.reshape(sizes[tail], sizes[head])))
    constant, chosen = graph.constant, []
    for node in order:
        used = [factor for factor in factors if node in factor.nodes]
        factors = [factor for factor in factors if node not in factor.nodes]
        scope = tuple(sorted({other for factor in used for other in factor.nodes} - {node}))
        scope = (*scope, node)
        total = np.zeros([sizes[other] for other in scope], dtype=np.int64)
        for factor in used:
            total = np.minimum(total + _spread(factor, scope, sizes), FORBIDDEN)
        chosen.append((scope[:-1], total.argmin(axis=-1)))
        least = total.min(axis=-1)
        if len(scope) > 1:
            factors.append(_Factor(scope[:-1], least))
        else:
            constant += int(least)
    labels = np.zeros(nodes, dtype=np.int64)
    for node, (scope, best) in zip(reversed(order), reversed(chosen), strict=True):
        labels[node] = best[tuple(int(labels[other]) for other in scope)]
    return constant, labels


def _spread(factor: _Factor, scope: tuple[int, ...], sizes: list[int]) -> IntArray:
    """The table with an axis for every node of ``scope``, in its order."""
    places = [scope.index(node) for node in factor.nodes]
    turned = factor.table.transpose(np.argsort(places))
    shape = [sizes[node] if node in factor.nodes else 1 for node in scope]
    return turned.reshape(shape)


def _order(graph: Graph) -> list[int] | None:
    """Nodes by the smallest table that their turn makes; None if one is too large."""
    sizes = graph.sizes.tolist()
    near: list[set[int]] = [set() for _ in sizes]
    for tail, head in zip(graph.tail.tolist(), graph.head.tolist(), strict=True):
        near[tail].add(head)
        near[head].add(tail)

    def cells(node: int) -> int:
        product: int = math.prod(sizes[other] for other in near[node])
        return product * int(sizes[node])

    left = {node: cells(node) for node in range(len(sizes))}
    order = []
    while left:
        node = min(left, key=lambda one: (left[one], one))
        if left.pop(node) > MAX_CELLS:
            return None
        order.append(node)
        for other in near[node]:
            near[other] |= near[node]
            near[other] -= {node, other}
        for other in near[node]:
            left[other] = cells(other)
    return order
