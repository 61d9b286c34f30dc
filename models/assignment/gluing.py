"""Nodes tied by bijections are one node: each label of either allows one label of the other."""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.models.assignment.contract import Mapping, identity
from ipuopt.models.assignment.graph import Graph, offsets
from ipuopt.models.assignment.problem import FORBIDDEN, IntArray


def glue(graph: Graph) -> tuple[Mapping, IntArray] | None:
    """The nodes that are left when all bijections are followed; None if there is none.

    Returns the mapping, and marks on the labels of the new nodes: unmarked ones lead around a cycle
    of bijections to another label of the same node.
    """
    nodes = len(graph.first) - 1
    root = np.arange(nodes)
    # Label of the root for every label, at the labels of its node.
    own = identity(graph).label
    label = own.copy()
    keep = np.ones(graph.first[-1], dtype=np.int64)
    columns = (graph.first, graph.tail, graph.head, graph.table_first, graph.table)
    partner, used = np.zeros((2, graph.widest), dtype=np.int64)
    if not _union(*columns, root, label, keep, partner, used):
        return None
    is_root = root == np.arange(nodes)
    number = np.cumsum(is_root) - 1
    node = number[root]
    # Old label for every label of the new node: the inverse.
    inverse = np.empty_like(label)
    inverse[np.repeat(graph.first[:-1], graph.sizes) + label] = own
    marks = keep[np.repeat(is_root, graph.sizes)]
    return Mapping(node, offsets(graph.sizes), inverse), marks


@kernel
def _union(
    first: IntArray,
    tail: IntArray,
    head: IntArray,
    table_first: IntArray,
    table: IntArray,
    root: IntArray,
    label: IntArray,
    keep: IntArray,
    partner: IntArray,
    used: IntArray,
) -> bool:
    """Union by bijections; at the end every node knows its root and the root's labels."""
    found = False
    for edge in range(len(tail)):
        a, b = tail[edge], head[edge]
        size = first[a + 1] - first[a]
        if size != first[b + 1] - first[b]:
            continue
        used[:size] = 0
        bijection = True
        for row in range(size):
            count = 0
            base = table_first[edge] + row * size
            for column in range(size):
                if table[base + column] < FORBIDDEN:
                    count += 1
                    partner[row] = column
            if count != 1 or used[partner[row]]:
                bijection = False
                break
            used[partner[row]] = 1
        if not bijection:
            continue
        found = True
        _compress(a, first, root, label)
        _compress(b, first, root, label)
        of_a, of_b = root[a], root[b]
        if of_a == of_b:
            for row in range(size):
                if label[first[a] + row] != label[first[b] + partner[row]]:
                    keep[first[of_a] + label[first[a] + row]] = 0
                    keep[first[of_a] + label[first[b] + partner[row]]] = 0
        else:
            root[of_b] = of_a
            for row in range(size):
                label[first[of_b] + label[first[b] + partner[row]]] = label[first[a] + row]
            for row in range(size):
                if not keep[first[of_b] + row]:
                    keep[first[of_a] + label[first[of_b] + row]] = 0
    for node in range(len(first) - 1):
        _compress(node, first, root, label)
    return found


@kernel
def _compress(node: int, first: IntArray, root: IntArray, label: IntArray) -> None:
    """Let the node and all on its way point to the root."""
    while root[root[node]] != root[node]:
        # The last two steps of the way become one, from the root's end.
        below = node
        while root[root[root[below]]] != root[root[below]]:
            below = root[below]
        middle = root[below]
        for row in range(first[below + 1] - first[below]):
            label[first[below] + row] = label[first[middle] + label[first[below] + row]]
        root[below] = root[middle]
