"""The peer compiler's placement (lowering.md 5.2, 5.3): one pass, no search, no second try."""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import kernel, small_kernel
from ipuopt.models.placement.problem import IntArray, Problem, Solution
from ipuopt.target.memory import INTERLEAVED_BASE, INTERLEAVED_ELEMENT, STANDARD_ELEMENT


@kernel
def _meets(live: IntArray, one: int, other: int) -> bool:
    return bool(live[one, 0] < live[other, 1] and live[other, 0] < live[one, 1])


@kernel
def _free_start(
    at: int,
    stop: int,
    bytes_needed: int,
    unit: int,
    buffer: int,
    live: IntArray,
    address: IntArray,
    taken: IntArray,
) -> tuple[int, int]:
    """Aligned start at or above ``at`` inside the free range that holds ``at``, and bytes left.

    The start is -1 if ``at`` is not free or the range is too short.
    """
    end = stop
    for other in range(len(taken)):
        if taken[other] and _meets(live, buffer, other):
            if address[other] <= at < address[other] + taken[other]:
                return -1, 0
            if address[other] >= at:
                end = min(end, address[other])
    start = -(-at // unit) * unit
    left = end - (start + bytes_needed)
    return (start, left) if left >= 0 else (-1, 0)


@small_kernel
def _place(
    order: IntArray,
    size: IntArray,
    alignment: IntArray,
    interleaved: IntArray,
    live: IntArray,
    distinct: IntArray,
    regions: IntArray,
    address: IntArray,
) -> tuple[int, int]:
    """Fill ``address``; returns the first buffer that fits nowhere (or -1) and the boundary."""
    count = len(size)
    taken = np.zeros(count, dtype=np.int64)
    boundary = regions[2]
    for kind in (1, 0):
        for buffer in order:
            if interleaved[buffer] != kind:
                continue
            best, best_left, best_bytes = -1, 0, 0
            for candidate in range(-2, count):
                if candidate == -2:
                    at = regions[2] if kind == 1 else boundary
                elif candidate == -1:
                    at = regions[0]
                elif taken[candidate] and interleaved[candidate] == kind:
                    at = address[candidate] + taken[candidate]
                else:
                    continue
                if kind == 1:
                    start, stop = regions[2], regions[3]
                elif at >= boundary:
                    start, stop = boundary, regions[3]
                else:
                    start, stop = regions[0], regions[1]
                if not start <= at < stop:
                    continue
                unit, bytes_needed = int(alignment[buffer]), int(size[buffer])
                if distinct[buffer]:
                    whole = INTERLEAVED_ELEMENT if at >= INTERLEAVED_BASE else STANDARD_ELEMENT
                    unit = max(unit, whole)
                    bytes_needed = -(-bytes_needed // whole) * whole
                place, left = _free_start(
                    at, stop, bytes_needed, unit, buffer, live, address, taken
                )
                if place < 0:
                    continue
                if kind == 1:
                    better = best < 0 or place < best
                else:
                    better = best < 0 or left < best_left or (left == best_left and place < best)
                if better:
                    best, best_left, best_bytes = place, left, bytes_needed
            if best < 0:
                return buffer, boundary
            address[buffer] = best
            taken[buffer] = best_bytes
            if kind == 1:
                granules = -(-(best + best_bytes - regions[2]) // regions[4])
                boundary = max(boundary, regions[2] + granules * regions[4])
    return -1, boundary


def heuristic(problem: Problem) -> Solution | None:
    """Placement as the peer compiler does it; None if a buffer finds no room.

    Interleaved buffers first, sorted by first and last step, each at the lowest free address; then
    the boundary; then standard ones in the same order, each in the free range that leaves the
    fewest bytes after it. A buffer of a ``distinct`` pair gets whole elements to itself; the peer
    counts 16 KiB for a standard buffer everywhere, here it is the pair above 0x80000, because two
    such buffers could otherwise share one (A4).
    """
    order = np.lexsort((problem.live_stop, problem.live_start))
    whole = np.zeros(len(problem), dtype=np.int64)
    whole[problem.distinct.ravel()] = 1
    regions = problem.regions
    address = np.zeros(len(problem), dtype=np.int64)
    failed, boundary = _place(
        order,
        problem.size_bytes,
        problem.alignment,
        problem.interleaved,
        np.stack((problem.live_start, problem.live_stop), axis=1),
        whole,
        np.array(
            (
                regions.low_start,
                regions.low_stop,
                regions.high_start,
                regions.high_stop,
                regions.granule,
            ),
            dtype=np.int64,
        ),
        address,
    )
    return None if failed >= 0 else Solution(address, int(boundary))
