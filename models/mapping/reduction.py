"""Smaller problems with the same optimum: labels and pairs that cannot matter are left out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ipuopt.models.mapping.dominance import BoolArray, nondominated, row_classes
from ipuopt.models.mapping.problem import FORBIDDEN, Edge, IntArray, Node, Problem, Solution


@dataclass(frozen=True, slots=True)
class Reduction:
    """A problem with fewer labels, and the original label of each one left.

    Attributes
    ----------
    problem
        What is left.
    labels
        Original labels of every node, shape ``(labels left,)`` each.
    """

    problem: Problem
    labels: tuple[IntArray, ...]

    @classmethod
    def of(cls, problem: Problem) -> Reduction:
        """Nothing left out but groups without labels."""
        keep = [np.ones(len(node.cost), dtype=np.bool_) for node in problem.nodes]
        edges = tuple(_edge(edge, keep[edge.tail], keep[edge.head]) for edge in problem.edges)
        labels = tuple(np.arange(len(node.cost)) for node in problem.nodes)
        return cls(replace(problem, edges=edges), labels)

    def lift(self, solution: Solution) -> Solution:
        """The same choice in labels of the original problem."""
        pairs = zip(self.labels, solution.labels, strict=True)
        return Solution(tuple(int(original[label]) for original, label in pairs))

    def lower(self, solution: Solution) -> Solution | None:
        """The same choice in labels of the reduced problem; None if one was left out."""
        chosen = []
        for original, label in zip(self.labels, solution.labels, strict=True):
            position = int(np.searchsorted(original, label))
            if position == len(original) or original[position] != label:
                return None
            chosen.append(position)
        return Solution(tuple(chosen))

    def restrict(self, keep: list[BoolArray]) -> Reduction | None:
        """Keep only the marked labels; None if a node has none left."""
        if not all(mask.any() for mask in keep):
            return None
        if all(mask.all() for mask in keep):
            return self
        nodes = tuple(
            _node(node, mask) for node, mask in zip(self.problem.nodes, keep, strict=True)
        )
        edges = tuple(_edge(edge, keep[edge.tail], keep[edge.head]) for edge in self.problem.edges)
        labels = (original[mask] for original, mask in zip(self.labels, keep, strict=True))
        problem = replace(self.problem, nodes=nodes, edges=edges)
        return Reduction(problem, tuple(labels))

    def forbid(self, pairs: list[BoolArray]) -> Reduction:
        """Forbid the marked pairs of groups of every edge."""
        edges = tuple(
            replace(edge, cost=np.where(mask, FORBIDDEN, edge.cost)) if mask.any() else edge
            for edge, mask in zip(self.problem.edges, pairs, strict=True)
        )
        return Reduction(replace(self.problem, edges=edges), self.labels)


def _node(node: Node, mask: BoolArray) -> Node:
    return Node(
        node.name,
        node.cost[mask],
        node.standard[mask],
        node.interleaved[mask],
        node.large[mask],
    )


def _edge(edge: Edge, tail: BoolArray, head: BoolArray) -> Edge:
    """Renumber the groups that still have labels."""
    rows, tail_group = np.unique(edge.tail_group[tail], return_inverse=True)
    columns, head_group = np.unique(edge.head_group[head], return_inverse=True)
    used = np.ix_(rows, columns)
    return replace(
        edge,
        tail_group=tail_group,
        head_group=head_group,
        cost=edge.cost[used],
        staging=edge.staging[used],
        large=edge.large[used],
    )


def consistent(reduction: Reduction) -> Reduction | None:
    """Leave out labels whose group has no allowed partner on some edge, until none is left."""
    while True:
        problem = reduction.problem
        keep = [np.ones(len(node.cost), dtype=np.bool_) for node in problem.nodes]
        for edge in problem.edges:
            allowed = edge.cost != FORBIDDEN
            keep[edge.tail] &= allowed.any(axis=1)[edge.tail_group]
            keep[edge.head] &= allowed.any(axis=0)[edge.head_group]
        smaller = reduction.restrict(keep)
        if smaller is None or smaller is reduction:
            return smaller
        reduction = smaller


def undominated(reduction: Reduction, protect: Solution | None = None) -> Reduction:
    """Leave out labels that another one replaces in every solution at no cost.

    The other label lies in the same group of every edge and needs at most the same cycles, bytes
    of each kind at every step. Some optimum is always kept; so are the original labels of ``protect``.
    """
    keep = []
    for index, node in enumerate(reduction.problem.nodes):
        groups = [edge.tail_group for edge in reduction.problem.edges if edge.tail == index]
        groups += [edge.head_group for edge in reduction.problem.edges if edge.head == index]
        figures = (node.cost, *node.standard.T, *node.interleaved.T, *node.large.T)
        classes = row_classes(groups, len(node.cost))
        mask = nondominated(classes, np.stack(figures, axis=1))
        if protect is not None:
            mask |= reduction.labels[index] == protect.labels[index]
        keep.append(mask)
    smaller = reduction.restrict(keep)
    assert smaller is not None  # the cheapest label of a class is never dominated
    return smaller
