"""Windows against exhaustive search: what they find fits and is cheaper, what CP-SAT finds is best."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ipuopt.limits import Limits
from ipuopt.models.assignment import Problem
from ipuopt.models.assignment.contract import contract, identity
from ipuopt.models.assignment.graph import Graph, graph_of
from ipuopt.models.assignment.heuristics import Searchable
from ipuopt.models.assignment.multipliers import Ascent
from ipuopt.models.assignment.problem import FORBIDDEN
from ipuopt.models.assignment.window_model import build
from ipuopt.models.assignment.windows import Windows
from ipuopt.solvers import cpsat

Make = Callable[..., Problem]

KINDS = 3
"""Ways to choose a window, one after the other."""


def merged(problem: Problem) -> Graph:
    """The problem with one edge at most between two nodes; nothing else is reduced."""
    graph = graph_of(problem)
    return contract(graph, identity(graph))


def fitting(graph: Graph, searchable: Searchable) -> list[tuple[int, np.ndarray]]:
    """Cost and labels of every choice that fits, without forbidden pairs, the cheapest first."""
    found = []
    for labels in np.ndindex(*graph.sizes.tolist()):
        chosen = np.array(labels, dtype=np.int64)
        cost = searchable.cost(chosen)
        if cost < FORBIDDEN and not (searchable.use(chosen) > 0).any():
            found.append((cost, chosen))
    return sorted(found, key=lambda pair: pair[0])


def limits() -> Limits:
    return Limits(deadline=time.monotonic() + 60, deterministic=True)


def test_windows_come_to_the_best_labels_of_a_small_graph(make: Make) -> None:
    """From the worst labels: a window of a graph so small is all of what is connected."""
    improved = best = searched = 0
    for seed in range(150):
        graph = merged(make(seed, limited=True))
        searchable = Searchable.of(graph, Ascent(graph).passing)
        choices = fitting(graph, searchable)
        if not choices:
            continue
        windows = Windows(searchable, limits(), np.random.default_rng(seed))
        cost, labels = choices[-1]
        fruitless = 0
        while fruitless < 4 * KINDS:
            found = windows.improved(labels)
            if found is None:
                fruitless += 1
                continue
            assert not (searchable.use(found) > 0).any(), seed
            assert searchable.cost(found) < cost, seed
            cost, labels, fruitless = searchable.cost(found), found, 0
            improved += 1
        best += cost == choices[0][0]
        searched += 1
    assert improved > searched > 80
    assert best > 0.7 * searched  # the others are kept apart by memory that unconnected nodes share


@pytest.mark.parametrize(
    ("factor", "larger"),
    [(1, 1), (10**9, 1), (1, 10**9)],
    ids=["as they are", "costs too large for a row", "memory too large for a row"],
)
def test_cp_sat_finds_the_best_of_a_window(make: Make, factor: int, larger: int) -> None:
    """The best, or almost where costs have units; memory in units loses what fills a row."""
    searched = 0
    for seed in range(80):
        graph = merged(make(seed, limited=True))
        table = np.where(graph.table < FORBIDDEN, graph.table * factor, FORBIDDEN)
        cost = np.where(graph.cost < FORBIDDEN, graph.cost, 30) * factor
        usage, room = graph.memory.usage * larger, graph.memory.room * larger
        memory = replace(graph.memory, usage=usage, room=room)
        graph = replace(graph, cost=cost, table=table, memory=memory)
        searchable = Searchable.of(graph, Ascent(graph).passing)
        choices = fitting(graph, searchable)
        model = build(graph)
        outcome = cpsat.run(model.model, limits(), name="window")
        if outcome.values is None:
            assert not choices or larger > 1, (seed, outcome.note)
            continue
        labels = model.read(outcome.values)
        assert not (searchable.use(labels) > 0).any(), seed
        if larger == 1:
            assert searchable.cost(labels) <= choices[0][0] * (1 if factor == 1 else 1.001), seed
        searched += 1
    assert searched > 20
