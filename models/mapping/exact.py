"""The formulation as a mixed-integer program on the local polytope, for HiGHS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.models.mapping.problem import FORBIDDEN, Edge, IntArray, Problem, Solution
from ipuopt.solvers.milp import FloatArray, Milp, RowBuilder


@dataclass(frozen=True, slots=True)
class Model:
    """The program, and where its columns start.

    Attributes
    ----------
    milp
        Columns: labels of every node, allowed pairs of every edge, granules of the boundary.
    label, pair
        First column of every node's labels and of every edge's pairs.
    pairs
        Allowed pairs of every edge: rows and columns of its tables.
    """

    milp: Milp
    label: tuple[int, ...]
    pair: tuple[int, ...]
    pairs: tuple[tuple[IntArray, IntArray], ...]

    def read(self, values: FloatArray) -> Solution:
        """Chosen labels of a solution."""
        ends = (*self.label[1:], self.pair[0] if self.pair else len(values) - 1)
        spans = zip(self.label, ends, strict=True)
        return Solution(tuple(int(values[start:end].argmax()) for start, end in spans))

    def start(self, problem: Problem, solution: Solution) -> FloatArray:
        """Values of all columns for a choice of labels."""
        values = np.zeros(len(self.milp.cost))
        peak = np.zeros(len(problem.steps), dtype=np.int64)
        for first, node, label in zip(self.label, problem.nodes, solution.labels, strict=True):
            values[first + label] = 1.0
            peak += node.interleaved[label]
        for first, edge, (rows, columns) in zip(self.pair, problem.edges, self.pairs, strict=True):
            row = edge.tail_group[solution.labels[edge.tail]]
            column = edge.head_group[solution.labels[edge.head]]
            values[first + np.flatnonzero((rows == row) & (columns == column))] = 1.0
        values[-1] = max(self.milp.lower[-1], -(-peak.max(initial=0) // problem.capacity.granule))
        return values


def granule_range(problem: Problem) -> tuple[int, int]:
    """Least and most granules of the boundary that can be of use."""
    capacity = problem.capacity
    most = sum((node.interleaved.max(axis=0) for node in problem.nodes), np.int64(0))
    peak = min(int(np.max(most, initial=0)), capacity.interleaved)
    return 0, -(-peak // capacity.granule)


def build(problem: Problem, boundary: tuple[int, int] | None = None) -> Model:
    """Translate ``problem`` into arrays; no solving.

    Parameters
    ----------
    problem
        Usually reduced before.
    boundary
        Least and most granules of the boundary; None for all that can be of use.
    """
    pairs = tuple(_allowed(edge) for edge in problem.edges)
    label_sizes = [len(node.cost) for node in problem.nodes]
    pair_sizes = [len(rows) for rows, _ in pairs]
    first = np.concatenate([[0], np.cumsum(label_sizes + pair_sizes)]).astype(np.int64)
    label = tuple(int(x) for x in first[: len(label_sizes)])
    pair = tuple(int(x) for x in first[len(label_sizes) : -1])
    granules = int(first[-1])
    least, most = boundary or granule_range(problem)
    rows = RowBuilder()
    for start, size in zip(label, label_sizes, strict=True):
        rows.add(start + np.arange(size), 1.0, lower=1.0, upper=1.0)  # (M1)
    for start, edge, used in zip(pair, problem.edges, pairs, strict=True):
        _marginals(rows, edge, (label[edge.tail], label[edge.head]), start, used)  # (M2)
    _memory(rows, problem, label, pair, pairs, granules)
    costs = [node.cost for node in problem.nodes]
    costs += [edge.cost[used] for edge, used in zip(problem.edges, pairs, strict=True)]
    lower, upper = np.zeros(granules + 1), np.ones(granules + 1)
    lower[-1], upper[-1] = least, most
    # Pairs follow from the labels, so they need no branching; granules do.
    integer = np.zeros(granules + 1, dtype=np.bool_)
    integer[: sum(label_sizes)] = integer[-1] = True
    milp = Milp(
        cost=np.concatenate([*costs, np.zeros(1, dtype=np.int64)]),
        lower=lower,
        upper=upper,
        integer=integer,
        rows=rows.rows(),
    )
    return Model(milp, label, pair, pairs)


def _allowed(edge: Edge) -> tuple[IntArray, IntArray]:
    """Rows and columns of the pairs that may be chosen."""
    rows, columns = np.nonzero(edge.cost != FORBIDDEN)
    return rows.astype(np.int64), columns.astype(np.int64)


def _marginals(
    rows: RowBuilder,
    edge: Edge,
    labels: tuple[int, int],
    start: int,
    used: tuple[IntArray, IntArray],
) -> None:
    """A group's pairs sum to the group's labels, on both sides (the local polytope)."""
    ends = (edge.tail_group, edge.head_group)
    for first, groups, side, count in zip(labels, ends, used, edge.cost.shape, strict=True):
        for group in range(count):  # also groups without labels: their pairs are not available
            own = first + np.flatnonzero(groups == group)
            others = start + np.flatnonzero(side == group)
            signs = np.concatenate([np.ones(len(own)), -np.ones(len(others))])
            rows.add(np.concatenate([own, others]), signs, lower=0.0, upper=0.0)


def _memory(
    rows: RowBuilder,
    problem: Problem,
    label: tuple[int, ...],
    pair: tuple[int, ...],
    pairs: tuple[tuple[IntArray, IntArray], ...],
    granules: int,
) -> None:
    """(M3), (M4) and (M5) at every step."""
    capacity = problem.capacity
    columns = np.concatenate(
        [start + np.arange(len(n.cost)) for start, n in zip(label, problem.nodes, strict=True)]
    )
    for step in range(len(problem.steps)):
        interleaved = np.concatenate([node.interleaved[:, step] for node in problem.nodes])
        rows.add(columns, interleaved, upper=float(capacity.interleaved))  # (M3)
        ends = np.append(columns, granules)
        rows.add(ends, np.append(interleaved, -capacity.granule), upper=0.0)  # rounding of (M4)
        beside = (
            ("standard", "staging", capacity.total),  # (M4)
            ("large", "large", capacity.high),  # (M5)
        )
        for of_label, of_pair, limit in beside:
            own = [getattr(node, of_label)[:, step] for node in problem.nodes]
            index, value = [ends], [*own, np.array([capacity.granule])]
            for start, edge, used in zip(pair, problem.edges, pairs, strict=True):
                if edge.step == step:
                    index.append(start + np.arange(len(used[0])))
                    value.append(getattr(edge, of_pair)[used])
            rows.add(np.concatenate(index), np.concatenate(value), upper=float(limit))
