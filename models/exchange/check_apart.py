"""A sufficient test of a schedule in one pass over its transfers.

Those with a common tile are never under way at once, and follow each other in listed order, or the
tile has no two spans of memory that overlap but those that are only read. It judges from
``ipu21.md`` 3.1 and 3.2 alone, like :mod:`ipuopt.models.exchange.check`, whose part for widths it
calls, and shares no code with what makes schedules. The full checker sorts the intervals of all
receivers by time, which takes seconds where there are millions.

From the first event of a transfer on any of its tiles to its last "done", the partner of a
Paired64 source included, its tiles have nothing else to do. So no bus, window or element is in use
twice (E2, E3, E6), no control event meets a message (E4), every payload is complete before the next
transfer of its spans starts, and if spans overlap that is the next one listed (E5); and rows have
room to split: no two control events of different transfers are neighbours, and two of one transfer
that coincide come 51 events or more after the one before (E7).
"""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.models.exchange.check_times import times_of
from ipuopt.models.exchange.check_width import widths
from ipuopt.models.exchange.problem import BoolArray, IntArray, Problem, Solution
from ipuopt.target.fabric import PARTNER, ROW, time_to_mux

MOST_WORDS = 1 << 18
"""Words between the least and the last address of a phase that are looked at one by one: with all
tiles they take 400 MB. Tiles of the target have 159 744 (``ipu21.md`` 2)."""


def check_apart(problem: Problem, solution: Solution) -> tuple[bool, int]:
    """Whether a schedule passes, and its horizon in events if it does.

    A schedule that fails may still be valid; then only the full checker can tell.
    """
    start = np.asarray(solution.start)
    paired = np.asarray(solution.paired)
    count = len(problem)
    if start.shape != (count,) or start.dtype.kind not in "iu" or paired.shape != (count,):
        return False, 0
    if not count:
        return True, 0
    if paired.any() and widths(problem, paired, times_of(problem, start, paired)):  # (E8)
        return False, 0
    mixed = np.zeros(problem.tiles, np.bool_)
    horizon = _horizon(
        np.argsort(start, kind="stable"),
        (problem.source, problem.words, problem.destination_start, problem.destination_tile),
        start.astype(np.int64),
        paired.astype(np.bool_),
        time_to_mux(problem.tiles),
        (ROW.astype(np.int64), PARTNER.astype(np.int64)),
        mixed,
    )
    passed = horizon >= 0 and not (mixed.any() and _may_overlap(problem, mixed))
    return passed, max(horizon, 0)


def _may_overlap(problem: Problem, mixed: BoolArray) -> bool:
    """Whether a span written on one of some tiles may overlap another span there."""
    least = int(min(problem.source_address.min(), problem.destination_address.min()))
    most = int(max(problem.source_address.max(), problem.destination_address.max()))
    words = (most - least) // 4 + int(problem.words.max())
    if words > MOST_WORDS:
        return True
    return _overlap(
        (problem.source, problem.words, problem.destination_start, problem.destination_tile),
        (problem.source_address - least) >> 2,
        (problem.destination_address - least) >> 2,
        mixed,
        np.zeros((problem.tiles, words), np.bool_),
    )


@kernel
def _overlap(
    phase: tuple[IntArray, IntArray, IntArray, IntArray],
    read: IntArray,
    written: IntArray,
    mixed: BoolArray,
    taken: BoolArray,
) -> bool:
    """As :func:`_may_overlap`; ``taken`` are words of memory that some transfer writes."""
    source, words, bounds, receiver = phase
    for j in range(len(source)):
        for k in range(bounds[j], bounds[j + 1]):
            if mixed[receiver[k]]:
                for word in range(written[k], written[k] + words[j]):
                    if taken[receiver[k], word]:
                        return True
                    taken[receiver[k], word] = True
    for j in range(len(source)):
        if mixed[source[j]]:
            for iteration in range(read.shape[1]):
                for word in range(read[j, iteration], read[j, iteration] + words[j]):
                    if taken[source[j], word]:
                        return True
    return False


@kernel
def _horizon(
    order: IntArray,
    phase: tuple[IntArray, IntArray, IntArray, IntArray],
    start: IntArray,
    paired: BoolArray,
    mux: IntArray,
    chip: tuple[IntArray, IntArray],
    mixed: BoolArray,
) -> int:
    """Last "done"; -1 for a transfer that is too early, or under way with another of its tiles.

    ``order`` is that of time; tiles that see another than the listed one are noted in ``mixed``.
    """
    source, words, bounds, receiver = phase
    row, partner = chip
    over = np.zeros(len(row), np.int64)
    last = np.zeros(len(row), np.int64)
    horizon = 0
    for j in order:
        s = source[j]
        if j < last[s]:
            mixed[s] = True
        last[s] = max(last[s], j)
        for k in range(bounds[j], bounds[j + 1]):
            if j < last[receiver[k]]:
                mixed[receiver[k]] = True
            last[receiver[k]] = max(last[receiver[k]], j)
        least, latest = 0, np.iinfo(np.int64).max >> 1
        for k in range(bounds[j], bounds[j + 1]):
            t = receiver[k]
            least = max(least, -mux[s, t])
            if paired[j]:
                latest = min(latest, max(mux[s, t], mux[s, partner[t]]))
        if start[j] < least:  # (E1)
            return -1
        items = words[j] // 2 if paired[j] else words[j]
        begin = start[j]
        end = max(start[j] + items, start[j] + 6 - least)
        for k in range(bounds[j], bounds[j + 1]):
            t = receiver[k]
            if paired[j]:
                time = max(mux[s, t], mux[s, partner[t]])
                event = start[j] + time + max(0, 1 - latest) - least
                done = event + 51 + 2 * row[t] + items + 7
            else:
                event = start[j] + mux[s, t] + 1
                done = event + items + 57 + 2 * row[t]
            begin = min(begin, event)
            end = max(end, done)
        if over[s] > begin or (paired[j] and over[partner[s]] > begin):
            return -1
        over[s] = end
        if paired[j]:
            over[partner[s]] = end
        for k in range(bounds[j], bounds[j + 1]):
            if over[receiver[k]] > begin:
                return -1
            over[receiver[k]] = end
        horizon = max(horizon, end)
    return horizon
