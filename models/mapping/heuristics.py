"""Beam search over partial choices, node by node, as the public compiler does (cost-model.md 2.10).

States are grouped by the groups of labels that edges to later nodes still look at. Inside a class,
dominated and equal states go. If too many remain: first the cheapest of as many classes as half
the width holds, then the least of each memory figure, then the cheapest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.limits import Limits
from ipuopt.models.mapping.dominance import BoolArray, nondominated, row_classes
from ipuopt.models.mapping.problem import FORBIDDEN, IntArray, Problem, Solution

WIDTH = 64
"""States kept after each node (cost-model.md 2.10)."""

LATE_WIDTH = 8
"""States kept once the deadline has passed: the search still ends with a plan."""


@dataclass(frozen=True, slots=True)
class _States:
    """Partial choices, one a row.

    Attributes
    ----------
    labels
        Shape ``(states, nodes so far)``.
    cost
        Cycles so far.
    standard, interleaved, large
        Bytes at every step so far, shape ``(states, steps)``.
    """

    labels: IntArray
    cost: IntArray
    standard: IntArray
    interleaved: IntArray
    large: IntArray

    def take(self, rows: IntArray | BoolArray) -> _States:
        """Some of the rows."""
        return _States(
            self.labels[rows],
            self.cost[rows],
            self.standard[rows],
            self.interleaved[rows],
            self.large[rows],
        )


def beam_search(
    problem: Problem, limits: Limits, *, width: int = WIDTH, guided: bool = False
) -> Solution | None:
    """Search for a cheap choice of labels that fits the memory.

    Parameters
    ----------
    problem
        Nodes are taken in their order.
    limits
        Past the deadline, or when asked to stop, the beam narrows to ``LATE_WIDTH``.
    width
        States kept after each node.
    guided
        Rank states by cost plus a lower bound on the cost to go, instead of by cost.

    Returns
    -------
    Solution or None
        None if every partial choice ran into a wall; that does not prove infeasibility.
    """
    steps = len(problem.steps)
    states = _States(
        np.zeros((1, 0), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        *(np.zeros((1, steps), dtype=np.int64) for _ in range(3)),
    )
    to_go = cost_to_go(problem) if guided else None
    ahead = [
        _least_ahead([getattr(node, kind) for node in problem.nodes], steps)
        for kind in ("standard", "interleaved", "large")
    ]
    for node in range(len(problem.nodes)):
        states, figures = _expand(problem, states, node, [kind[node + 1] for kind in ahead])
        if not len(states.cost):
            return None
        pending = [
            (index, edge.tail_group[states.labels[:, edge.tail]])
            for index, edge in enumerate(problem.edges)
            if edge.tail <= node < edge.head
        ]
        rank = states.cost
        if to_go is not None:
            rank = rank + sum((to_go[index][group] for index, group in pending), np.int64(0))
        classes = row_classes([group for _, group in pending], len(rank))
        kept = width if not limits.expired() else min(width, LATE_WIDTH)
        states = states.take(_select(classes, rank, figures, kept))
    best = int(states.cost.argmin())
    return Solution(tuple(int(label) for label in states.labels[best]))


def _least_ahead(tables: list[IntArray], steps: int) -> list[IntArray]:
    """Least bytes that the nodes from each one on need at every step."""
    ahead = [np.zeros(steps, dtype=np.int64)]
    for table in reversed(tables):
        ahead.append(ahead[-1] + table.min(axis=0))
    return ahead[::-1]


def _expand(
    problem: Problem,
    states: _States,
    node: int,
    ahead: list[IntArray],
) -> tuple[_States, IntArray]:
    """Every state with every label that fits, and the figures that dominance compares.

    ``ahead`` holds the least bytes of later nodes at every step: standard, interleaved, large.
    """
    record, capacity = problem.nodes[node], problem.capacity
    cost = states.cost[:, None] + record.cost
    allowed = np.ones(cost.shape, dtype=np.bool_)
    staging, staging_large = np.zeros((2, *cost.shape, len(problem.steps)), dtype=np.int64)
    for edge in problem.edges:
        if edge.head == node:
            rows = edge.tail_group[states.labels[:, edge.tail]]
            pair = edge.cost[rows[:, None], edge.head_group]
            allowed &= pair != FORBIDDEN
            cost += pair
            staging[:, :, edge.step] += edge.staging[rows[:, None], edge.head_group]
            staging_large[:, :, edge.step] += edge.large[rows[:, None], edge.head_group]
    state, label = np.nonzero(allowed)
    grown = _States(
        np.concatenate([states.labels[state], label[:, None]], axis=1),
        cost[state, label],
        states.standard[state] + record.standard[label] + staging[state, label],
        states.interleaved[state] + record.interleaved[label],
        states.large[state] + record.large[label] + staging_large[state, label],
    )
    standard, interleaved, large = (
        (bytes_now + bytes_ahead).max(axis=1, initial=0)
        for bytes_now, bytes_ahead in zip(
            (grown.standard, grown.interleaved, grown.large), ahead, strict=True
        )
    )
    boundary = -(-interleaved // capacity.granule) * capacity.granule
    fits = (interleaved <= capacity.interleaved) & (standard + boundary <= capacity.total)
    fits &= large + boundary <= capacity.high  # (M3), (M4), (M5)
    figures = (standard, interleaved, standard + boundary, large, large + boundary)
    return grown.take(fits), np.stack(figures, axis=1)[fits]


def _select(classes: IntArray, rank: IntArray, figures: IntArray, width: int) -> IntArray:
    """Rows of the states to keep."""
    rows = np.flatnonzero(nondominated(classes, np.column_stack([rank, figures])))
    if len(rows) <= width:
        return rows
    rows = rows[np.argsort(rank[rows], kind="stable")]
    _, first = np.unique(classes[rows], return_index=True)
    representatives = np.sort(first)[: width // 2]
    least = figures[rows].argmin(axis=0)
    wanted = dict.fromkeys([*representatives.tolist(), *least.tolist(), *range(len(rows))])
    return rows[np.array(list(wanted)[:width], dtype=np.int64)]


def cost_to_go(problem: Problem) -> list[IntArray]:
    """Lower bound on what nodes behind each edge still cost, by edge and group of the tail.

    A node's own bound is counted on the first edge that enters it, so bounds of several edges add
    up; on a chain they are exact but for memory. Unreachable groups cost as much as is finite.
    """
    most = np.int64(1) << 50
    values: list[IntArray] = [np.zeros(0, dtype=np.int64)] * len(problem.edges)
    own = [node.cost.copy() for node in problem.nodes]
    for node in reversed(range(len(problem.nodes))):
        entering = [index for index, edge in enumerate(problem.edges) if edge.head == node]
        for number, index in enumerate(entering):
            edge = problem.edges[index]
            table = np.where(edge.cost == FORBIDDEN, most, edge.cost)
            if number == 0:
                ahead = np.full(edge.cost.shape[1], most)
                np.minimum.at(ahead, edge.head_group, own[node])
                table = np.minimum(table + ahead, most)
            values[index] = table.min(axis=1)
            own[edge.tail] = np.minimum(own[edge.tail] + values[index][edge.tail_group], most)
    return values
