"""A schedule and a bound in one pass over the transfers: something to show when time is short.

A phase of millions of receivers takes many seconds to prepare for insertion. Here no two transfers
that have a tile in common are under way at the same time, and those of a tile follow each other in
listed order. Then nothing that :mod:`ipuopt.models.exchange.check` forbids can happen but a start
before its least one (E1): no rule joins transfers without a common tile.
"""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.models.exchange.bounds import SIMPLE
from ipuopt.models.exchange.problem import BoolArray, IntArray, Problem, Solution
from ipuopt.models.exchange.timing import Timing, timing
from ipuopt.models.exchange.widths import qualifying
from ipuopt.target.fabric import PARTNER


def schedule_apart(problem: Problem, times: Timing | None = None) -> Solution:
    """Every transfer as early as its tiles are free, in listed order, widths as given.

    A transfer has its tiles, and the partner of the source if it is Paired64, from its first
    event on any of them to the last "done". ``times`` are those of the problem, if they are known.
    """
    times = times or timing(problem)
    start = _starts(
        problem.source,
        problem.destination_start,
        problem.destination_tile,
        problem.paired,
        PARTNER.astype(np.int64),
        (times.head, times.window, times.tail),
    )
    return Solution(start, problem.paired)


@kernel
def _starts(
    source: IntArray,
    bounds: IntArray,
    receiver: IntArray,
    paired: BoolArray,
    partner: IntArray,
    times: tuple[IntArray, IntArray, IntArray],
) -> IntArray:
    head, window, tail = times
    free = np.zeros(len(partner), np.int64)
    start = np.empty(len(source), np.int64)
    for j in range(len(source)):
        at = free[source[j]]
        if paired[j]:
            at = max(at, free[partner[source[j]]])
        first = 0
        for k in range(bounds[j], bounds[j + 1]):
            at = max(at, free[receiver[k]])
            first = min(first, window[k])
        start[j] = max(head[j], at - first)
        end = start[j] + tail[j]
        free[source[j]] = end
        if paired[j]:
            free[partner[source[j]]] = end
        for k in range(bounds[j], bounds[j + 1]):
            free[receiver[k]] = end
    return start


def quick_bound(
    problem: Problem, *, free: bool = False, times: Timing | None = None
) -> tuple[int, str]:
    """Head + words + tail over the send bus and the source windows of every tile, in events.

    Parameters
    ----------
    problem
        The phase.
    free
        Whether transfers that qualify may be Paired64; then each counts with the least of both.
    times
        Those of the problem, if they are known.

    Returns
    -------
    tuple
        The bound and its name; never above that of
        :func:`~ipuopt.models.exchange.bounds.lower_bound`.
    """
    if not len(problem):
        return 0, SIMPLE
    options = [times or timing(problem)]
    if free:
        wide = qualifying(problem)
        options = [timing(problem, np.zeros_like(wide)), timing(problem, wide)]
    counts = np.diff(problem.destination_start)
    jobs = [_jobs(times, np.repeat(times.head, counts)) for times in options]
    send, window = jobs[0]
    for other in jobs[1:]:
        send, window = _least(send, other[0]), _least(window, other[1])
    most = max(
        _most(problem.source, send, problem.tiles),
        _most(problem.destination_tile, window, problem.tiles),
    )
    return most, SIMPLE


_Jobs = tuple[IntArray, IntArray, IntArray]
"""Least begin, length and what is left until "done"."""


def _jobs(times: Timing, head: IntArray) -> tuple[_Jobs, _Jobs]:
    """Sends and source windows."""
    send = times.head, times.items, times.tail - times.items
    after = times.done - times.window - times.window_length
    return send, (head + times.window, times.window_length, after)


def _least(one: _Jobs, other: _Jobs) -> _Jobs:
    return np.minimum(one[0], other[0]), np.minimum(one[1], other[1]), np.minimum(one[2], other[2])


@kernel
def _most(tile: IntArray, jobs: _Jobs, tiles: int) -> int:
    """Largest least begin + sum of lengths + least rest of a tile."""
    far = np.iinfo(np.int64).max >> 1
    first = np.full(tiles, far)
    last = np.full(tiles, far)
    total = np.zeros(tiles, np.int64)
    for k in range(len(tile)):
        t = tile[k]
        first[t] = min(first[t], jobs[0][k])
        last[t] = min(last[t], jobs[2][k])
        total[t] += jobs[1][k]
    most = 0
    for t in range(tiles):
        if total[t]:
            most = max(most, first[t] + total[t] + last[t])
    return most
