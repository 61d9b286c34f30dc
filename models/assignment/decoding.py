"""Labels of all nodes, chosen one after the other by costs and messages, where they fit."""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.models.assignment.messages import FloatArray
from ipuopt.models.assignment.moves import Columns, Tables, costs_beside, exclude, use_memory
from ipuopt.models.assignment.problem import IntArray


@kernel
def decode(
    edges: Columns,
    tables: Tables,
    messages: tuple[IntArray, IntArray, FloatArray, FloatArray],
    memory: Columns,
    cost: FloatArray,
    most: IntArray,
    added: IntArray,
    labels: IntArray,
) -> None:
    """Set ``labels``, which are -1 before; where nothing fits, to the label of the least memory."""
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
