"""A quick schedule for phases of millions of receivers: transfers packed into slots of equal length.

As in :mod:`~ipuopt.models.exchange.apart`, no two transfers that have a tile in common are under way
at the same time, but a transfer may go before those listed earlier. Each takes the first slots in
which all of its tiles are free, the longest first. Slots of a tile are bits, so that a look at 64
slots of a tile is one operation.
"""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.models.exchange.bits import FULL, BitRows, lowest_bit
from ipuopt.models.exchange.problem import IntArray, Problem, Solution
from ipuopt.models.exchange.timing import Timing
from ipuopt.target.fabric import PARTNER

SHARES = (0.5, 0.75, 0.9, 1.0)
"""Shares of the transfers that one slot may hold; the one that needs least time in all is taken."""

WORD = 64
"""Slots of a word of bits: a transfer does not cross from one to the next unless it fills one."""


def schedule_slots(problem: Problem, times: Timing) -> Solution:
    """Pack all transfers, with the given widths and their times.

    Spans of memory that overlap are not looked at (E5): the checker tells.
    """
    counts = np.diff(problem.destination_start)
    if not len(counts):
        return Solution(np.zeros(0, np.int64), problem.paired)
    first = np.minimum(np.minimum.reduceat(times.window, problem.destination_start[:-1]), 0)
    busy = times.tail - first
    length = min(
        (int(np.quantile(busy, share, method="higher")) for share in SHARES),
        key=lambda length: length * int((-(-busy // length) * (1 + counts)).sum()),
    )
    slots = -(-busy // length)
    load = np.bincount(problem.source, slots, problem.tiles)
    load += np.bincount(problem.destination_tile, np.repeat(slots, counts), problem.tiles)
    partner = np.where(problem.paired, PARTNER[problem.source], problem.source).astype(np.int64)
    words = 2 * int(load.max()) // WORD + 2
    while True:
        rows = np.zeros((len(PARTNER), words), np.uint64)
        found = np.empty(len(counts), np.int64)
        packed = _pack(
            (problem.source, partner, problem.destination_start, problem.destination_tile),
            np.argsort(-busy, kind="stable"),
            slots,
            rows,
            np.zeros(len(PARTNER), np.int64),
            found,
        )
        if packed:
            start = found * length - first
            return Solution(start + max(0, int((times.head - start).max())), problem.paired)
        words *= 2


@kernel
def _pack(
    tiles: tuple[IntArray, IntArray, IntArray, IntArray],
    order: IntArray,
    slots: IntArray,
    rows: BitRows,
    full: IntArray,
    found: IntArray,
) -> bool:
    """First slot of each transfer; ``full`` words at the begin of a tile's row have no room."""
    source, partner, bounds, receiver = tiles
    end = rows.shape[1]
    for transfer in order:
        begin, stop = bounds[transfer], bounds[transfer + 1]
        one, other, many = source[transfer], partner[transfer], slots[transfer]
        word = max(full[one], full[other])
        for k in range(begin, stop):
            word = max(word, full[receiver[k]])
        empty = 0  # words before this one that are free, for a transfer that fills words
        while True:
            if word == end:
                return False
            taken = rows[one, word] | rows[other, word]
            for k in range(begin, stop):
                taken |= rows[receiver[k], word]
            empty = 0 if taken else empty + 1
            if many > 64 * empty and many > 64:
                word += 1
                continue
            if many > 64:
                word -= empty - 1
                first = 0
                break
            free = ~taken
            for step in range(1, many):
                free &= (FULL >> np.uint64(step)) & ~(taken >> np.uint64(step))
            if free:
                first = lowest_bit(free)
                break
            word += 1
        found[transfer] = 64 * word + first
        left = many
        while left > 0:
            mask = FULL
            if left < 64:
                mask = ((np.uint64(1) << np.uint64(left)) - np.uint64(1)) << np.uint64(first)
            rows[one, word] |= mask
            rows[other, word] |= mask
            for k in range(begin, stop):
                rows[receiver[k], word] |= mask
            left -= 64
            word += 1
        while full[one] < end and not ~rows[one, full[one]]:
            full[one] += 1
        for k in range(begin, stop):
            tile = receiver[k]
            while full[tile] < end and not ~rows[tile, full[tile]]:
                full[tile] += 1
    return True
