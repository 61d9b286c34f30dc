"""Compiled construction in a given order, and local search over orders.

They share a file because the cache of compiled code looks at changes of one file only.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ipuopt.compiled import kernel
from ipuopt.models.placement.problem import IntArray
from ipuopt.target.memory import INTERLEAVED_BASE, INTERLEAVED_ELEMENT, STANDARD_ELEMENT

HARD = -1
"""Words of a neighbour that may share no element at all (A4)."""

FAILED = -1
"""Conflict words returned when a buffer fits nowhere."""

BoolArray = npt.NDArray[np.bool_]

_MULTIPLIER = 48271
_MODULUS = 2**31 - 1
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


@kernel
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


@kernel
def _culprits(
    size: IntArray,
    interleaved: IntArray,
    near_start: IntArray,
    near: IntArray,
    boundary: int,
    address: IntArray,
) -> IntArray:
    """Buffers that share an element with a neighbour, or else lie at the top of an extent."""
    count = len(size)
    chosen = np.zeros(count, dtype=np.int64)
    found = 0
    for buffer in range(count):
        for at in range(near_start[buffer], near_start[buffer + 1]):
            if shares(address, size, buffer, near[at]):
                chosen[found] = buffer
                found += 1
                break
    if found == 0:
        tops = np.full(3, -1, dtype=np.int64)
        for buffer in range(count):
            extent = 0 if interleaved[buffer] else (2 if address[buffer] >= boundary else 1)
            top = tops[extent]
            if top < 0 or address[buffer] + size[buffer] > address[top] + size[top]:
                tops[extent] = buffer
        for top in tops:
            if top >= 0:
                chosen[found] = top
                found += 1
    return chosen[:found]


@kernel
def climb(
    order: IntArray,
    trials: int,
    seed: int,
    goal: int,
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
    """Improve ``order`` by at most ``trials`` moves; leaves the best in ``order`` and ``address``.

    A move takes a buffer, half of the time one that is to blame for the cost, to another place of
    the order; it is kept unless the pair (conflict words, footprint) becomes worse. The search ends
    early without conflict words and at most ``goal`` bytes of footprint. Its random numbers are
    those of Lehmer's generator (Park and Miller 1988, multiplier 48271): repeatable for a seed.
    Arguments and result are those of :func:`construct`.
    """
    count = len(order)
    words, footprint, boundary = construct(
        order, True, size, alignment, interleaved, live, near_start, near, near_words, regions,
        address,
    )  # fmt: skip
    state = seed % (_MODULUS - 1) + 1
    trial = address.copy()
    for _ in range(trials):
        if count < 2 or (words == 0 and footprint <= goal):
            break
        state = state * _MULTIPLIER % _MODULUS
        source = state % count
        state = state * _MULTIPLIER % _MODULUS
        if state % 2 and words != FAILED:
            culprits = _culprits(size, interleaved, near_start, near, boundary, address)
            state = state * _MULTIPLIER % _MODULUS
            wanted = culprits[state % len(culprits)]
            for at in range(count):
                if order[at] == wanted:
                    source = at
        state = state * _MULTIPLIER % _MODULUS
        target = state % count
        if source == target:
            continue
        moved = order.copy()
        step = 1 if target > source else -1
        for at in range(source, target, step):
            moved[at] = moved[at + step]
        moved[target] = order[source]
        new_words, new_footprint, new_boundary = construct(
            moved, True, size, alignment, interleaved, live, near_start, near, near_words, regions,
            trial,
        )  # fmt: skip
        if new_words == FAILED:
            continue
        if words == FAILED or new_words < words or (
            new_words == words and new_footprint <= footprint
        ):  # fmt: skip
            words, footprint, boundary = new_words, new_footprint, new_boundary
            order[:] = moved
            address[:] = trial
    return words, footprint, boundary
