"""What plans were found to cost above their price, for the search of the next plan.

Exchange phases are priced by a bound that holds for every schedule. Once a plan is built it is known
what its steps take; the difference is a correction of the price of that pair of layouts, or of that
label. The corrected problem ranks plans by what is known of them; it bounds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ipuopt.models.mapping.bounds import most_expensive
from ipuopt.models.mapping.candidates.labels import Choice
from ipuopt.models.mapping.graph import Key
from ipuopt.models.mapping.parts import ORIGINAL
from ipuopt.models.mapping.problem import FORBIDDEN, IntArray, Problem, Solution
from ipuopt.models.mapping.space import Space


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where the price of a plan step stands: a pair of layouts of an edge, or labels of a node."""

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
                costs, place = self._labels[origin.node], self._alike(origin.node, solution)
            else:
                costs, place = self._pairs[origin.edge], self._groups(origin.edge, origin.pair)
            known = costs[place]
            costs[place] = np.where(known == FORBIDDEN, known, np.maximum(known, spent))

    def _alike(self, node: int, solution: Solution) -> tuple[IntArray, ...]:
        """Labels that differ from the chosen one in what they keep alone."""
        label, base = solution.labels[node], self._space.parts[node].base
        return (np.array([label]) if base is None else np.flatnonzero(base == base[label]),)

    def _groups(self, edge: int, pair: tuple[int, int]) -> tuple[IntArray, ...]:
        """Pairs of groups of an edge with these layouts."""
        link = self._space.links[edge]
        rows, columns = (
            np.flatnonzero(layouts == layout)
            for layouts, layout in zip((link.tail_layout, link.head_layout), pair, strict=True)
        )
        return np.ix_(rows, columns)

    def refuse(self, solution: Solution) -> None:
        """Price a plan that cannot be built out of the search, by its label that needs most memory."""
        chosen = tuple(zip(self._space.problem.nodes, solution.labels, strict=True))
        demand = [int((n.standard[x] + n.interleaved[x]).max(initial=0)) for n, x in chosen]
        node = int(np.argmax(demand))
        self._labels[node][solution.labels[node]] += most_expensive(self._space.problem)

    def _origins(self, solution: Solution) -> list[_Origin]:
        """Where the price of every step of the plan stands, in the order of the steps."""
        origins = list[_Origin]()
        edges = {
            (edge.head, link.operand, link.source): index
            for index, (edge, link) in enumerate(
                zip(self._space.problem.edges, self._space.links, strict=True)
            )
        }
        for node, (part, label) in enumerate(zip(self._space.parts, solution.labels, strict=True)):
            if part.visit is None or part.labels is None:
                continue
            for position, choice in enumerate(part.labels.operands):
                reading = part.reading(position)
                source = ORIGINAL if reading is None else int(reading.source[label])
                index = edges.get((node, position, source))
                if index is None:  # loaded by the host
                    continue
                buffer = self._buffer(index, part.visit.operands[position].key)
                tail = solution.labels[self._space.problem.edges[index].tail]
                pair = int(buffer.index[tail]), int(choice.index[label])
                if buffer.layouts[pair[0]] != choice.layouts[pair[1]]:
                    origins.append(_Origin(index, node, pair))
            origins.append(_Origin(None, node))
        return origins

    def _buffer(self, edge: int, key: Key) -> Choice:
        """What the edge reads: the value itself, or the operand of another reader."""
        part = self._space.parts[self._space.problem.edges[edge].tail]
        if self._space.links[edge].source == ORIGINAL:
            return part.value
        assert part.visit is not None and part.labels is not None
        return part.labels.operands[part.visit.place_of(key)]
