"""What is left as a mixed-integer program on the local polytope, for HiGHS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.models.assignment.graph import Graph
from ipuopt.models.assignment.problem import FORBIDDEN, IntArray
from ipuopt.solvers.milp import FloatArray, Milp, RowBuilder

MAX_CELLS = 60_000
"""Larger programs do not end within minutes."""


@dataclass(frozen=True, slots=True)
class Model:
    """The program; its columns are the labels, then the pairs that are not forbidden.

    Attributes
    ----------
    milp
        The arrays.
    graph
        What they were made of.
    pairs
        Cells of the graph's table that have a column.
    """

    milp: Milp
    graph: Graph
    pairs: IntArray

    def read(self, values: FloatArray) -> IntArray:
        """Chosen label of every node."""
        first = self.graph.first
        spans = zip(first[:-1].tolist(), first[1:].tolist(), strict=True)
        return np.array([int(values[begin:stop].argmax()) for begin, stop in spans], np.int64)

    def start(self, labels: IntArray) -> FloatArray:
        """Values of all columns for labels without forbidden pairs."""
        graph = self.graph
        values = np.zeros(len(self.milp.cost))
        values[graph.first[:-1] + labels] = 1.0
        chosen = np.searchsorted(self.pairs, graph.cells(labels))
        values[len(graph.cost) + chosen] = 1.0
        return values


def build(graph: Graph, memory_rows: IntArray) -> Model:
    """Translate ``graph`` with some of its rows of memory into arrays; no solving."""
    sizes, labels = graph.sizes, len(graph.cost)
    rows = RowBuilder()
    for node in range(len(sizes)):  # (N1)
        rows.add(np.arange(graph.first[node], graph.first[node + 1]), 1.0, lower=1.0, upper=1.0)
    pairs = np.flatnonzero(graph.table < FORBIDDEN)
    column = np.full(len(graph.table), -1, dtype=np.int64)
    column[pairs] = labels + np.arange(len(pairs))
    for edge in range(len(graph.tail)):
        tail, head = graph.tail[edge], graph.head[edge]
        cells = column[graph.table_first[edge] : graph.table_first[edge + 1]]
        grid = cells.reshape(sizes[tail], sizes[head])
        for node, side in ((tail, grid), (head, grid.T)):
            for label, those in enumerate(side):
                others = those[those >= 0]
                signs = np.concatenate((np.ones(1), -np.ones(len(others))))
                own = np.concatenate((graph.first[node] + np.array([label]), others))
                rows.add(own, signs, lower=0.0, upper=0.0)
    for row in memory_rows.tolist():  # (N2)
        index, value = _use(graph, row)
        rows.add(index, value, upper=float(graph.memory.room[row]))
    columns = labels + len(pairs)
    milp = Milp(
        cost=np.concatenate((graph.cost, graph.table[pairs])),
        lower=np.zeros(columns),
        upper=np.ones(columns),
        integer=np.arange(columns) < labels,  # pairs follow from the labels
        rows=rows.rows(),
        offset=graph.constant,
    )
    return Model(milp, graph, pairs)


def peaks(use: IntArray) -> IntArray:
    """Rows of the largest use of every stretch of rows whose use is positive."""
    above = np.concatenate(([0], (use > 0).astype(np.int64), [0]))
    begins, ends = np.flatnonzero(np.diff(above) > 0), np.flatnonzero(np.diff(above) < 0)
    spans = zip(begins.tolist(), ends.tolist(), strict=True)
    return np.array([b + int(use[b:e].argmax()) for b, e in spans], dtype=np.int64)


def _use(graph: Graph, row: int) -> tuple[IntArray, IntArray]:
    """Labels that use memory in a row, and how much."""
    memory = graph.memory
    total = np.zeros(len(graph.cost), dtype=np.int64)
    for piece in np.flatnonzero((memory.start <= row) & (row < memory.stop)).tolist():
        usage = memory.usage[memory.first[piece] : memory.first[piece + 1]]
        begin = graph.first[memory.node[piece]]
        total[begin : begin + len(usage)] += usage
    index = np.flatnonzero(total)
    return index, total[index]
