"""What is left of a window as a model of CP-SAT: the local polytope in whole numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from ipuopt.models.assignment import exact
from ipuopt.models.assignment.graph import Graph
from ipuopt.models.assignment.problem import IntArray

LARGEST_SUM = 1 << 29
"""Coefficients of a row add up to at most this: half of what :mod:`ipuopt.solvers.cpsat` takes."""


@dataclass(frozen=True, slots=True)
class WindowModel:
    """The model, and how its solutions are read.

    Attributes
    ----------
    model
        One Boolean a column of ``program``. Costs and memory are in units in which their sums are
        small: costs rounded down, memory up, room down. Its solutions fit, but need not be best.
    program
        What it was made of.
    """

    model: cp_model.CpModel
    program: exact.Model

    def read(self, values: IntArray) -> IntArray:
        """Chosen label of every node."""
        return self.program.read(values.astype(np.float64))


def build(graph: Graph) -> WindowModel:
    """Translate a small graph, whose labels and pairs are those below a cutoff; no solving."""
    program = exact.build(graph, np.arange(len(graph.memory.room)))
    milp = program.milp
    model = cp_model.CpModel()
    columns = [model.new_bool_var("") for _ in range(len(milp.cost))]
    rows = milp.rows
    for row, (low, high) in enumerate(zip(rows.lower.tolist(), rows.upper.tolist(), strict=True)):
        span = slice(rows.start[row], rows.start[row + 1])
        value = rows.value[span].astype(np.int64)
        terms = [columns[index] for index in rows.index[span].tolist()]
        if low == high:  # (N1), and pairs that follow from labels: ones
            model.add(cp_model.LinearExpr.weighted_sum(terms, value.tolist()) == int(low))
            continue
        unit = _unit(value)  # (N2)
        whole = (-(-value // unit)).tolist()
        model.add(cp_model.LinearExpr.weighted_sum(terms, whole) <= int(high) // unit)
    cost = milp.cost - _certain(graph, len(milp.cost))
    priced = np.flatnonzero(cost)
    terms = [columns[index] for index in priced.tolist()]
    unit = _unit(cost)
    model.minimize(cp_model.LinearExpr.weighted_sum(terms, (cost[priced] // unit).tolist()))
    return WindowModel(model, program)


def _certain(graph: Graph, columns: int) -> IntArray:
    """Least cost of every node's labels, which every solution has; 0 for pairs."""
    certain = np.zeros(columns, dtype=np.int64)
    least = np.minimum.reduceat(graph.cost, graph.first[:-1])
    certain[: len(graph.cost)] = np.repeat(least, graph.sizes)
    return certain


def _unit(values: IntArray) -> int:
    """Least unit in which the values add up to no more than allowed."""
    total: int = sum(values.tolist())
    return max(1, -(-total // LARGEST_SUM))
