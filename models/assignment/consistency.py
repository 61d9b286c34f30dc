"""Labels that cannot be part of any solution: forbidden pairs and memory tell (arc consistency)."""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.models.assignment.graph import Graph, offsets
from ipuopt.models.assignment.problem import FORBIDDEN, IntArray
from ipuopt.models.assignment.range_tree import largest, range_tree


def possible_labels(graph: Graph) -> IntArray:
    """Mark the labels that may be part of a solution, shape ``(labels,)``.

    A label goes when it is forbidden itself, has no partner on some edge, or uses more memory than
    is left when all other nodes use their least.
    """
    keep = (graph.cost < FORBIDDEN).astype(np.int64)
    memory = graph.memory
    if len(memory.node):
        pieces = (memory.node, memory.start, memory.stop, memory.first, memory.usage)
        _fit(graph.first, *pieces, *range_tree(-memory.room), keep)
    columns = (graph.first, graph.tail, graph.head, graph.table_first, graph.table)
    seen = np.zeros(graph.widest, dtype=np.int64)
    while _sweep(*columns, keep, seen):
        pass
    return keep


def normalised(graph: Graph) -> Graph:
    """Move what rows and columns of tables have in common into the nodes; drop tables of zeros.

    The graph must be arc consistent: every label has a partner on every edge.
    """
    cost, table = graph.cost.copy(), graph.table.copy()
    zero = np.zeros(len(graph.tail), dtype=np.int64)
    constant = _move(graph.first, cost, graph.tail, graph.head, graph.table_first, table, zero)
    keep = zero == 0
    sizes = np.diff(graph.table_first)
    first = offsets(sizes[keep])
    return Graph(
        graph.first,
        cost,
        graph.tail[keep],
        graph.head[keep],
        first,
        table[np.repeat(keep, sizes)],
        graph.memory,
        graph.constant + int(constant),
    )


@kernel
def _sweep(
    first: IntArray,
    tail: IntArray,
    head: IntArray,
    table_first: IntArray,
    table: IntArray,
    keep: IntArray,
    seen: IntArray,
) -> bool:
    """Unmark labels without a partner on some edge; whether there were any."""
    changed = False
    for edge in range(len(tail)):
        a, b = first[tail[edge]], first[head[edge]]
        rows, columns = first[tail[edge] + 1] - a, first[head[edge] + 1] - b
        cell = table_first[edge]
        seen[:columns] = 0
        for row in range(rows):
            found = False
            if keep[a + row]:
                for column in range(columns):
                    if keep[b + column] and table[cell + column] < FORBIDDEN:
                        seen[column] = 1
                        found = True
                if not found:
                    keep[a + row] = 0
                    changed = True
            cell += columns
        for column in range(columns):
            if keep[b + column] and not seen[column]:
                keep[b + column] = 0
                changed = True
    return changed


@kernel
def _fit(
    first: IntArray,
    node: IntArray,
    start: IntArray,
    stop: IntArray,
    piece_first: IntArray,
    usage: IntArray,
    most: IntArray,
    added: IntArray,
    keep: IntArray,
) -> None:
    """Unmark labels of which one piece does not fit the room beside the least of all others."""
    for piece in range(len(node)):
        at, begin = first[node[piece]], piece_first[piece]
        room = -largest(most, added, start[piece], stop[piece])
        for label in range(piece_first[piece + 1] - begin):
            if usage[begin + label] > room:
                keep[at + label] = 0


@kernel
def _move(
    first: IntArray,
    cost: IntArray,
    tail: IntArray,
    head: IntArray,
    table_first: IntArray,
    table: IntArray,
    zero: IntArray,
) -> int:
    """Move the minima of rows, columns and nodes; marks edges that are left with zeros only."""
    for edge in range(len(tail)):
        a, b = first[tail[edge]], first[head[edge]]
        rows, columns = first[tail[edge] + 1] - a, first[head[edge] + 1] - b
        begin = table_first[edge]
        for row in range(rows):
            cells = table[begin + row * columns : begin + (row + 1) * columns]
            least = cells.min()
            cost[a + row] += least
            for column in range(columns):
                if cells[column] < FORBIDDEN:
                    cells[column] -= least
        most = 0
        for column in range(columns):
            least = FORBIDDEN
            for row in range(rows):
                least = min(least, table[begin + row * columns + column])
            cost[b + column] += least
            for row in range(rows):
                cell = begin + row * columns + column
                if table[cell] < FORBIDDEN:
                    table[cell] -= least
                most = max(most, table[cell])
        zero[edge] = most == 0
    constant = 0
    for node in range(len(first) - 1):
        costs = cost[first[node] : first[node + 1]]
        least = costs.min()
        constant += least
        for label in range(len(costs)):
            costs[label] = min(costs[label] - least, FORBIDDEN)
    return constant
