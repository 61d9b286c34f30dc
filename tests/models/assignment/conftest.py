"""Random small problems, and the cost of every choice by brute force."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from ipuopt.models.assignment.problem import FORBIDDEN, IntArray, Problem

Make = Callable[..., Problem]


def _offsets(sizes: IntArray) -> IntArray:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))


def make_problem(seed: int, *, limited: bool, nodes: int = 5, most: int = 3) -> Problem:
    """Few nodes, many edges: parallel ones, bijections, sums of rows and columns, forbidden pairs."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, most + 1, nodes)
    first = _offsets(sizes)
    start = random.integers(0, 4, nodes)
    stop = start + random.integers(0, 4, nodes)
    cost = random.integers(0, 20, first[-1])
    cost[random.random(len(cost)) < 0.03] = FORBIDDEN
    usage = random.integers(0, 10, first[-1])
    ends, tables = [], []
    for _ in range(int(random.integers(0, 2 * nodes))):
        a, b = random.choice(nodes, 2, replace=False)
        table = random.integers(0, 15, (sizes[a], sizes[b]))
        kind = random.random()
        if kind < 0.3 and sizes[a] == sizes[b]:
            partner = random.permutation(sizes[a])
            mask = np.ones(table.shape, dtype=np.bool_)
            mask[np.arange(sizes[a]), partner] = False
            table[mask] = FORBIDDEN
        elif kind < 0.5:
            rows, columns = random.integers(0, 9, sizes[a]), random.integers(0, 9, sizes[b])
            table = rows[:, None] + columns
        elif kind < 0.7:
            table[random.random(table.shape) < 0.3] = FORBIDDEN
        ends.append((a, b))
        tables.append(table.ravel())
    links = np.array(ends, dtype=np.int64).reshape(-1, 2)
    cells = np.array([len(table) for table in tables], dtype=np.int64)
    limit = int(random.integers(8, 26)) if limited else None
    return Problem(
        f"random {seed}", start, stop, first, cost, usage, links[:, 0].copy(), links[:, 1].copy(),
        _offsets(cells), np.concatenate([np.zeros(0, np.int64), *tables]), limit,
    )  # fmt: skip


def brute_force(problem: Problem) -> tuple[int | None, bool]:
    """Least cost below 10^18 of all choices that fit, and whether any choice fits at all."""
    choices = np.array(
        list(itertools.product(*map(range, np.diff(problem.first).tolist()))), dtype=np.int64
    )
    entries = problem.first[:-1] + choices
    parts = [problem.cost[entries]]
    width = np.diff(problem.first)[problem.head]
    if len(problem.tail):
        cell = choices[:, problem.tail] * width + choices[:, problem.head]
        parts.append(problem.table[problem.table_first[:-1] + cell])
    every = np.concatenate(parts, axis=1)
    good = (every < FORBIDDEN).all(axis=1)
    fits = np.ones(len(choices), dtype=np.bool_)
    if problem.limit is not None:
        for time in range(8):
            live = (problem.start <= time) & (time < problem.stop)
            fits &= problem.usage[entries][:, live].sum(axis=1) <= problem.limit
    costs = np.where(every < FORBIDDEN, every, 0).sum(axis=1)
    return (int(costs[good & fits].min()) if (good & fits).any() else None), bool(fits.any())


@pytest.fixture
def make() -> Make:
    return make_problem


@pytest.fixture
def least() -> Callable[[Problem], tuple[int | None, bool]]:
    return brute_force
