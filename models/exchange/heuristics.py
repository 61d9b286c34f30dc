"""Schedules without a solver."""

from __future__ import annotations

import numpy as np

from ipuopt.models.exchange import orders
from ipuopt.models.exchange.bounds import lower_bound
from ipuopt.models.exchange.instance import Instance, instance
from ipuopt.models.exchange.problem import IntArray, Problem, Solution
from ipuopt.models.exchange.search import run, run_appending
from ipuopt.models.exchange.timing import horizon_of

LARGE = 150_000
"""Receivers of a phase above which the baseline is one list schedule: it takes seconds there."""


def append_only(problem: Problem) -> Solution:
    """Schedule in the way of the public compiler, as the baseline.

    Transfers are appended, never put into gaps: P - P0 is not before the previous send end of the
    source, nor before the previous write end of any receiver (``ipu21.md`` 3.4), and all hard
    rules hold. Next comes the transfer that can start first; the better of two ways to break ties
    is kept, the most loaded endpoint and the longest transfer first, the former alone in phases of
    more than :data:`LARGE` receivers.
    """
    return Solution(append_starts(instance(problem)), problem.paired)


def append_starts(phase: Instance) -> IntArray:
    """As :func:`append_only`, on a forward instance."""
    tries = []
    for words in (0, 1):
        order, end = orders.dispatch_until(phase, 0, words, appending=True)
        tries.append(run_appending(phase, order, end + end // 8 + 64))
        if len(phase.receiver) > LARGE:
            break
    return min(tries, key=lambda start: horizon_of(start, phase.tail))


def insert_in_order(problem: Problem, order: IntArray) -> Solution:
    """Every transfer at its earliest fit into the gaps left by those before it in ``order``.

    Raises
    ------
    ValueError
        If ``order`` is no permutation, or puts a transfer before one that it must follow (E5).
    """
    phase = instance(problem)
    count = len(problem)
    if not np.array_equal(np.sort(order), np.arange(count)):
        raise ValueError(f"{problem.name}: the order is no permutation of {count} transfers")
    rank = np.empty(count, np.int64)
    rank[order] = np.arange(count)
    after = np.repeat(np.arange(count), np.diff(phase.before_bounds))
    if np.any(rank[phase.before] > rank[after]):
        raise ValueError(f"{problem.name}: the order breaks a dependency (E5)")
    horizon = 2 * lower_bound(problem)[0] + 64
    while True:
        start = run(phase, order, horizon)
        if start is not None:
            return Solution(start, problem.paired)
        horizon *= 2


def schedule_heuristic(problem: Problem) -> tuple[Solution, int]:
    """The baseline and its horizon in events."""
    phase = instance(problem)
    start = append_starts(phase)
    return Solution(start, problem.paired), horizon_of(start, phase.tail)
