"""Pruning, rows of memory and the tree search against exhaustive search."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ipuopt.limits import Limits
from ipuopt.models.assignment import Problem, Solution, check, evaluate
from ipuopt.models.assignment.binding_rows import binding_memory
from ipuopt.models.assignment.branching import SOURCE, search_tree
from ipuopt.models.assignment.consistency import possible_labels
from ipuopt.models.assignment.contract import contract, kept_labels
from ipuopt.models.assignment.graph import Graph, graph_of
from ipuopt.models.assignment.multipliers import Ascent
from ipuopt.models.assignment.presolve import presolve
from ipuopt.models.assignment.problem import FORBIDDEN, BoolArray, IntArray
from ipuopt.models.assignment.pruning import excesses, without_worse
from ipuopt.models.assignment.run import Run

Make = Callable[..., Problem]
Least = Callable[[Problem], tuple[int | None, bool]]


def choices(graph: Graph) -> IntArray:
    """Every choice of labels, shape ``(choices, nodes)``."""
    return np.indices(tuple(graph.sizes.tolist())).reshape(len(graph.sizes), -1).T


def costs(graph: Graph, labels: IntArray) -> IntArray:
    """Cost of every choice; ``FORBIDDEN`` or more with a forbidden label or pair."""
    cells = labels[:, graph.tail] * graph.sizes[graph.head] + labels[:, graph.head]
    every = np.concatenate(
        (graph.cost[graph.first[:-1] + labels], graph.table[graph.table_first[:-1] + cells]), axis=1
    )
    total: IntArray = graph.constant + np.minimum(every, FORBIDDEN // 100).sum(axis=1)
    return np.where((every >= FORBIDDEN).any(axis=1), FORBIDDEN, total)


def fitting(graph: Graph, labels: IntArray) -> BoolArray:
    """Whether every choice is within the room of all rows."""
    memory = graph.memory
    fits = np.ones(len(labels), dtype=np.bool_)
    used = memory.usage[memory.first[:-1] + labels[:, memory.node]]
    for row, room in enumerate(memory.room.tolist()):
        live = (memory.start <= row) & (row < memory.stop)
        fits &= used[:, live].sum(axis=1) <= room
    return fits


def test_rows_that_go_follow_from_those_that_stay(make: Make) -> None:
    random = np.random.default_rng(0)
    rows = []
    for seed in range(300):
        problem = make(seed, limited=True)
        start = random.integers(0, 12, len(problem))
        problem = replace(problem, start=start, stop=start + random.integers(0, 9, len(start)))
        graph = graph_of(problem)
        fewer = replace(graph, memory=binding_memory(graph))
        every = choices(graph)
        assert np.array_equal(fitting(graph, every), fitting(fewer, every)), seed
        rows.append((len(graph.memory.room), len(fewer.memory.room)))
    before, after = np.array(rows).sum(axis=0)
    assert after < 0.6 * before


@pytest.mark.parametrize("limited", [True, False], ids=["memory", "no memory"])
def test_pruning_keeps_every_better_solution(make: Make, limited: bool) -> None:
    pruned = 0
    for seed in range(60):
        whole = graph_of(make(seed, limited=limited, most=4))
        keep = possible_labels(whole)
        if not np.add.reduceat(keep, whole.first[:-1]).all():
            continue
        graph = contract(whole, kept_labels(whole, keep))
        every = choices(graph)
        cost = np.where(fitting(graph, every), costs(graph, every), FORBIDDEN)
        good = np.sort(cost[cost < FORBIDDEN])
        if not len(good):
            continue
        ascent = Ascent(graph)
        for _ in range(8):
            ascent.advance(float(good[0]))
        proof = ascent.proof()
        # No label is in a solution that is cheaper than bound and excess say.
        excess = -(-excesses(graph, proof) // proof.scale)[graph.first[:-1] + every]
        assert (cost >= proof.bound + excess.max(axis=1) - 1).all(), seed
        for cutoff in (
            int(good[0]),
            int(good[0]) + 1,
            int(good[len(good) // 2]),
            int(good[-1]) + 1,
        ):
            smaller = without_worse(graph, proof, cutoff)
            better = cost < cutoff
            assert np.array_equal(costs(smaller, every)[better], costs(graph, every)[better]), seed
            pruned += int((smaller.cost != graph.cost).sum())
    assert pruned > 100


@pytest.mark.parametrize("limited", [True, False], ids=["memory", "no memory"])
def test_the_tree_finds_and_proves_the_optimum(make: Make, least: Least, limited: bool) -> None:
    parts = 0
    for seed in range(60):
        problem = make(seed, limited=limited, nodes=8, most=4)
        if limited:
            problem = replace(problem, limit=30)
        best, fits = least(problem)
        left = presolve(graph_of(problem))
        if left is None or not fits:
            continue
        run = Run(problem, Limits(deterministic=True, deadline=time.monotonic() + 60))
        run.objective = 10**6  # no solution is known, only that better ones count
        search_tree(run, left, until=0.0, parts=10_000)
        if best is None:
            assert run.solution is None
            continue
        assert run.objective == run.bound == best, seed
        assert run.solution is not None and check(problem, run.solution) == ()
        assert evaluate(problem, Solution(run.solution.strategy)) == best
        parts += run.bound_source == SOURCE
    assert parts > 5


def test_a_tree_that_is_cut_short_bounds_what_is_left(make: Make, least: Least) -> None:
    for seed in range(20):
        problem = replace(make(seed, limited=True, nodes=8, most=4), limit=30)
        best, _ = least(problem)
        left = presolve(graph_of(problem))
        if best is None or left is None:
            continue
        run = Run(problem, Limits(deterministic=True))
        run.objective = 10**6
        search_tree(run, left, until=0.0, parts=1)
        assert run.bound <= best <= run.objective
