"""Compiled local search over the order in which :func:`construct` places buffers."""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.models.placement.greedy import FAILED, construct, shares
from ipuopt.models.placement.problem import IntArray

_MULTIPLIER = 48271
_MODULUS = 2**31 - 1


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
