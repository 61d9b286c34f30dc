"""Exact reductions in rounds, until none finds anything; solutions are read back step by step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ipuopt.models.assignment.binding_rows import binding_memory
from ipuopt.models.assignment.consistency import normalised, possible_labels
from ipuopt.models.assignment.contract import contract, kept_labels
from ipuopt.models.assignment.dominance import undominated
from ipuopt.models.assignment.elimination import eliminate
from ipuopt.models.assignment.gluing import glue
from ipuopt.models.assignment.graph import Graph
from ipuopt.models.assignment.problem import IntArray


class _Step(Protocol):
    def lift(self, labels: IntArray) -> IntArray: ...


@dataclass(frozen=True, slots=True)
class Presolved:
    """What is left of a graph.

    Attributes
    ----------
    graph
        Arc consistent, without constant pieces of memory; no node if all is decided.
    steps
        How labels are read back, first step first.
    """

    graph: Graph
    steps: tuple[_Step, ...]

    def lift(self, labels: IntArray) -> IntArray:
        """Labels of the original graph for labels of what is left."""
        for step in reversed(self.steps):
            labels = step.lift(labels)
        return labels


def _never() -> bool:
    return False


def presolve(graph: Graph, expired: Callable[[], bool] = _never) -> Presolved | None:
    """Reduce ``graph``; None if it has no solution below 10^18.

    Every solution of what is left is one of ``graph`` with the same cost, and a best one is left.
    """
    steps: list[_Step] = []
    while True:
        before = _size(graph)
        kept = _without(graph, possible_labels(graph), steps)
        if kept is None or (kept.memory.room < 0).any():
            return None
        graph = kept
        if expired():
            break
        graph = replace(normalised(graph), memory=binding_memory(graph))
        glued = glue(graph)
        if glued is not None:
            mapping, keep = glued
            graph = contract(graph, mapping)
            steps.append(mapping)
            if not keep.all():
                kept = _without(graph, keep, steps)
                if kept is None:
                    return None
                graph = kept
            continue
        keep = undominated(graph)
        if not keep.all():
            kept = _without(graph, keep, steps)
            assert kept is not None  # labels stand in for each other: one of every node stays
            graph = kept
        while (found := eliminate(graph)) is not None:
            graph, step = found
            steps.append(step)
        if _size(graph) == before:
            break
    return Presolved(graph, tuple(steps))


def _size(graph: Graph) -> tuple[int, int, int]:
    return len(graph.cost), len(graph.tail), len(graph.memory.node)


def _without(graph: Graph, keep: IntArray, steps: list[_Step]) -> Graph | None:
    """Leave out the labels that are not marked, as a further step; None if a node has none left."""
    if len(keep) and not np.add.reduceat(keep, graph.first[:-1]).all():
        return None
    step = kept_labels(graph, keep)
    steps.append(step)
    return contract(graph, step)
