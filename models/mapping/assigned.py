"""The problem handed to :mod:`ipuopt.models.assignment`, a slice of the boundary at a time.

Within a slice memory is a set of plain limits: rows of the assignment problem, one a step and kind of
memory. Tables of groups become tables of labels. Bytes that a pair needs while it is converted are
not part of that problem; each label gets the least of its pairs instead. So every choice within the
slice is one of the assignment problem at the same cost, and its optimum bounds them. Exact presolve
leaves a few dozen labels of problems of thousands, which are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ipuopt.models.assignment.graph import Graph, Memory, offsets
from ipuopt.models.assignment.presolve import presolve
from ipuopt.models.assignment.problem import FORBIDDEN as IMPOSSIBLE
from ipuopt.models.mapping.problem import FORBIDDEN, IntArray, Problem, Solution
from ipuopt.models.mapping.slices import Slice, slices

SOURCE = "presolve of the assignment problem"

MOST_CELLS = 30_000_000
"""Pairs of labels of all edges; beyond, their tables take too much memory."""

MOST_CHOICES = 200_000
"""Choices of the labels left that are looked at in one slice."""


@dataclass(frozen=True, slots=True)
class Assigned:
    """The least that any choice costs, and a choice of that cost; it may break (M4) or (M5)."""

    bound: int
    solution: Solution


def assigned(problem: Problem, expired: Callable[[], bool]) -> Assigned | None:
    """Solve the problem with less staging; None if too much of it is left, or nothing fits."""
    sizes = [len(node.cost) for node in problem.nodes]
    if sum(sizes[edge.tail] * sizes[edge.head] for edge in problem.edges) > MOST_CELLS:
        return None
    best: Assigned | None = None
    for limits in slices(problem):
        if expired():
            return None
        graph = graph_of(problem, limits)
        left = None if (graph.memory.room < 0).any() else presolve(graph)
        if left is None:
            continue
        if float(np.prod(left.graph.sizes.astype(np.float64))) > MOST_CHOICES:
            return None
        found = _least(left.graph)
        if found is not None and (best is None or found[0] < best.bound):
            labels = left.lift(found[1])
            best = Assigned(found[0], Solution(tuple(labels.tolist())))
    return best


def graph_of(problem: Problem, limits: Slice) -> Graph:
    """The relaxed problem within a slice."""
    standard = [node.standard.copy() for node in problem.nodes]
    large = [node.large.copy() for node in problem.nodes]
    tables = []
    for edge in problem.edges:
        cost = np.where(edge.cost == FORBIDDEN, IMPOSSIBLE, edge.cost)
        tables.append(cost[edge.tail_group][:, edge.head_group].ravel())
        for held, needs in ((standard, edge.staging), (large, edge.large)):
            least = np.where(edge.cost == FORBIDDEN, needs.max(initial=0), needs).min(axis=1)
            held[edge.tail][:, edge.step] += least[edge.tail_group]
    kinds = (standard, large, [node.interleaved for node in problem.nodes])
    steps = len(problem.steps)
    room = np.repeat([limits.standard, limits.large, limits.interleaved], steps).astype(np.int64)
    node, row, usage = list[int](), list[int](), list[IntArray]()
    for index in range(len(problem.nodes)):
        for kind, held in enumerate(kinds):
            for step in range(steps):
                used = held[index][:, step]
                room[kind * steps + step] -= used.min()
                if used.max() > used.min():
                    node.append(index)
                    row.append(kind * steps + step)
                    usage.append(used - used.min())
    start = np.array(row, dtype=np.int64)
    return Graph(
        first=offsets(np.array([len(n.cost) for n in problem.nodes], dtype=np.int64)),
        cost=np.concatenate([n.cost for n in problem.nodes]),
        tail=np.array([edge.tail for edge in problem.edges], dtype=np.int64),
        head=np.array([edge.head for edge in problem.edges], dtype=np.int64),
        table_first=offsets(np.array([len(table) for table in tables], dtype=np.int64)),
        table=np.concatenate([*tables, np.zeros(0, dtype=np.int64)]),
        memory=Memory(
            node=np.array(node, dtype=np.int64),
            start=start,
            stop=start + 1,
            first=offsets(np.array([len(used) for used in usage], dtype=np.int64)),
            usage=np.concatenate([*usage, np.zeros(0, dtype=np.int64)]),
            room=room,
        ),
    )


def _least(graph: Graph) -> tuple[int, IntArray] | None:
    """Cost and labels of the best choice, all looked at; None if none fits."""
    sizes, memory = graph.sizes, graph.memory
    count = int(np.prod(sizes))
    choices = np.zeros((len(sizes), count), dtype=np.int64)
    if len(sizes):
        choices[:] = np.unravel_index(np.arange(count), tuple(sizes.tolist()))
    total = np.full(count, graph.constant, dtype=np.int64)
    allowed = np.ones(count, dtype=np.bool_)
    for node, labels in enumerate(choices):
        total += graph.cost[graph.first[node] + labels]
    for edge, (tail, head) in enumerate(zip(graph.tail, graph.head, strict=True)):
        cells = graph.table_first[edge] + choices[tail] * sizes[head] + choices[head]
        allowed &= graph.table[cells] < IMPOSSIBLE
        total += np.minimum(graph.table[cells], IMPOSSIBLE)
    used = np.zeros((len(memory.room), count), dtype=np.int64)
    for piece, node in enumerate(memory.node):
        usage = memory.usage[memory.first[piece] + choices[node]]
        used[memory.start[piece] : memory.stop[piece]] += usage
    allowed &= (used <= memory.room[:, None]).all(axis=0)
    if not allowed.any():
        return None
    best = int(np.flatnonzero(allowed)[total[allowed].argmin()])
    return int(total[best]), choices[:, best]
