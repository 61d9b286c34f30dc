"""The same formulation in Pyomo, to be read beside the docstring of the package.

For small cases: every table is spelled out as a dictionary of expressions.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from ipuopt.models.mapping.exact import granule_range
from ipuopt.models.mapping.problem import FORBIDDEN, Problem, Solution


def _equal(left: Any, right: Any) -> Any:
    """Equality as a constraint; plain numbers on both sides are no constraint for Pyomo."""
    if isinstance(left, int) and isinstance(right, int):
        return pyo.Constraint.Feasible if left == right else pyo.Constraint.Infeasible
    return left == right


def build(problem: Problem) -> pyo.ConcreteModel:
    """Translate ``problem`` into a Pyomo model with variables ``x``, ``y`` and ``granules``."""
    nodes, edges, capacity = problem.nodes, problem.edges, problem.capacity
    _, most = granule_range(problem)
    labels = [(n, x) for n, node in enumerate(nodes) for x in range(len(node.cost))]
    pairs = [
        (e, g, h)
        for e, edge in enumerate(edges)
        for g in range(edge.cost.shape[0])
        for h in range(edge.cost.shape[1])
        if edge.cost[g, h] != FORBIDDEN
    ]
    steps = range(len(problem.steps))
    model = pyo.ConcreteModel()
    model.x = pyo.Var(labels, domain=pyo.Binary)
    model.y = pyo.Var(pairs, domain=pyo.NonNegativeReals)
    model.granules = pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(0, most))
    boundary = capacity.granule * model.granules

    def tail_marginal(model: pyo.ConcreteModel, e: int, group: int) -> Any:
        edge = edges[e]
        own = [model.x[edge.tail, x] for x, g in enumerate(edge.tail_group) if g == group]
        return _equal(sum(own), sum(model.y[p] for p in pairs if p[0] == e and p[1] == group))

    def head_marginal(model: pyo.ConcreteModel, e: int, group: int) -> Any:
        edge = edges[e]
        own = [model.x[edge.head, x] for x, g in enumerate(edge.head_group) if g == group]
        return _equal(sum(own), sum(model.y[p] for p in pairs if p[0] == e and p[2] == group))

    def interleaved(step: int) -> Any:
        return sum(int(nodes[n].interleaved[x, step]) * model.x[n, x] for n, x in labels)

    def standard(step: int) -> Any:
        own = sum(int(nodes[n].standard[x, step]) * model.x[n, x] for n, x in labels)
        return own + sum(
            int(edges[e].staging[g, h]) * model.y[e, g, h]
            for e, g, h in pairs
            if edges[e].step == step
        )

    def large(step: int) -> Any:
        own = sum(int(nodes[n].large[x, step]) * model.x[n, x] for n, x in labels)
        return own + sum(
            int(edges[e].large[g, h]) * model.y[e, g, h]
            for e, g, h in pairs
            if edges[e].step == step
        )

    def one_label(model: pyo.ConcreteModel, n: int) -> Any:
        return sum(model.x[n, x] for x in range(len(nodes[n].cost))) == 1

    def interleaved_fits(model: pyo.ConcreteModel, step: int) -> Any:
        return interleaved(step) <= capacity.interleaved

    def above_interleaved(model: pyo.ConcreteModel, step: int) -> Any:
        return interleaved(step) <= boundary

    def total_fits(model: pyo.ConcreteModel, step: int) -> Any:
        return standard(step) + boundary <= capacity.total

    def large_fits(model: pyo.ConcreteModel, step: int) -> Any:
        return large(step) + boundary <= capacity.high

    model.M1 = pyo.Constraint(range(len(nodes)), rule=one_label)
    tails = [(e, g) for e, edge in enumerate(edges) for g in range(edge.cost.shape[0])]
    heads = [(e, h) for e, edge in enumerate(edges) for h in range(edge.cost.shape[1])]
    model.M2_tail = pyo.Constraint(tails, rule=tail_marginal)
    model.M2_head = pyo.Constraint(heads, rule=head_marginal)
    model.M3 = pyo.Constraint(steps, rule=interleaved_fits)
    model.M4_boundary = pyo.Constraint(steps, rule=above_interleaved)
    model.M4 = pyo.Constraint(steps, rule=total_fits)
    model.M5 = pyo.Constraint(steps, rule=large_fits)
    model.cost = pyo.Objective(
        expr=sum(int(nodes[n].cost[x]) * model.x[n, x] for n, x in labels)
        + sum(int(edges[e].cost[g, h]) * model.y[e, g, h] for e, g, h in pairs)
    )
    return model


def read(problem: Problem, model: pyo.ConcreteModel) -> Solution:
    """Chosen labels of a solved model."""
    chosen = []
    for n, node in enumerate(problem.nodes):
        values = [model.x[n, x].value or 0.0 for x in range(len(node.cost))]
        chosen.append(values.index(max(values)))
    return Solution(tuple(chosen))
