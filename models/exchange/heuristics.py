"""Schedules without a solver."""

from __future__ import annotations

import time

import numpy as np

from ipuopt.limits import Limits
from ipuopt.models.exchange import orders
from ipuopt.models.exchange.bounds import lower_bound
from ipuopt.models.exchange.instance import Instance, instance
from ipuopt.models.exchange.orders import Stop, never
from ipuopt.models.exchange.problem import IntArray, Problem, Solution
from ipuopt.models.exchange.search import run_appending, run_to_end
from ipuopt.models.exchange.timing import horizon_of

QUICK = 30_000
"""Receivers of a phase above which a search begins with insertion: the baseline takes seconds."""

SHARE = 0.1
"""Share of the time left that the baseline of such a phase may take."""

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
    return schedule_heuristic(problem)[0]


def append_starts(phase: Instance, stop: Stop = never) -> IntArray | None:
    """As :func:`append_only`, on a forward instance; None once ``stop`` says so."""
    tries: list[IntArray] = []
    for words in (0, 1):
        found = orders.dispatch_until(phase, 0, words, appending=True, stop=stop)
        if found is None:
            break
        order, end = found
        start = run_appending(phase, order, end + end // 8 + 64, stop)
        if start is None:
            break
        tries.append(start)
        if len(phase.receiver) > LARGE:
            break
    return min(tries, key=lambda start: horizon_of(start, phase.tail), default=None)


def quick_starts(phase: Instance, bound: int) -> IntArray:
    """Every transfer into the first gap that fits, the longest first.

    Takes a second where :func:`append_only` takes twenty, and is far better in large phases.
    """
    return run_to_end(phase, orders.longest(phase), 4 * bound + 64)


def first_starts(phase: Instance, bound: int, limits: Limits) -> tuple[IntArray, int, str]:
    """What a search begins with, the horizon of the baseline, and a note if that is another.

    The baseline is :func:`append_only`. In phases of more than :data:`QUICK` receivers it must be
    found within :data:`SHARE` of the time left, and is not wanted where heuristics alone are;
    otherwise :func:`quick_starts` is the baseline as well.
    """
    if len(phase.receiver) <= QUICK:
        start = append_starts(phase)
        assert start is not None
        return start, horizon_of(start, phase.tail), ""
    start = quick_starts(phase, bound)
    until = time.monotonic() + SHARE * limits.remaining_s()

    def late() -> bool:
        if limits.deterministic:
            return limits.expired()
        return limits.gap >= 1 or time.monotonic() > until or limits.should_stop()

    appended = append_starts(phase, late)
    if appended is None:
        return start, horizon_of(start, phase.tail), "baseline: insertion, longest first"
    best = min(start, appended, key=lambda one: horizon_of(one, phase.tail))
    return best, horizon_of(appended, phase.tail), ""


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
    rank = orders.ranks(order)
    after = np.repeat(np.arange(count), np.diff(phase.before_bounds))
    if np.any(rank[phase.before] > rank[after]):
        raise ValueError(f"{problem.name}: the order breaks a dependency (E5)")
    start = run_to_end(phase, order, 2 * lower_bound(problem)[0] + 64)
    return Solution(start, problem.paired)


def schedule_quickly(problem: Problem) -> Solution:
    """A schedule at once, by :func:`quick_starts`."""
    start = quick_starts(instance(problem), lower_bound(problem)[0])
    return Solution(start, problem.paired)


def schedule_heuristic(problem: Problem) -> tuple[Solution, int]:
    """The baseline and its horizon in events."""
    phase = instance(problem)
    start = append_starts(phase)
    assert start is not None
    return Solution(start, problem.paired), horizon_of(start, phase.tail)
