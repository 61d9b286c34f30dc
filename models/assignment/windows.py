"""Windows: a few nodes are chosen anew together, with proof, while all others stay.

What the others leave is a small problem of the same kind. Bounds and the presolve decide most of them
outright: only what costs less than the present labels is looked for. What is left goes to CP-SAT.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ipuopt.limits import Limits
from ipuopt.models.assignment.contract import contract, kept_labels
from ipuopt.models.assignment.graph import Graph
from ipuopt.models.assignment.heuristics import Searchable
from ipuopt.models.assignment.multipliers import Ascent
from ipuopt.models.assignment.presolve import Presolved, presolve
from ipuopt.models.assignment.problem import IntArray
from ipuopt.models.assignment.pruning import without_worse

PASSES = 100
"""Passes at most for the bound of a window."""

PRUNINGS = 3
"""Times at most that a window is pruned by a bound and presolved."""

MAX_CELLS = 15_000
"""Pairs of labels of a window at most that CP-SAT is given."""

SIZES = (30, 60, 120)
"""Nodes of a window, one after the other."""

WINDOW_S = 1.0
"""Seconds of CP-SAT at most for a window, or its deterministic time in repeatable mode."""

NEAR = 6
"""Nodes that a window around a full row takes with each of that row's nodes."""

FULL = 20
"""One row of so many counts as full: those with the least room left."""


@dataclass(slots=True)
class Windows:
    """Chooses windows of a graph and solves them.

    Attributes
    ----------
    searchable
        Of the graph.
    limits
        Wall clock and mode of the run.
    random
        Chooses the windows.
    """

    searchable: Searchable
    limits: Limits
    random: np.random.Generator
    _count: int = field(init=False, default=0)

    def improved(self, labels: IntArray) -> IntArray | None:
        """Labels that fit and cost less than ``labels``, which fit, if the next window has some."""
        searchable, graph = self.searchable, self.searchable.graph
        keep = np.zeros(len(graph.cost), dtype=np.bool_)
        keep[graph.first[:-1] + labels] = True
        for node in self._nodes(labels):
            keep[graph.first[node] : graph.first[node + 1]] = True
        cost = searchable.cost(labels)
        step = kept_labels(graph, keep.astype(np.int64))
        found = _cheaper(Presolved(contract(graph, step), (step,)), cost + graph.constant,
                         self.limits)  # fmt: skip
        if found is None or searchable.cost(found) >= cost or (searchable.use(found) > 0).any():
            return None
        return found

    def _nodes(self, labels: IntArray) -> list[int]:
        """Nodes near a random one, near a costly edge, or near nodes that share a full row."""
        graph, random = self.searchable.graph, self.random
        kind, size = self._count % 3, SIZES[self._count // 3 % len(SIZES)]
        self._count += 1
        if kind == 1 and len(graph.tail):
            costs = graph.table[graph.cells(labels)].astype(np.float64) + 1.0
            edge = int(random.choice(len(costs), p=costs / costs.sum()))
            return self._near([int(graph.tail[edge])], size)
        memory = graph.memory
        if kind == 2 and len(memory.node):
            use = self.searchable.use(labels)
            full = np.argsort(-use, kind="stable")[: 1 + len(use) // FULL]
            row = int(random.choice(full))
            there = np.unique(memory.node[(memory.start <= row) & (row < memory.stop)])
            chosen: set[int] = set()
            for node in random.permutation(there)[: size // NEAR].tolist():
                chosen.update(self._near([node], NEAR))
            return sorted(chosen)
        return self._near([int(random.integers(len(graph.first) - 1))], size)

    def _near(self, found: list[int], size: int) -> list[int]:
        """Up to ``size`` nodes, those before and their neighbours in order of distance."""
        _, tail, head, _, link_first, link = self.searchable.edges
        seen = set(found)
        for node in found:  # grows while it is read
            edges = link[link_first[node] : link_first[node + 1]]
            for other in (tail[edges] + head[edges] - node).tolist():
                if other not in seen and len(found) < size:
                    seen.add(other)
                    found.append(other)
        return found


def _cheaper(left: Presolved, cutoff: int, limits: Limits) -> IntArray | None:
    """Labels below ``cutoff`` of the graph before all steps; None if there are none, or none is found."""
    graph = left.graph
    for number in range(PRUNINGS + 1):
        smaller = presolve(graph)
        if smaller is None:
            return None
        left = Presolved(smaller.graph, left.steps + smaller.steps)
        graph = left.graph
        if not len(graph.cost):
            return left.lift(np.zeros(0, dtype=np.int64))
        if number == PRUNINGS or limits.expired():
            break
        ascent = Ascent(graph)
        for _ in range(PASSES):
            ascent.advance(float(cutoff))
            if ascent.bound >= cutoff:
                break
        proof = ascent.proof()
        if proof.bound >= cutoff:
            return None
        graph = without_worse(graph, proof, cutoff)
    if len(graph.table) > MAX_CELLS or limits.expired():
        return None
    labels = _searched(graph, limits)
    return None if labels is None else left.lift(labels)


def _searched(graph: Graph, limits: Limits) -> IntArray | None:
    """Cheap labels of what is left of a window, by CP-SAT."""
    # Imported here: most windows are decided without a solver.
    from ipuopt.models.assignment.window_model import build
    from ipuopt.solvers import cpsat

    model = build(graph)
    quiet = replace(limits.unheard(), threads=1)
    if not limits.deterministic:
        quiet = quiet.within(WINDOW_S)
    outcome = cpsat.run(model.model, quiet, name="window", isolate=False, effort=WINDOW_S)
    return None if outcome.values is None else model.read(outcome.values)
