"""What plans were found to cost above their price, for the search of the next plan.

Exchange phases are priced by a bound that holds for every schedule. Once a plan is built it is known
what its steps take; the difference is a correction of the price of that pair of layouts, or of that
label. The corrected problem ranks plans by what is known of them; it bounds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ipuopt.models.mapping.bounds import most_expensive
from ipuopt.models.mapping.candidates.request import Source
from ipuopt.models.mapping.problem import IntArray, Problem, Solution
from ipuopt.models.mapping.space import Space


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where the price of a plan step stands: a pair of groups of an edge, or labels of a node."""

    edge: int | None
    node: int
    pair: tuple[int, int] = (0, 0)


class Corrections:
    """A space with prices raised to what its plans were found to take.

    Parameters
    ----------
    space
        Plans are those of its solutions.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        problem = space.problem
        self._labels = [node.cost.copy() for node in problem.nodes]
        self._pairs = [edge.cost.copy() for edge in problem.edges]

    @property
    def problem(self) -> Problem:
        """The problem of the space at corrected prices."""
        problem = self._space.problem
        nodes = zip(problem.nodes, self._labels, strict=True)
        edges = zip(problem.edges, self._pairs, strict=True)
        return replace(
            problem,
            nodes=tuple(replace(node, cost=cost.copy()) for node, cost in nodes),
            edges=tuple(replace(edge, cost=cost.copy()) for edge, cost in edges),
        )

    def learn(self, solution: Solution, cycles: IntArray) -> None:
        """Take over what the steps of the plan of ``solution`` take, or at least take.

        Parameters
        ----------
        cycles
            Of every plan step; prices that are higher stay.
        """
        for origin, spent in zip(self._origins(solution), cycles.tolist(), strict=True):
            if origin.edge is None:
                costs, place = self._labels[origin.node], solution.labels[origin.node]
                costs[place] = max(int(costs[place]), spent)
            else:
                pairs = self._pairs[origin.edge]
                pairs[origin.pair] = max(int(pairs[origin.pair]), spent)

    def refuse(self, solution: Solution) -> None:
        """Price a plan that cannot be built out of the search, by its label that needs most memory."""
        chosen = tuple(zip(self._space.problem.nodes, solution.labels, strict=True))
        demand = [int((n.standard[x] + n.interleaved[x]).max(initial=0)) for n, x in chosen]
        node = int(np.argmax(demand))
        self._labels[node][solution.labels[node]] += most_expensive(self._space.problem)

    def _origins(self, solution: Solution) -> list[_Origin]:
        """Where the price of every step of the plan stands, in the order of the steps."""
        problem, origins = self._space.problem, list[_Origin]()
        entering: dict[int, list[int]] = {}
        for index, edge in enumerate(problem.edges):
            entering.setdefault(edge.head, []).append(index)
        for node, (part, label) in enumerate(zip(self._space.parts, solution.labels, strict=True)):
            if part.visit is None or part.labels is None:
                continue
            operands = zip(part.visit.operands, part.labels.operands, strict=True)
            converted = [choice for operand, choice in operands if operand.source != Source.LOADED]
            for index, choice in zip(entering.get(node, ()), converted, strict=True):
                edge = problem.edges[index]
                row = int(edge.tail_group[solution.labels[edge.tail]])
                column = int(edge.head_group[label])
                if self._space.parts[edge.tail].value.layouts[row] != choice.layouts[column]:
                    origins.append(_Origin(index, node, (row, column)))
            origins.append(_Origin(None, node))
        return origins
