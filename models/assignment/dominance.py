"""Labels that another label of the node can always stand in for (Goldstein's criterion).

Label ``x`` goes when some ``y`` uses no more memory in any row and costs no more, whatever the
neighbours choose: cost of ``y`` + over all edges the largest excess over ``x`` <= cost of ``x``
(Goldstein 1994, doi:10.1016/S0006-3495(94)80923-3).
"""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.models.assignment.graph import Graph
from ipuopt.models.assignment.problem import FORBIDDEN, IntArray

EFFORT = 400_000_000
"""Cells that are compared at most in one pass."""


def undominated(graph: Graph) -> IntArray:
    """Mark the labels that no other one stands in for, shape ``(labels,)``."""
    keep = np.ones(graph.first[-1], dtype=np.int64)
    _compare(
        (graph.first, graph.cost, graph.tail, graph.table_first, graph.table),
        graph.links(),
        (graph.pieces(), graph.memory.first, graph.memory.usage),
        keep,
        EFFORT,
    )
    return keep


@kernel
def _compare(
    graph: tuple[IntArray, IntArray, IntArray, IntArray, IntArray],
    links: tuple[IntArray, IntArray],
    pieces: tuple[IntArray, IntArray, IntArray],
    keep: IntArray,
    effort: int,
) -> None:
    first, cost, tail, table_first, table = graph
    link_first, link = links
    piece_first, usage_first, usage = pieces
    for node in range(len(first) - 1):
        begin, size = first[node], first[node + 1] - first[node]
        for label in range(size):
            for other in range(size):
                if other == label or not keep[begin + other]:
                    continue
                slack = cost[begin + label] - cost[begin + other]
                if slack < 0:
                    continue
                effort -= 1
                for piece in range(piece_first[node], piece_first[node + 1]):
                    at = usage_first[piece]
                    if usage[at + other] > usage[at + label]:
                        slack = -1
                        break
                for place in range(link_first[node], link_first[node + 1]):
                    if slack < 0:
                        break
                    edge = link[place]
                    base = table_first[edge]
                    cells = (table_first[edge + 1] - base) // size
                    along, across = (cells, 1) if tail[edge] == node else (1, size)
                    worst = -4 * FORBIDDEN
                    for partner in range(cells):
                        mine = table[base + label * along + partner * across]
                        theirs = table[base + other * along + partner * across]
                        if mine >= FORBIDDEN:
                            continue
                        worst = max(worst, theirs - mine)
                        if worst > slack:
                            break
                    effort -= cells
                    slack -= worst
                if slack >= 0:
                    keep[begin + label] = 0
                    break
                if effort < 0:
                    return
