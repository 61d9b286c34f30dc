"""Checks a choice of strategies against the formulation; shares no code with what makes one."""

from __future__ import annotations

import numpy as np

from ipuopt.models.assignment.problem import Problem, Solution

Violations = tuple[tuple[str, str], ...]

SHOWN = 20
"""Violations of a kind that are listed."""


def evaluate(problem: Problem, solution: Solution) -> int:
    """Objective in exact integers: costs of the strategies and of the pairs on every edge."""
    strategy = solution.strategy
    nodes = problem.cost[problem.first[:-1] + strategy]
    width = np.diff(problem.first)[problem.head]
    cell = problem.table_first[:-1] + strategy[problem.tail] * width + strategy[problem.head]
    # Python's integers: the sum of many entries of 10^18 passes 64 bits.
    total: int = sum(nodes.tolist()) + sum(problem.table[cell].tolist())
    return total


def check(problem: Problem, solution: Solution) -> Violations:
    """Violated constraints as ``(label, message)``, at most ``SHOWN`` a label; empty if none is."""
    strategy, sizes = solution.strategy, np.diff(problem.first)
    if strategy.shape != sizes.shape:
        return (("N1", f"{len(strategy)} strategies for {len(sizes)} nodes"),)
    outside = np.flatnonzero((strategy < 0) | (strategy >= sizes))
    if len(outside):
        return tuple(
            ("N1", f"node {node}: strategy {strategy[node]} is not one of {sizes[node]}")
            for node in outside[:SHOWN]
        )
    if problem.limit is None:
        return ()
    usage = problem.usage[problem.first[:-1] + strategy].tolist()
    changes: dict[int, int] = {}
    for start, stop, used in zip(problem.start.tolist(), problem.stop.tolist(), usage, strict=True):
        if start < stop:
            changes[start] = changes.get(start, 0) + used
            changes[stop] = changes.get(stop, 0) - used
    found: list[tuple[str, str]] = []
    total = 0
    for time in sorted(changes):
        total += changes[time]
        if total > problem.limit and len(found) < SHOWN:
            found.append(("N2", f"time {time}: {total} of {problem.limit} in use"))
    return tuple(found)
