"""What the kernels of the search share: costs beside a label, memory of a label."""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.models.assignment.messages import FloatArray
from ipuopt.models.assignment.problem import IntArray
from ipuopt.models.assignment.range_tree import add, largest

Columns = tuple[IntArray, ...]
Tables = tuple[FloatArray, FloatArray]


@kernel
def costs_beside(edge: int, node: int, label: int, edges: Columns, tables: Tables) -> FloatArray:
    """Costs of the labels of the other end beside ``label`` of ``node``."""
    first, tail, head, table_first, _, _ = edges
    if tail[edge] == node:
        size = first[head[edge] + 1] - first[head[edge]]
        at = table_first[edge] + label * size
        return tables[0][at : at + size]
    size = first[tail[edge] + 1] - first[tail[edge]]
    at = table_first[edge] + label * size
    return tables[1][at : at + size]


@kernel
def use_memory(
    node: int, label: int, sign: int, memory: Columns, most: IntArray, added: IntArray
) -> None:
    """Add the memory of a label, or take it away."""
    piece_first, start, stop, usage_first, usage = memory
    for piece in range(piece_first[node], piece_first[node + 1]):
        used = usage[usage_first[piece] + label]
        if used != 0:
            add(most, added, start[piece], stop[piece], sign * used)


@kernel
def exclude(node: int, value: FloatArray, memory: Columns, most: IntArray, added: IntArray) -> None:
    """Make the labels infinite of which a piece does not fit."""
    piece_first, start, stop, usage_first, usage = memory
    for piece in range(piece_first[node], piece_first[node + 1]):
        room = -largest(most, added, start[piece], stop[piece])
        at = usage_first[piece]
        for label in range(len(value)):
            if usage[at + label] > room and usage[at + label] > 0:
                value[label] = np.inf


@kernel
def fits(node: int, memory: Columns, most: IntArray, added: IntArray) -> bool:
    """Whether the rows of a node are within their room."""
    piece_first, start, stop, _, _ = memory
    for piece in range(piece_first[node], piece_first[node + 1]):
        if largest(most, added, start[piece], stop[piece]) > 0:
            return False
    return True


@kernel
def all_fit(nodes: IntArray, count: int, memory: Columns, most: IntArray, added: IntArray) -> bool:
    """Whether the rows of all of these nodes are within their room."""
    for at in range(count):
        if not fits(nodes[at], memory, most, added):
            return False
    return True
