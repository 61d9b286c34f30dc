"""Orders in which transfers are inserted; every order keeps predecessors first (E5)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ipuopt.compiled import small_kernel
from ipuopt.models.exchange.claims import FILL_ROW, Row
from ipuopt.models.exchange.heap import pop, push
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.problem import MAX_WORDS, IntArray

Stop = Callable[[], bool]

Keys = npt.NDArray[np.int64 | np.float64]
"""What transfers are sorted by, shape ``(transfers,)``."""

EVENT = 16
"""One event in the unit of the weights of :func:`dispatch`."""

LOOKS = 8_000_000
"""Looks at receivers for each place of a source's queue in :func:`dispatch`; a few seconds in all.

A waiting transfer is looked at again each time that one of its buses was taken meanwhile: the more
of them wait, the more often. Some waiting transfers are as good as all for insertion, but not for
appending, which cannot mend its order: it may look at :data:`APPENDING_LOOKS`.
"""

SLICE = 2_000_000
"""Looks at receivers between two looks at the clock: some hundredths of a second."""

FIRST = -(1 << 62)
"""Key of a transfer that nobody has looked at: it comes first."""

APPENDING_LOOKS = 30_000_000
"""As :data:`LOOKS`, for appending."""


def never() -> bool:
    """Do not stop."""
    return False


def listed(phase: Instance) -> IntArray:
    """As listed: neighbours in the list often lie side by side in memory as well."""
    return topological(phase, np.arange(len(phase.words)))


def longest(phase: Instance) -> IntArray:
    """Longest transfer first, ties as listed."""
    return topological(phase, -phase.words)


def by_end(phase: Instance, opposite_start: IntArray) -> IntArray:
    """Last send to end first, from the starts of a schedule of the mirrored phase."""
    return topological(phase, -(opposite_start + phase.words))


def crowded(phase: Instance) -> IntArray:
    """How much shared memory elements bind each transfer (E6): 2, 1 or 0.

    1 if it is written where the receiver also sends from, 2 if besides its own sender receives
    where it is read. Inserted first and together, such transfers stand less in each other's way.
    """
    first_hot = Row.HOT * phase.tiles
    middle = first_hot + (phase.rows - first_hot) // 2
    owner = np.repeat(np.arange(len(phase.words)), np.diff(phase.claim_start))
    filled = phase.claims[:, FILL_ROW]
    result = np.zeros(len(phase.words), np.int64)
    result[owner[filled >= middle]] = 1
    sends = np.zeros(len(phase.words), np.bool_)
    sends[owner[(filled >= first_hot) & (filled < middle)]] = True
    result[sends & (result > 0)] = 2
    return result


def crowded_first(phase: Instance, load: int, words: int) -> IntArray:
    """Those bound by shared elements first (:func:`crowded`), ties as :func:`dispatch` has them."""
    rank = ranks(dispatch(phase, load, words))
    return topological(phase, rank - len(rank) * crowded(phase))


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
    found = dispatch_until(phase, load, words, appending=appending)
    assert found is not None
    return found[0]


def dispatch_until(
    phase: Instance, load: int, words: int, *, appending: bool, stop: Stop = never
) -> tuple[IntArray, int] | None:
    """As :func:`dispatch`, and the horizon of that list schedule if memory rules did not exist.

    None once ``stop`` says so.
    """
    looks = APPENDING_LOOKS if appending else LOOKS
    waiting = max(1, looks // max(1, len(phase.receiver)))
    first = np.argsort(phase.source * (MAX_WORDS + 1) - phase.words, kind="stable")
    found = _dispatched(phase, (load, words), appending, first, waiting, stop)
    if found is None:
        return None
    order, end = found
    if not len(phase.before):
        return order, end
    return topological(phase, ranks(order)), end


def ranks(order: IntArray) -> IntArray:
    """Place of each transfer in an order."""
    result = np.empty_like(order)
    result[order] = np.arange(len(order))
    return result


def topological(phase: Instance, key: Keys) -> IntArray:
    """Ascending by ``key``, ties as listed, but never before a predecessor."""
    order = np.argsort(key, kind="stable")
    if not len(phase.before):
        return order
    rank = ranks(order)
    after = np.repeat(np.arange(len(order)), np.diff(phase.before_bounds))
    pairs = np.argsort(phase.before, kind="stable")
    bounds = np.searchsorted(phase.before[pairs], np.arange(len(order) + 1))
    missing, heap = np.diff(phase.before_bounds), np.empty_like(order)
    result = np.empty_like(order)
    _least_ready(rank, missing, bounds, after[pairs], heap, result)
    return result


@small_kernel
def _least_ready(
    rank: IntArray,
    missing: IntArray,
    bounds: IntArray,
    after: IntArray,
    heap: IntArray,
    result: IntArray,
) -> None:
    """Transfers as they leave: least rank first among those with nothing missing."""
    size = 0
    for j in range(len(rank)):
        if missing[j] == 0:
            size = push(heap, size, j, rank, rank)
    for place in range(len(rank)):
        before = pop(heap, size, rank, rank)
        size -= 1
        result[place] = before
        for pair in range(bounds[before], bounds[before + 1]):
            missing[after[pair]] -= 1
            if missing[after[pair]] == 0:
                size = push(heap, size, after[pair], rank, rank)


def _dispatched(
    p: Instance,
    weights: tuple[int, int],
    appending: bool,
    queue: IntArray,
    width: int,
    stop: Stop,
) -> tuple[IntArray, int] | None:
    """Order and end of the list schedule.

    ``queue`` holds the transfers of each source together; ``width`` of a source wait at a time.
    """
    count = len(p.words)
    each = np.repeat(p.words, np.diff(p.bounds))
    loads = np.zeros((2, p.tiles), np.int64)
    np.add.at(loads[0], p.source, p.words)
    np.add.at(loads[1], p.receiver, each)
    stops = np.cumsum(np.bincount(p.source, minlength=p.tiles))
    following = np.concatenate((np.zeros(1, np.int64), stops[:-1]))
    if appending:  # until it is placed, the start of a transfer is P - P0
        least, lead, offset = np.zeros_like(p.head), p.head, np.zeros_like(each)
        after = p.write + p.write_length
    else:
        least, lead, offset = p.head, np.zeros_like(p.head), p.window
        after = p.window + p.window_length
    scratch = np.full((3, count), FIRST)
    first = queue[np.arange(count) < following[p.source[queue]] + width]
    scratch[0, : len(first)] = np.sort(first)  # a heap: all keys are equal
    following = np.minimum(following + width, stops)
    ends = np.zeros_like(loads)
    result = np.empty(count, np.int64)
    state = np.array((len(first), 0, 0))
    while state[0]:
        if stop():
            return None
        _dispatch(
            (p.source, p.words, p.bounds, p.receiver),
            (least, lead, p.tail, offset, after),
            weights,
            (queue, following, stops),
            (loads, ends, scratch),
            state,
            result,
        )
    return result, int(state[2])


@small_kernel
def _dispatch(
    phase: tuple[IntArray, IntArray, IntArray, IntArray],
    times: tuple[IntArray, IntArray, IntArray, IntArray, IntArray],
    weights: tuple[int, int],
    queues: tuple[IntArray, IntArray, IntArray],
    tables: tuple[IntArray, IntArray, IntArray],
    state: IntArray,
    result: IntArray,
) -> None:
    """Heap of keys that only grow: one that has grown meanwhile goes back.

    ``state`` is the size of the heap, the transfers placed and the horizon; the call ends after
    :data:`SLICE` looks at receivers.
    """
    source, words, bounds, receiver = phase
    least, lead, tail, offset, after = times
    queue, following, stops = queues
    loads, ends, scratch = tables
    heap, keys, ranks = scratch
    size, placed, end = state
    looks = SLICE
    while size and looks > 0:
        transfer = pop(heap, size, keys, ranks)
        size -= 1
        looks -= 1 + bounds[transfer + 1] - bounds[transfer]
        tile = source[transfer]
        load = loads[0, tile]
        start = max(least[transfer], ends[0, tile])
        for receive in range(bounds[transfer], bounds[transfer + 1]):
            load = max(load, loads[1, receiver[receive]])
            start = max(start, ends[1, receiver[receive]] - offset[receive])
        now = EVENT * start - weights[0] * load - weights[1] * words[transfer]
        if now > keys[transfer] or (now == keys[transfer] and -load > ranks[transfer]):
            keys[transfer], ranks[transfer] = now, -load
            size = push(heap, size, transfer, keys, ranks)
            continue
        result[placed] = transfer
        placed += 1
        if following[tile] < stops[tile]:
            size = push(heap, size, queue[following[tile]], keys, ranks)
            following[tile] += 1
        start += lead[transfer]
        end = max(end, start + tail[transfer])
        ends[0, tile] = start + words[transfer]
        loads[0, tile] -= words[transfer]
        for receive in range(bounds[transfer], bounds[transfer + 1]):
            ends[1, receiver[receive]] = start + after[receive]
            loads[1, receiver[receive]] -= words[transfer]
    state[0], state[1], state[2] = size, placed, end
