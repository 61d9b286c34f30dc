"""Bounds by moving costs between nodes and edges; exact where the edges form a forest.

Any amount may be taken from a node's labels and added to the same groups of one of its edges, or
back: every solution keeps its cost. So the sum of all minima is a lower bound after any number of
such moves, in integers and without rounding (min-sum message passing; Kolmogorov 2006,
doi:10.1109/TPAMI.2006.200). Memory is ignored here; :mod:`ipuopt.models.mapping.multipliers` adds
it to the costs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ipuopt.models.mapping.problem import FORBIDDEN, IntArray, Problem

INFINITE = 1 << 60
"""Cost of a forbidden pair while costs move; costs stay far below it."""

MAX_SWEEPS = 60
"""Sweeps over a graph with cycles; in practice they settle after ten or twenty."""


class Potentials:
    """Costs of labels and pairs of groups after some moves; every pair must be arc consistent.

    Attributes
    ----------
    unary
        Costs of the labels of every node.
    pair
        Costs of the pairs of groups of every edge.
    """

    def __init__(
        self, problem: Problem, unary: Sequence[IntArray], pair: Sequence[IntArray]
    ) -> None:
        self.problem = problem
        self.unary = [costs.copy() for costs in unary]
        self.pair = [costs.copy() for costs in pair]

    @classmethod
    def of(cls, problem: Problem) -> Potentials:
        """The problem's own costs."""
        pair = [np.where(e.cost == FORBIDDEN, INFINITE, e.cost) for e in problem.edges]
        return cls(problem, [node.cost for node in problem.nodes], pair)

    def copy(self) -> Potentials:
        """Independent copy."""
        return Potentials(self.problem, self.unary, self.pair)

    @property
    def bound(self) -> int:
        """Sum of all minima: no solution costs less."""
        return sum(int(c.min()) for c in self.unary) + sum(int(c.min()) for c in self.pair)

    def side(self, edge: int, node: int) -> tuple[IntArray, IntArray]:
        """Groups of the labels of ``node``, and the edge's costs with those groups as rows."""
        record = self.problem.edges[edge]
        if record.tail == node:
            return record.tail_group, self.pair[edge]
        return record.head_group, self.pair[edge].T

    def push(self, node: int, edge: int, part: int = 1) -> None:
        """Move the least cost of each group, divided by ``part``, from a node into an edge."""
        groups, table = self.side(edge, node)
        amount = np.full(len(table), INFINITE, dtype=np.int64)
        np.minimum.at(amount, groups, self.unary[node])
        amount[amount == INFINITE] = 0
        amount //= part
        self.unary[node] -= amount[groups]
        table += amount[:, None]

    def pull(self, edge: int, node: int) -> None:
        """Move the least cost of each group from an edge into a node."""
        groups, table = self.side(edge, node)
        amount = table.min(axis=1)
        self.unary[node] += amount[groups]
        table -= amount[:, None]

    def collect(self, roots: Sequence[int], skip: int = -1) -> list[tuple[int, int]]:
        """Move all costs along a spanning tree towards ``roots``; edge ``skip`` is not used.

        Returns the nodes of the tree with the edge to the parent, parents first.
        """
        order, seen = _spanning(self.problem, roots, skip)
        del seen
        for node, edge in reversed(order):
            record = self.problem.edges[edge]
            self.push(node, edge)
            self.pull(edge, record.head if record.tail == node else record.tail)
        return order

    def collect_all(self) -> list[tuple[int, int]]:
        """Collect every component at its first node; the bound is then exact on a forest.

        Returns every node with the edge to its parent (-1 for roots), parents first.
        """
        order: list[tuple[int, int]] = []
        seen: set[int] = set()
        for node in range(len(self.problem.nodes)):
            if node not in seen:
                part = self.collect([node])
                order += [(node, -1), *part]
                seen |= {node, *(child for child, _ in part)}
        return order

    def decode(self, order: Sequence[tuple[int, int]]) -> tuple[int, ...]:
        """Labels chosen one after the other, each the cheapest beside those before.

        After :meth:`collect_all` and with its order they are optimal on a forest.
        """
        chosen: dict[int, int] = {}
        for node, _ in order:
            costs = self.unary[node].copy()
            for index, record in enumerate(self.problem.edges):
                if node not in (record.tail, record.head):
                    continue
                other = record.head if record.tail == node else record.tail
                if other in chosen:
                    groups, table = self.side(index, node)
                    column = self.side(index, other)[0][chosen[other]]
                    costs += table[groups, column]
            chosen[node] = int(costs.argmin())
        return tuple(chosen[node] for node in range(len(self.problem.nodes)))

    def sweep(self) -> None:
        """Move costs forwards and backwards over the nodes until the bound settles.

        For graphs with cycles; on a forest :meth:`collect_all` is exact already.
        """
        best, stale = self.bound, 0
        for _ in range(MAX_SWEEPS):
            self._pass(range(len(self.unary)), forwards=True)
            self._pass(range(len(self.unary))[::-1], forwards=False)
            bound = self.bound
            stale = 0 if bound > best else stale + 1
            best = max(best, bound)
            if stale == 3:
                return

    def _pass(self, nodes: Sequence[int], *, forwards: bool) -> None:
        """Each node gathers from all its edges and spreads evenly over those ahead."""
        for node in nodes:
            ahead: list[int] = []
            behind: list[int] = []
            for index, record in enumerate(self.problem.edges):
                if node in (record.tail, record.head):
                    (ahead if (record.tail == node) == forwards else behind).append(index)
            for index in ahead + behind:
                self.pull(index, node)
            shares = max(len(ahead), len(behind))
            for done, index in enumerate(ahead):
                self.push(node, index, shares - done)


