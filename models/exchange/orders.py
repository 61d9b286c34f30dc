"""Orders in which transfers are inserted; every order keeps predecessors first (E5)."""

from __future__ import annotations

import heapq

import numpy as np

from ipuopt.compiled import small_kernel
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.problem import MAX_WORDS, IntArray

EVENT = 16
"""One event in the unit of the weights of :func:`dispatch`."""

LOOKS = 8_000_000
"""Looks at receivers for each place of a source's queue in :func:`dispatch`; a few seconds in all.

A waiting transfer is looked at again each time that one of its buses was taken meanwhile: the more
of them wait, the more often. Some waiting transfers are as good as all for insertion, but not for
appending, which cannot mend its order: it may look at :data:`APPENDING_LOOKS`.
"""

APPENDING_LOOKS = 30_000_000
"""As :data:`LOOKS`, for appending."""


def listed(phase: Instance) -> IntArray:
    """As listed: neighbours in the list often lie side by side in memory as well."""
    return topological(phase, np.arange(len(phase.words)))


def longest(phase: Instance) -> IntArray:
    """Longest transfer first, ties as listed."""
    return topological(phase, -phase.words)


def by_end(phase: Instance, opposite_start: IntArray) -> IntArray:
    """Last send to end first, from the starts of a schedule of the mirrored phase."""
    return topological(phase, -(opposite_start + phase.words))


def dispatch(phase: Instance, load: int, words: int, *, appending: bool = False) -> IntArray:
    """Order of a list schedule: the transfer that could start first, a loaded one rather earlier.

    Parameters
    ----------
    phase
        Either direction of time.
    load, words
        Sixteenths of an event by which a word still to pass the busiest endpoint, and a word of
        the transfer itself, bring a transfer forward. Large weights prefer the critical tiles even
        where others could start before; zero leaves them to break ties.
    appending
        Whether a transfer waits as in the public compiler, P - P0 not before the previous ends on
        its buses (``ipu21.md`` 3.4), rather than for the windows alone.

    Notes
    -----
    In the largest phases only some transfers of a source wait at a time, the longest first.
    """
    return dispatch_until(phase, load, words, appending=appending)[0]


def dispatch_until(
    phase: Instance, load: int, words: int, *, appending: bool
) -> tuple[IntArray, int]:
    """As :func:`dispatch`, and the horizon of that list schedule if memory rules did not exist."""
    looks = APPENDING_LOOKS if appending else LOOKS
    waiting = max(1, looks // max(1, len(phase.receiver)))
    first = np.argsort(phase.source * (MAX_WORDS + 1) - phase.words, kind="stable")
    order, end = _dispatch(phase, load, words, appending, first, waiting)
    if not len(phase.before):
        return order, end
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return topological(phase, rank), end


def topological(phase: Instance, key: IntArray) -> IntArray:
    """Ascending by ``key``, ties as listed, but never before a predecessor."""
    order = np.argsort(key, kind="stable")
    if not len(phase.before):
        return order
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    after = np.repeat(np.arange(len(order)), np.diff(phase.before_bounds))
    pairs = np.argsort(phase.before, kind="stable")
    bounds = np.searchsorted(phase.before[pairs], np.arange(len(order) + 1))
    return order[_least_ready(rank, np.diff(phase.before_bounds), bounds, after[pairs])]


@small_kernel
def _least_ready(rank: IntArray, missing: IntArray, bounds: IntArray, after: IntArray) -> IntArray:
    """Ranks in the order in which they leave: least rank first among those with nothing missing."""
    missing = missing.copy()
    result = np.empty(len(rank), np.int64)
    node = np.empty(len(rank), np.int64)
    node[rank] = np.arange(len(rank))
    ready = [rank[j] for j in range(len(rank)) if missing[j] == 0]
    heapq.heapify(ready)
    for place in range(len(rank)):
        result[place] = heapq.heappop(ready)
        before = node[result[place]]
        for pair in range(bounds[before], bounds[before + 1]):
            missing[after[pair]] -= 1
            if missing[after[pair]] == 0:
                heapq.heappush(ready, rank[after[pair]])
    return result


@small_kernel
def _dispatch(
    p: Instance, load_weight: int, words_weight: int, appending: bool, queue: IntArray, width: int
) -> tuple[IntArray, int]:
    """Heap of keys that only grow: one that has grown meanwhile goes back.

    ``queue`` holds the transfers of each source together; ``width`` of a source wait at a time.
    """
    count = len(p.words)
    send_end = np.zeros(p.tiles, np.int64)
    receive_end = np.zeros(p.tiles, np.int64)
    to_send = np.zeros(p.tiles, np.int64)
    to_receive = np.zeros(p.tiles, np.int64)
    queued = np.zeros(p.tiles + 1, np.int64)
    for transfer in range(count):
        queued[p.source[transfer] + 1] += 1
        to_send[p.source[transfer]] += p.words[transfer]
        for receive in range(p.bounds[transfer], p.bounds[transfer + 1]):
            to_receive[p.receiver[receive]] += p.words[transfer]
    queued = np.cumsum(queued)
    following = np.minimum(queued[:-1] + width, queued[1:])
    least = np.iinfo(np.int64).min
    waiting = [(least, least, queue[0])]
    waiting.clear()
    for tile in range(p.tiles):
        for place in range(queued[tile], following[tile]):
            waiting.append((least, least, queue[place]))
    heapq.heapify(waiting)
    result = np.empty(count, np.int64)
    placed, end = 0, 0
    while waiting:
        key, rank, transfer = heapq.heappop(waiting)
        source, words = p.source[transfer], p.words[transfer]
        receives = range(p.bounds[transfer], p.bounds[transfer + 1])
        load = to_send[source]
        start = send_end[source] if appending else max(p.head[transfer], send_end[source])
        for receive in receives:
            tile = p.receiver[receive]
            load = max(load, to_receive[tile])
            start = max(start, receive_end[tile] - (0 if appending else p.window[receive]))
        now = EVENT * start - load_weight * load - words_weight * words
        if now > key or (now == key and -load > rank):
            heapq.heappush(waiting, (now, -load, transfer))
            continue
        result[placed] = transfer
        placed += 1
        if following[source] < queued[source + 1]:
            heapq.heappush(waiting, (least, least, queue[following[source]]))
            following[source] += 1
        if appending:  # until here, it was P - P0
            start += p.head[transfer]
        end = max(end, start + p.tail[transfer])
        send_end[source] = start + words
        to_send[source] -= words
        for receive in receives:
            tile = p.receiver[receive]
            if appending:
                receive_end[tile] = start + p.write[receive] + p.write_length[receive]
            else:
                receive_end[tile] = start + p.window[receive] + p.window_length[receive]
            to_receive[tile] -= words
    return result, end
