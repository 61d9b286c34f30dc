"""The same formulation for CP-SAT, with every row's coefficients summing to less than 2^30.

Presolve of CP-SAT adds 64-bit coefficients of Booleans into 32-bit variables (google/or-tools
#5293). So each table of a node or an edge gets an integer variable of its own, defined by one row
per chunk of labels, and the rows that join tables have coefficients of one. Least values of a
table are taken out as constants, which makes the coefficients small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from ipuopt.models.mapping.exact import granule_range
from ipuopt.models.mapping.problem import FORBIDDEN, IntArray, Problem, Solution

Expression = Any
"""A CP-SAT expression; its own alias is a union that mypy cannot add up."""

MAX_ROW = 1 << 29
"""Sum of coefficients at which a row is cut into chunks; half of what CP-SAT can take."""


Literals = tuple[cp_model.IntVar, ...]


@dataclass(frozen=True, slots=True)
class _Table:
    """A variable that holds the value of the chosen literal; zero for literals not listed."""

    variable: cp_model.IntVar
    literals: Literals
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Model:
    """The CP-SAT model and the handles needed to read it back."""

    cp: cp_model.CpModel
    labels: tuple[Literals, ...]
    pairs: tuple[Literals, ...]
    granules: cp_model.IntVar
    boundary: cp_model.IntVar
    tables: tuple[_Table, ...]

    def read(self, values: IntArray) -> Solution:
        """Chosen labels of a solution."""
        chosen = []
        for row in self.labels:
            chosen.append(next(x for x, literal in enumerate(row) if values[literal.index]))
        return Solution(tuple(chosen))

    def start(self, problem: Problem, solution: Solution) -> dict[int, int]:
        """Values of all variables for a choice of labels."""
        values = dict.fromkeys(range(len(self.cp.proto.variables)), 0)
        peak = np.zeros(len(problem.steps), dtype=np.int64)
        for row, node, label in zip(self.labels, problem.nodes, solution.labels, strict=True):
            values[row[label].index] = 1
            peak += node.interleaved[label]
        for literals, edge in zip(self.pairs, problem.edges, strict=True):
            row_group = edge.tail_group[solution.labels[edge.tail]]
            column_group = edge.head_group[solution.labels[edge.head]]
            rows, columns = np.nonzero(edge.cost != FORBIDDEN)
            for pair in np.flatnonzero((rows == row_group) & (columns == column_group)):
                values[literals[pair].index] = 1
        granule = problem.capacity.granule
        least = self.cp.proto.variables[self.granules.index].domain[0]
        granules = max(int(least), -(-int(peak.max(initial=0)) // granule))
        values[self.granules.index] = granules
        values[self.boundary.index] = granules * granule
        for table in self.tables:
            pairs = zip(table.literals, table.values, strict=True)
            values[table.variable.index] = sum(x * values[lit.index] for lit, x in pairs)
        return values


class _Tables:
    """Adds tables to a model, each by rows with small sums of coefficients."""

    def __init__(self, cp: cp_model.CpModel) -> None:
        self.cp = cp
        self.made: list[_Table] = []

    def add(self, chosen: Literals, values: IntArray) -> Expression:
        """Value of the chosen entry, exactly one of which is true, as a small expression."""
        base = int(values.min()) if len(values) else 0
        extra = values - base
        parts: list[Expression] = [base]
        chunk = np.cumsum(extra) // MAX_ROW
        for number in np.unique(chunk[extra > 0]):
            rows = np.flatnonzero((chunk == number) & (extra > 0))
            literals = tuple(chosen[x] for x in rows)
            amounts = tuple(int(extra[x]) for x in rows)
            part = self.cp.new_int_var(0, max(amounts), "")
            self.cp.add(part == cp_model.LinearExpr.weighted_sum(literals, amounts))
            self.made.append(_Table(part, literals, amounts))
            parts.append(part)
        return sum(parts)


def build(problem: Problem, boundary: tuple[int, int] | None = None) -> Model:
    """Translate ``problem`` into CP-SAT; no solving.

    Parameters
    ----------
    problem
        Usually reduced before.
    boundary
        Least and most granules of the boundary; None for all that can be of use.
    """
    cp, capacity = cp_model.CpModel(), problem.capacity
    tables = _Tables(cp)
    least, most = boundary or granule_range(problem)
    granules = cp.new_int_var(least, most, "granules")
    labels: list[Literals] = []
    pairs: list[Literals] = []
    costs: list[Expression] = []
    standard: list[list[Expression]] = [[] for _ in problem.steps]
    interleaved: list[list[Expression]] = [[] for _ in problem.steps]
    large: list[list[Expression]] = [[] for _ in problem.steps]
    for number, node in enumerate(problem.nodes):
        chosen = tuple(cp.new_bool_var(f"x[{number},{x}]") for x in range(len(node.cost)))
        cp.add_exactly_one(chosen)  # (M1)
        costs.append(tables.add(chosen, node.cost))
        labels.append(chosen)
        for step in range(len(problem.steps)):
            standard[step].append(tables.add(chosen, node.standard[:, step]))
            interleaved[step].append(tables.add(chosen, node.interleaved[:, step]))
            large[step].append(tables.add(chosen, node.large[:, step]))
    for edge in problem.edges:
        used = np.nonzero(edge.cost != FORBIDDEN)
        chosen = tuple(cp.new_bool_var("") for _ in used[0])
        sides = ((edge.tail, edge.tail_group), (edge.head, edge.head_group))
        for (number, groups), side, count in zip(sides, used, edge.cost.shape, strict=True):
            for group in range(count):  # (M2), the local polytope
                own = [labels[number][x] for x in np.flatnonzero(groups == group)]
                others = [chosen[pair] for pair in np.flatnonzero(side == group)]
                if own or others:
                    cp.add(sum(own) == sum(others))
        costs.append(tables.add(chosen, edge.cost[used]))
        standard[edge.step].append(tables.add(chosen, edge.staging[used]))
        large[edge.step].append(tables.add(chosen, edge.large[used]))
        pairs.append(chosen)
    boundary_bytes = cp.new_int_var(0, most * capacity.granule, "boundary")
    cp.add(boundary_bytes == capacity.granule * granules)
    for step in range(len(problem.steps)):
        cp.add(sum(interleaved[step]) <= capacity.interleaved)  # (M3)
        cp.add(sum(interleaved[step]) <= boundary_bytes)  # rounding of (M4)
        cp.add(sum(standard[step]) + boundary_bytes <= capacity.total)  # (M4)
        cp.add(sum(large[step]) + boundary_bytes <= capacity.high)  # (M5)
    cp.minimize(sum(costs))
    return Model(cp, tuple(labels), tuple(pairs), granules, boundary_bytes, tuple(tables.made))
