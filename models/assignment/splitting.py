"""The node on which a tree search branches, and the halves of its labels."""

from __future__ import annotations

import numpy as np

from ipuopt.models.assignment.bounds import LARGE, Certificate
from ipuopt.models.assignment.graph import Graph
from ipuopt.models.assignment.messages import FloatArray
from ipuopt.models.assignment.problem import FORBIDDEN, BoolArray, IntArray
from ipuopt.models.assignment.pruning import excesses


def halves(graph: Graph, proof: Certificate, prices: FloatArray) -> tuple[BoolArray, BoolArray]:
    """Labels that either half of the solutions keeps, the half with the better labels first.

    The node is the one where the best labels of all nodes disagree most with their neighbours, or
    where most memory is at stake if they agree. ``graph`` has a node with two labels that are not
    forbidden.
    """
    keep = graph.cost < FORBIDDEN
    owner = np.repeat(np.arange(len(graph.sizes)), graph.sizes)
    order = np.lexsort((excesses(graph, proof), ~keep, owner))
    best = order[graph.first[:-1]] - graph.first[:-1]
    several = np.add.reduceat(keep.astype(np.int64), graph.first[:-1]) > 1
    score = _conflicts(graph, proof, best)
    if not (score[several] > 0.0).any():
        score = _memory_at_stake(graph, prices, best)
    node = int(np.where(several, score, -1.0).argmax())
    labels = order[graph.first[node] : graph.first[node + 1]]
    labels = labels[keep[labels]]
    middle = (len(labels) + 1) // 2
    better, others = keep.copy(), keep.copy()
    better[labels[middle:]] = False
    others[labels[:middle]] = False
    return better, others


def _conflicts(graph: Graph, proof: Certificate, labels: IntArray) -> FloatArray:
    """What the pairs of these labels cost beyond the best of their edges, summed up at the nodes."""
    ends = (graph.tail, graph.head)
    value = np.minimum(graph.table[graph.cells(labels)] * float(proof.scale), float(LARGE))
    for end, messages in zip(ends, (proof.to_tail, proof.to_head), strict=True):
        widths = graph.sizes[end]
        value -= messages[np.cumsum(widths) - widths + labels[end]]
    value -= proof.edges
    score = np.zeros(len(graph.sizes))
    for end in ends:
        np.add.at(score, end, value)
    return score


def _memory_at_stake(graph: Graph, prices: FloatArray, labels: IntArray) -> FloatArray:
    """Largest less least usage of the pieces of every node, in rows with a price or too much use."""
    memory = graph.memory
    score = np.zeros(len(graph.sizes))
    if not len(memory.node):
        return score
    used = memory.totals(memory.usage[memory.first[:-1] + labels[memory.node]])
    weight = prices + (used > memory.room) * (1.0 + prices.max())
    until = np.concatenate((np.zeros(1), np.cumsum(weight)))
    most = np.maximum.reduceat(memory.usage, memory.first[:-1])
    np.add.at(score, memory.node, most * (until[memory.stop] - until[memory.start]))
    return score
