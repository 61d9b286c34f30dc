"""Constructions in several orders, and hill climbing over the order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ipuopt.compiled import inner_kernel, small_kernel
from ipuopt.models.placement.problem import IntArray
from ipuopt.models.placement.space.shape import Tables
from ipuopt.models.placement.space.state import FAR, Shape, aligned, pushed, row_of

CHUNK, CHUNK_EDGES = 64, 4_000_000
"""Moves of hill climbing between two looks at the clock, and most edges of all these moves."""


@dataclass(frozen=True, slots=True)
class Packing:
    """Addresses of all blocks in units, and the height."""

    start: IntArray
    height: int


Room = tuple[IntArray, IntArray]
"""Scratch of a construction: as many entries as a block may have neighbours, and one."""


def _room(shape: Shape) -> Room:
    entries = len(shape.edge) + 1
    return np.empty(entries, np.int64), np.empty(entries, np.int64)


@inner_kernel
def _ranges(p: Shape, block: int, start: IntArray, begin: IntArray, end: IntArray) -> int:
    """Sorted ranges of addresses, both ends excluded, that placed neighbours leave no room in."""
    count = 0
    for edge in range(p.edge_start[block], p.edge_start[block + 1]):
        other = p.edge[edge]
        if start[other] < 0:
            continue
        grain, at = p.grain[edge], start[other]
        end[count] = pushed(p.elements, at, p.under[edge], grain)
        if grain > 1:
            row = row_of(p.elements, at)
            at -= (at - p.elements[row, 0]) % p.elements[row, 1]
        begin[count] = at - p.over[edge]
        count += 1
    gap = 1
    while gap < count // 2:
        gap = 3 * gap + 1
    while gap > 0:  # Shell's sort: no memory, and quick where few are out of place
        for k in range(gap, count):
            lower, upper, at = begin[k], end[k], k
            while at >= gap and begin[at - gap] > lower:
                begin[at], end[at] = begin[at - gap], end[at - gap]
                at -= gap
            begin[at], end[at] = lower, upper
        gap //= 3
    return count


@inner_kernel
def _fit(
    p: Shape, block: int, low: int, best: bool, count: int, begin: IntArray, end: IntArray
) -> int:
    """Lowest address that is free, or the one in the tightest gap; FAR if there is none."""
    unit = p.alignment[block]
    at, found, tightest = aligned(low, unit), FAR, FAR
    for k in range(count):
        if at <= begin[k] and at <= p.last[block]:
            if not best:
                return at
            if begin[k] - at < tightest:
                found, tightest = at, begin[k] - at
        if end[k] > at:
            at = aligned(end[k], unit)
    if found == FAR and at <= p.last[block]:
        return at
    return found


@inner_kernel
def _construct(
    p: Shape,
    order: IntArray,
    low: IntArray,
    hole: IntArray,
    size: IntArray,
    best: bool,
    room: Room,
    start: IntArray,
) -> int:
    """Place the blocks in ``order``; fills ``start``, returns the height, or FAR if one fails."""
    begin, end = room
    for block in range(len(low)):
        start[block] = low[block] if hole[block] else -1
    height = 0
    for block in order:
        if hole[block]:
            continue
        count = _ranges(p, block, start, begin, end)
        start[block] = _fit(p, block, low[block], best, count, begin, end)
        if start[block] == FAR:
            return FAR
        height = max(height, start[block] + size[block])
    return height


@small_kernel
def construct(
    p: Shape,
    order: IntArray,
    low: IntArray,
    hole: IntArray,
    size: IntArray,
    best: bool,
    room: Room,
    start: IntArray,
) -> int:
    """As :func:`_construct`, for calls from Python."""
    return _construct(p, order, low, hole, size, best, room, start)


@inner_kernel
def _copy(source: IntArray, target: IntArray) -> None:
    """One by one: the code of an assignment between slices takes seconds to compile."""
    for at in range(len(source)):
        target[at] = source[at]


@small_kernel
def _climb(
    p: Shape,
    low: IntArray,
    hole: IntArray,
    size: IntArray,
    goal: int,
    trials: int,
    random: IntArray,
    room: Room,
    moved: IntArray,
    trial_start: IntArray,
    order: IntArray,
    start: IntArray,
) -> int:
    """Move blocks within ``order`` as long as the height does not grow; see :func:`climb`.

    ``random`` holds the state of the draws and three draws; ``moved`` and ``trial_start`` are
    scratch.
    """
    count = len(order)
    best = trials < 0  # a literal has a type of its own, for which all would be compiled again
    height = _construct(p, order, low, hole, size, best, room, start)
    for _ in range(trials):
        if height <= goal:
            break
        for k in range(1, 4):
            random[0] = (random[0] * 6364136223846793005 + 1442695040888963407) & (FAR * 4 - 1)
            random[k] = random[0] >> 24
        source, target = random[1] % count, random[2] % count
        if random[3] & 1:  # a block that reaches the top, or fits nowhere
            for at in range(count):
                block = order[(at + source) % count]
                if start[block] < 0 or start[block] + size[block] >= height:
                    source = (at + source) % count
                    break
            target = random[2] % (source + 1)
        _copy(order, moved)
        block = order[source]
        while source > target:
            moved[source] = moved[source - 1]
            source -= 1
        while source < target:
            moved[source] = moved[source + 1]
            source += 1
        moved[target] = block
        trial = _construct(p, moved, low, hole, size, best, room, trial_start)
        if trial <= height:
            height = trial
            _copy(moved, order)
            _copy(trial_start, start)
    return height


def orders(tables: Tables) -> dict[str, IntArray]:
    """Orders of construction by name; blocks with one address first."""
    instance = tables.instance
    spans = instance.problem.span
    first = np.full(len(instance) + 1, FAR)
    np.minimum.at(first, instance.block[instance.problem.span_owner], spans[:, 0])
    first = first[: len(instance)]
    fixed = (instance.low < instance.last).astype(np.int64)
    size, width = -instance.size, -tables.width
    return {
        "first fit by lifetime": np.lexsort((size, width, first, fixed)),
        "greedy by size": np.lexsort((first, width, size, fixed)),
        "by life and size": np.lexsort((first, size, width, fixed)),
        "by area": np.lexsort((first, width, -size * width, fixed)),
    }


def packing(tables: Tables, order: IntArray, best: bool) -> Packing | None:
    """One construction; None if a block fits nowhere."""
    instance = tables.instance
    start = np.zeros(len(instance), dtype=np.int64)
    columns = instance.low, instance.hole, instance.size
    height = construct(tables.shape, order, *columns, best, _room(tables.shape), start)
    return None if height == FAR else Packing(start, instance.height(start))


def quick(tables: Tables, goal: int, expired: Callable[[], bool]) -> Packing | None:
    """Best of first fit and best fit in all orders; stops at ``goal`` units."""
    found: Packing | None = None
    for best in (False, True):
        for order in orders(tables).values():
            more = packing(tables, order, best)
            if more is not None and (found is None or more.height < found.height):
                found = more
            if (found is not None and found.height <= goal) or expired():
                return found
    return found


def climb(
    tables: Tables,
    found: Packing | None,
    goal: int,
    trials: int,
    seed: int,
    expired: Callable[[], bool],
) -> Packing | None:
    """Hill climbing over the order of first fit; never worse than ``found``.

    A move takes a block, half of the time one that reaches the top, to another place of the order,
    and stays if the height does not grow. Ends after ``trials`` moves, at ``goal`` units, or when
    ``expired``.
    """
    instance = tables.instance
    if not len(instance) or (found is not None and found.height <= goal):
        return found
    order = orders(tables)["greedy by size"]
    if found is not None:
        order = np.argsort(found.start, kind="stable")
    start = np.zeros(len(instance), dtype=np.int64)
    random = np.array([seed * 2 + 1, 0, 0, 0], dtype=np.int64)
    room, moved, trial_start = _room(tables.shape), np.empty_like(order), np.empty_like(start)
    chunk = max(1, min(CHUNK, CHUNK_EDGES // (1 + len(tables.shape.edge))))
    for done in range(0, trials, chunk):
        moves = min(chunk, trials - done)
        height = _climb(
            tables.shape,
            instance.low,
            instance.hole,
            instance.size,
            goal,
            moves,
            random,
            room,
            moved,
            trial_start,
            order,
            start,
        )
        if height < FAR:
            best = Packing(start.copy(), instance.height(start))
            if found is None or best.height < found.height:
                found = best
        if (found is not None and found.height <= goal) or expired():
            break
    return found
