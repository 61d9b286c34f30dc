"""Compiled construction: buffers in a given order, each at the cheapest canonical address."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ipuopt.compiled import kernel, small_kernel
from ipuopt.models.placement.problem import IntArray
from ipuopt.target.memory import INTERLEAVED_BASE, INTERLEAVED_ELEMENT, STANDARD_ELEMENT

HARD = -1
"""Words of a neighbour that may share no element at all (A4)."""

FAILED = -1
"""Conflict words returned when a buffer fits nowhere."""

BoolArray = npt.NDArray[np.bool_]

_FIRST_PAIR = INTERLEAVED_BASE // STANDARD_ELEMENT


@kernel
def element(address: int) -> int:
    """Memory element of a byte address; ascending with the address (ipu21.md 2)."""
    if address < INTERLEAVED_BASE:
        return address // STANDARD_ELEMENT
    return _FIRST_PAIR + (address - INTERLEAVED_BASE) // INTERLEAVED_ELEMENT


@kernel
def element_start(index: int) -> int:
    """First byte address of a memory element."""
    if index < _FIRST_PAIR:
        return index * STANDARD_ELEMENT
    return INTERLEAVED_BASE + (index - _FIRST_PAIR) * INTERLEAVED_ELEMENT


@kernel
def shares(address: IntArray, size: IntArray, one: int, other: int) -> bool:
    """Whether two placed buffers touch a common element."""
    if element(address[one] + size[one] - 1) < element(address[other]):
        return False
    return element(address[other] + size[other] - 1) >= element(address[one])


@kernel
def added_words(
    buffer: int,
    address: IntArray,
    size: IntArray,
    live: IntArray,
    near_start: IntArray,
    near: IntArray,
    near_words: IntArray,
    placed: BoolArray,
) -> int:
    """Conflict words that ``buffer`` at its address adds; FAILED if (A3) or (A4) forbids it."""
    begin = address[buffer]
    end = begin + size[buffer]
    for other in range(len(size)):
        if (
            placed[other]
            and begin < address[other] + size[other]
            and address[other] < end
            and live[buffer, 0] < live[other, 1]
            and live[other, 0] < live[buffer, 1]
        ):
            return FAILED  # (A3)
    words = 0
    for at in range(near_start[buffer], near_start[buffer + 1]):
        if placed[near[at]] and shares(address, size, buffer, near[at]):
            if near_words[at] == HARD:
                return FAILED  # (A4)
            words += near_words[at]
    return words


@small_kernel
def construct(
    order: IntArray,
    aware: bool,
    size: IntArray,
    alignment: IntArray,
    interleaved: IntArray,
    live: IntArray,
    near_start: IntArray,
    near: IntArray,
    near_words: IntArray,
    regions: IntArray,
    address: IntArray,
) -> tuple[int, int, int]:
    """Place the interleaved buffers, then the standard ones, in ``order``; fills ``address``.

    Each buffer goes to the address that adds the fewest conflict words (if ``aware``), then the
    fewest bytes of footprint, then is lowest. Candidates are the starts of the regions, the ends of
    placed buffers and the first element after a placed neighbour: the lowest address that
    satisfies any choice of (A3), (A4) and element avoidance is one of these.

    Parameters
    ----------
    live
        Steps ``[start, stop)``, shape ``(buffers, 2)``.
    near_start, near, near_words
        Neighbours of each buffer (compressed rows) and the words of the pair, or ``HARD``.
    regions
        ``low_start, low_stop, high_start, high_stop, granule``.

    Returns
    -------
    tuple
        Conflict words, footprint and boundary; words FAILED if a buffer fits nowhere.
    """
    count = len(size)
    placed = np.zeros(count, dtype=np.bool_)
    boundary = regions[2]
    top_interleaved, top_low, top_high = regions[2], regions[0], regions[2]
    words = 0
    for kind in (1, 0):
        if kind == 0:
            granules = -(-(top_interleaved - regions[2]) // regions[4])
            boundary = regions[2] + granules * regions[4]
            top_high = boundary
        for buffer in order:
            if interleaved[buffer] != kind:
                continue
            best_words, best_growth, best_address = FAILED, 0, -1
            neighbours = near_start[buffer + 1] - near_start[buffer]
            for candidate in range(-2, count + neighbours):
                if candidate == -2:
                    at = boundary
                elif candidate == -1:
                    if kind == 1:
                        continue
                    at = regions[0]
                elif candidate < count:
                    if not placed[candidate] or interleaved[candidate] != kind:
                        continue
                    at = address[candidate] + size[candidate]
                else:
                    other = near[near_start[buffer] + candidate - count]
                    if not placed[other]:
                        continue
                    at = element_start(element(address[other] + size[other] - 1) + 1)
                at = -(-at // alignment[buffer]) * alignment[buffer]  # (A2)
                end = at + size[buffer]
                if kind == 1:  # (A1)
                    if at < regions[2] or end > regions[3]:
                        continue
                    growth = end - top_interleaved
                elif at >= boundary:
                    if end > regions[3]:
                        continue
                    growth = end - top_high
                else:
                    if at < regions[0] or end > regions[1]:
                        continue
                    growth = end - top_low
                growth = max(int(growth), 0)
                worse = growth > best_growth or (growth == best_growth and at >= best_address)
                if best_address >= 0 and not aware and worse:
                    continue
                address[buffer] = at
                more = added_words(
                    buffer, address, size, live, near_start, near, near_words, placed
                )
                if more == FAILED:
                    continue
                better = best_address < 0 or not aware or bool(more < best_words)
                if not better and more == best_words:
                    better = not worse
                if better:
                    best_words, best_growth, best_address = more, growth, at
            if best_address < 0:
                return FAILED, 0, boundary
            address[buffer] = best_address
            placed[buffer] = True
            words += best_words
            end = best_address + size[buffer]
            if kind == 1:
                top_interleaved = max(top_interleaved, end)
            elif best_address >= boundary:
                top_high = max(top_high, end)
            else:
                top_low = max(top_low, end)
    footprint = (top_interleaved - regions[2]) + (top_low - regions[0]) + (top_high - boundary)
    return words, footprint, boundary
