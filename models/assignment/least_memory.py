"""The choice that uses the least memory at every time: it tells whether any choice fits."""

from __future__ import annotations

import numpy as np

from ipuopt.models.assignment.check import check
from ipuopt.models.assignment.problem import IntArray, Problem, Solution


def least_memory(problem: Problem) -> tuple[IntArray, bool]:
    """Every node's strategy of the least usage, the cheaper of equals; whether they fit.

    A node uses the same memory at all its times, so no choice uses less at any time.
    """
    node = np.repeat(np.arange(len(problem)), np.diff(problem.first))
    order = np.lexsort((problem.cost, problem.usage, node))
    strategy = order[problem.first[:-1]] - problem.first[:-1]
    return strategy, not check(problem, Solution(strategy))


def peak(problem: Problem) -> tuple[int, int, list[tuple[str, int]]]:
    """Time and demand of the largest least use, and the five largest owners there."""
    strategy, _ = least_memory(problem)
    used = problem.usage[problem.first[:-1] + strategy]
    live = np.flatnonzero(problem.start < problem.stop)
    times, place = np.unique(problem.start[live], return_inverse=True)
    change = np.zeros(len(times) + 1, dtype=np.int64)
    np.add.at(change, place, used[live])
    np.add.at(change, np.searchsorted(times, problem.stop[live]), -used[live])
    at = int(np.cumsum(change)[:-1].argmax())
    time = int(times[at])
    there = live[(problem.start[live] <= time) & (time < problem.stop[live])]
    largest = there[np.argsort(-used[there], kind="stable")][:5]
    owners = [(f"node {node}", int(used[node])) for node in largest.tolist() if used[node]]
    return time, int(used[there].sum()), owners