def _spanning(
    problem: Problem, roots: Sequence[int], skip: int
) -> tuple[list[tuple[int, int]], set[int]]:
    """Breadth-first tree from ``roots``: ``(node, edge to parent)``, parents first."""
    order: list[tuple[int, int]] = []
    seen, front = set(roots), list(roots)
    while front:
        node = front.pop(0)
        for index, edge in enumerate(problem.edges):
            if index == skip or node not in (edge.tail, edge.head):
                continue
            other = edge.head if edge.tail == node else edge.tail
            if other not in seen:
                seen.add(other)
                front.append(other)
                order.append((other, index))
    return order, seen


def is_forest(problem: Problem) -> bool:
    """Whether the edges have no cycle; two edges between the same nodes make one."""
    root = list(range(len(problem.nodes)))

    def find(node: int) -> int:
        while root[node] != node:
            node = root[node]
        return node

    for edge in problem.edges:
        tail, head = find(edge.tail), find(edge.head)
        if tail == head:
            return False
        root[tail] = head
    return True


def settle(potentials: Potentials) -> list[tuple[int, int]]:
    """Raise the bound as far as moves of costs can; returns the order for :meth:`decode`."""
    if not is_forest(potentials.problem):
        potentials.sweep()
    return potentials.collect_all()


def pair_bounds(potentials: Potentials) -> list[IntArray]:
    """Lower bound on every solution that uses a pair of groups, by edge.

    Exact on a forest. ``INFINITE / 2`` or more for forbidden pairs.
    """
    bounds = []
    for index, edge in enumerate(potentials.problem.edges):
        state = potentials.copy()
        state.collect([edge.tail, edge.head], skip=index)
        table, ends = state.pair[index], []
        rest = state.bound - int(table.min())
        for node in (edge.tail, edge.head):
            groups, side = state.side(index, node)
            least = np.full(len(side), INFINITE, dtype=np.int64)
            np.minimum.at(least, groups, state.unary[node])
            rest -= int(state.unary[node].min())
            ends.append(np.minimum(least, INFINITE))
        sums = np.minimum(table, INFINITE // 2) + np.minimum(ends[0], INFINITE // 4)[:, None]
        bounds.append(sums + np.minimum(ends[1], INFINITE // 4)[None, :] + rest)
    return bounds


def label_bounds(potentials: Potentials) -> list[IntArray]:
    """Lower bound on every solution that uses a label, by node; exact on a forest."""
    bounds = []
    for node in range(len(potentials.unary)):
        state = potentials.copy()
        state.collect([node])
        bounds.append(state.bound - int(state.unary[node].min()) + state.unary[node])
    return bounds
