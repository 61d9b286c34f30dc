"""Time lines as rows of bits: bit ``e`` of a row is set while event ``e`` is taken."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ipuopt.compiled import inner_kernel

BitRows = npt.NDArray[np.uint64]

FULL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inner_kernel
def highest_bit(word: np.uint64) -> int:
    """Number of the highest set bit of a word that is not 0."""
    place = 0
    for step in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(step):
            word >>= np.uint64(step)
            place += step
    return place


@inner_kernel
def lowest_bit(word: np.uint64) -> int:
    """Number of the lowest set bit of a word that is not 0."""
    return highest_bit(word & (~word + np.uint64(1)))


@inner_kernel
def _span_mask(first: int, stop: int) -> np.uint64:
    """Bits ``[first, stop)`` of one word, 0 <= first < stop <= 64."""
    return (FULL >> np.uint64(64 - (stop - first))) << np.uint64(first)


@inner_kernel
def bit(rows: BitRows, row: int, event: int) -> int:
    """1 if an event is taken, 0 if it is free or outside the row."""
    if event < 0 or event >= rows.shape[1] << 6:
        return 0
    return int((rows[row, event >> 6] >> np.uint64(event & 63)) & np.uint64(1))


@inner_kernel
def fill(rows: BitRows, row: int, first: int, stop: int) -> None:
    """Set events ``[first, stop)`` of a row."""
    while first < stop:
        word = first >> 6
        end = min(stop, (word + 1) << 6)
        rows[row, word] |= _span_mask(first - (word << 6), end - (word << 6))
        first = end


@inner_kernel
def flip(rows: BitRows, row: int, first: int, stop: int) -> None:
    """Free events ``[first, stop)`` of a row where all are taken."""
    while first < stop:
        word = first >> 6
        end = min(stop, (word + 1) << 6)
        rows[row, word] ^= _span_mask(first - (word << 6), end - (word << 6))
        first = end


@inner_kernel
def last_taken(rows: BitRows, row: int, first: int, stop: int) -> int:
    """Last taken event of ``[first, stop)``, -1 without one; events below 0 are free."""
    first = max(first, 0)
    while first < stop:
        word = (stop - 1) >> 6
        begin = max(first, word << 6)
        found = rows[row, word] & _span_mask(begin - (word << 6), stop - (word << 6))
        if found:
            return (word << 6) + highest_bit(found)
        stop = begin
    return -1


@inner_kernel
def _events(rows: BitRows, row: int, first: int) -> np.uint64:
    """Events ``[first, first + 64)`` as one word; those outside the row are free."""
    word = first >> 6
    shift = np.uint64(first & 63)
    low = rows[row, word] if 0 <= word < rows.shape[1] else np.uint64(0)
    if not shift:
        return low
    word += 1
    high = rows[row, word] if 0 <= word < rows.shape[1] else np.uint64(0)
    return (low >> shift) | (high << (np.uint64(64) - shift))


@inner_kernel
def taken_starts(rows: BitRows, row: int, first: int, length: int) -> np.uint64:
    """Bit ``i`` is set if an event of ``[first + i, first + i + length)`` is taken.

    ``length`` is 1..64. The reach of each taken event is doubled until it is ``length``.
    """
    low = _events(rows, row, first)
    high = _events(rows, row, first + 64) if length > 1 else np.uint64(0)
    if not (low | high):
        return low
    reach = 1
    while reach < length:
        step = np.uint64(min(reach, length - reach))
        low |= (low >> step) | (high << (np.uint64(64) - step))
        high |= high >> step
        reach += min(reach, length - reach)
    return low


@inner_kernel
def next_free(rows: BitRows, row: int, first: int) -> int:
    """First free event from ``first`` on; the end of the row if there is none."""
    word = first >> 6
    if word >= rows.shape[1]:
        return int(rows.shape[1] << 6)
    free = ~rows[row, word] & (FULL << np.uint64(first & 63))
    while not free:
        word += 1
        if word == rows.shape[1]:
            return word << 6
        free = ~rows[row, word]
    return (word << 6) + lowest_bit(free)


@inner_kernel
def next_taken(rows: BitRows, row: int, first: int, stop: int) -> int:
    """First taken event of ``[first, stop)``; ``stop`` without one."""
    while first < stop:
        word = first >> 6
        end = min(stop, (word + 1) << 6)
        found = rows[row, word] & _span_mask(first - (word << 6), end - (word << 6))
        if found:
            return (word << 6) + lowest_bit(found)
        first = end
    return stop
