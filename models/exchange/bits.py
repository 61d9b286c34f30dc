"""Time lines as rows of bits: bit ``e`` of a row is set while event ``e`` is taken."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ipuopt.compiled import kernel

BitRow = npt.NDArray[np.uint64]
BitRows = npt.NDArray[np.uint64]

FULL = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel
def highest_bit(word: np.uint64) -> int:
    """Number of the highest set bit of a word that is not 0."""
    place = 0
    for step in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(step):
            word >>= np.uint64(step)
            place += step
    return place


@kernel
def lowest_bit(word: np.uint64) -> int:
    """Number of the lowest set bit of a word that is not 0."""
    return highest_bit(word & (~word + np.uint64(1)))


@kernel
def _span_mask(first: int, stop: int) -> np.uint64:
    """Bits ``[first, stop)`` of one word, 0 <= first < stop <= 64."""
    return (FULL >> np.uint64(64 - (stop - first))) << np.uint64(first)


@kernel
def fill(row: BitRow, first: int, stop: int) -> None:
    """Set events ``[first, stop)``."""
    while first < stop:
        word = first >> 6
        end = min(stop, (word + 1) << 6)
        row[word] |= _span_mask(first - (word << 6), end - (word << 6))
        first = end


@kernel
def clear(row: BitRow, first: int, stop: int) -> None:
    """Free events ``[first, stop)``."""
    while first < stop:
        word = first >> 6
        end = min(stop, (word + 1) << 6)
        row[word] &= ~_span_mask(first - (word << 6), end - (word << 6))
        first = end


@kernel
def last_taken(row: BitRow, first: int, stop: int) -> int:
    """Last taken event of ``[first, stop)``, -1 without one; events below 0 are free."""
    first = max(first, 0)
    while first < stop:
        word = (stop - 1) >> 6
        begin = max(first, word << 6)
        found = row[word] & _span_mask(begin - (word << 6), stop - (word << 6))
        if found:
            return (word << 6) + highest_bit(found)
        stop = begin
    return -1


@kernel
def next_free(row: BitRow, first: int) -> int:
    """First free event from ``first`` on; the end of the row if there is none."""
    word = first >> 6
    if word >= len(row):
        return len(row) << 6
    free = ~row[word] & (FULL << np.uint64(first & 63))
    while not free:
        word += 1
        if word == len(row):
            return word << 6
        free = ~row[word]
    return (word << 6) + lowest_bit(free)


@kernel
def next_taken(row: BitRow, first: int, stop: int) -> int:
    """First taken event of ``[first, stop)``; ``stop`` without one."""
    while first < stop:
        word = first >> 6
        end = min(stop, (word + 1) << 6)
        found = row[word] & _span_mask(first - (word << 6), end - (word << 6))
        if found:
            return (word << 6) + lowest_bit(found)
        first = end
    return stop
