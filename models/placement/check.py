"""Checks a placement against the formulation; shares no code with what makes one."""

from __future__ import annotations

import numpy as np

from ipuopt.models.placement.problem import BoolArray, IntArray, Problem, Solution
from ipuopt.program import Program
from ipuopt.target.memory import DATA_HIGH, DATA_LOW, INTERLEAVED_ELEMENT, element_range

Violations = tuple[tuple[str, str], ...]


def sharing(address: IntArray, size_bytes: IntArray, pairs: IntArray) -> BoolArray:
    """Which pairs of buffers touch a common memory element, shape ``(pairs,)``."""
    one, other = pairs[:, 0], pairs[:, 1]
    first, last = element_range(address, size_bytes)
    result: BoolArray = (first[one] <= last[other]) & (first[other] <= last[one])
    return result


def conflict_words(problem: Problem, solution: Solution) -> int:
    """Objective (O1): words of conflict pairs that touch a common element."""
    both = _sharing(problem, solution, problem.conflict)
    apart = problem.conflict[:, 0] != problem.conflict[:, 1]
    return int(problem.conflict_words[both & apart].sum())


def _reserving(problem: Problem) -> BoolArray:
    """Which buffers are not empty, shape ``(buffers,)``."""
    result: BoolArray = (problem.size_bytes > 0) & (problem.live_start < problem.live_stop)
    return result


def _sharing(problem: Problem, solution: Solution, pairs: IntArray) -> BoolArray:
    """Which pairs of buffers reserve bytes of a common element, shape ``(pairs,)``."""
    bytes_ = problem.size_bytes + problem.guard_bytes
    real = _reserving(problem)
    both = real[pairs[:, 0]] & real[pairs[:, 1]]
    return both & sharing(solution.address, np.maximum(1, bytes_), pairs)


def footprint(problem: Problem, solution: Solution) -> int:
    """Objective (O2) in bytes: the three extents."""
    regions = problem.regions
    end = solution.address + problem.size_bytes + problem.guard_bytes
    real = _reserving(problem)
    interleaved = real & (problem.interleaved == 1)
    above = real & ~interleaved & (solution.address >= solution.boundary)
    below = real & ~interleaved & ~above
    return int(
        end[interleaved].max(initial=regions.high_start)
        - regions.high_start
        + end[below].max(initial=regions.low_start)
        - regions.low_start
        + end[above].max(initial=solution.boundary)
        - solution.boundary
    )


def _ranges(problem: Problem, solution: Solution) -> list[tuple[str, str]]:
    """(A1) and (A2)."""
    regions, boundary = problem.regions, solution.boundary
    start = solution.address
    stop = start + problem.size_bytes + problem.guard_bytes
    found = []
    if boundary < regions.high_start or (boundary - regions.high_start) % regions.granule:
        found.append(("A1", f"boundary {boundary:#x} is not high_start plus whole granules"))
    below = (regions.low_start <= start) & (stop <= regions.low_stop)
    above = (boundary <= start) & (stop <= regions.high_stop)
    between = (regions.high_start <= start) & (stop <= min(boundary, regions.high_stop))
    standard = np.where(problem.executable == 1, below, below | above)
    allowed = np.where(problem.interleaved == 1, between, standard)
    for buffer in np.flatnonzero(~allowed & _reserving(problem)):
        kind = "interleaved" if problem.interleaved[buffer] else "standard"
        kind = "executable" if problem.executable[buffer] else kind
        where = f"[{start[buffer]:#x}, {stop[buffer]:#x}), boundary {boundary:#x}"
        found.append(("A1", f"{kind} buffer {buffer} leaves its region: {where}"))
    for buffer in np.flatnonzero(start % problem.alignment):
        where = f"{start[buffer]:#x} is not a multiple of {problem.alignment[buffer]}"
        found.append(("A2", f"buffer {buffer} at {where}"))
    return found


def _overlaps(problem: Problem, solution: Solution) -> list[tuple[str, str]]:
    """(A3)."""
    start, stop = problem.live_start, problem.live_stop
    address = solution.address
    end = address + problem.size_bytes + problem.guard_bytes
    real = _reserving(problem)
    together = np.maximum.outer(start, start) < np.minimum.outer(stop, stop)
    together &= np.logical_and.outer(real, real)
    together &= np.not_equal.outer(problem.alias, problem.alias) | (problem.alias < 0)
    overlap = np.maximum.outer(address, address) < np.minimum.outer(end, end)
    return [
        ("A3", f"buffers {one} and {other} live together and overlap")
        for one, other in np.argwhere(np.triu(together & overlap, k=1))
    ]


def check(problem: Problem, solution: Solution) -> Violations:
    """Every violation of (A1) to (A7) as ``(label, message)``; empty for a valid placement."""
    if solution.address.shape != (len(problem),):
        return (("A1", f"{solution.address.shape} addresses for {len(problem)} buffers"),)
    found = _ranges(problem, solution) + _overlaps(problem, solution)
    both = _sharing(problem, solution, problem.distinct)
    for one, other in problem.distinct[both]:
        found.append(("A4", f"distinct buffers {one} and {other} share a memory element"))
    return (*found, *_windows(problem, solution))


def _windows(problem: Problem, solution: Solution) -> list[tuple[str, str]]:
    """(A5), (A6) and (A7)."""
    start, stop = solution.address, solution.address + problem.size_bytes
    found = []
    for buffer in np.flatnonzero((start < problem.window_start) | (stop > problem.window_stop)):
        window = f"[{problem.window_start[buffer]:#x}, {problem.window_stop[buffer]:#x})"
        found.append(("A5", f"buffer {buffer} at {start[buffer]:#x} leaves its window {window}"))
    first: dict[int, int] = {}
    for alias, group in enumerate(problem.alias.tolist()):
        if group >= 0 and start[first.setdefault(group, alias)] != start[alias]:
            found.append(("A6", f"aliases {first[group]} and {alias} have different addresses"))
    real = _reserving(problem)
    for begin, end in problem.holes.tolist():
        inside = np.maximum(start, begin) < np.minimum(stop + problem.guard_bytes, end)
        for buffer in np.flatnonzero(inside & real):
            found.append(("A7", f"buffer {buffer} reaches the hole [{begin:#x}, {end:#x})"))
    return found


def _pairs_of_tiles(tile: IntArray) -> IntArray:
    """All pairs of shards on the same tile, shape ``(pairs, 2)``."""
    order = np.argsort(tile, kind="stable")
    count = np.bincount(tile)
    rank = np.arange(len(tile)) - np.repeat(np.cumsum(count) - count, count)
    later = np.repeat(np.arange(len(tile)), rank)
    back = np.arange(len(later)) - np.repeat(np.cumsum(rank) - rank, rank) + 1
    return np.stack((order[later - back], order[later]), axis=1)


def check_program(
    program: Program,
    address: IntArray,
    boundary: IntArray,
    low_start: IntArray | int = DATA_LOW[0],
) -> Violations:
    """Every violation of (A1) to (A4) by the shards of all tiles.

    Parameters
    ----------
    address
        Byte address of every shard, shape ``(shards,)``.
    boundary
        Byte address of the boundary on every tile, shape ``(tiles,)``.
    low_start
        First address that data may use, on each tile or on all: code and rows may lie below.
    """
    shards = program.shards
    if address.shape != (len(shards),) or boundary.shape != (program.tiles,):
        return (("A1", f"{address.shape} addresses, {boundary.shape} boundaries"),)
    end = address + shards.size_bytes
    edge = boundary[shards.tile]
    high_start, high_stop = DATA_HIGH
    first = np.broadcast_to(low_start, program.tiles)[shards.tile]
    within_low = (address >= first) & (end <= DATA_LOW[1])
    standard = within_low | ((address >= edge) & (end <= high_stop))
    interleaved = (address >= high_start) & (end <= np.minimum(edge, high_stop))
    outside = ~np.where(shards.interleaved == 1, interleaved, standard)
    found = [
        ("A1", f"tile {tile}: boundary {boundary[tile]:#x} is not a whole pair of elements")
        for tile in np.flatnonzero(
            (boundary < high_start) | ((boundary - high_start) % INTERLEAVED_ELEMENT != 0)
        )
    ]

    def place(shard: np.integer) -> str:
        return f"tile {shards.tile[shard]}: shard {shard} at {address[shard]:#x}"

    found += [("A1", f"{place(i)} leaves its region") for i in np.flatnonzero(outside)]
    found += [
        ("A2", f"{place(i)} is not a multiple of {shards.alignment[i]}")
        for i in np.flatnonzero(address % shards.alignment)
    ]
    one, other = _pairs_of_tiles(shards.tile).T
    overlap = (address[one] < end[other]) & (address[other] < end[one])
    overlap &= shards.live_start[one] < shards.live_stop[other]
    overlap &= shards.live_start[other] < shards.live_stop[one]
    found += [
        ("A3", f"{place(one[i])} overlaps shard {other[i]}, which lives with it")
        for i in np.flatnonzero(overlap)
    ]
    pairs = program.distinct.reshape(-1, 2)
    found += [
        ("A4", f"{place(i)} shares a memory element with shard {j}")
        for i, j in pairs[sharing(address, shards.size_bytes, pairs)]
    ]
    return tuple(found)


def program_conflict_words(program: Program, address: IntArray) -> int:
    """Objective (O1) added up over all tiles, from the transfers.

    For users who want to judge a program's addresses from elsewhere: it needs no problem of a tile,
    and shares nothing with what makes those.

    Parameters
    ----------
    program
        Shards and transfers.
    address
        Byte address of every shard, shape ``(shards,)``.
    """
    shards, transfers = program.shards, program.transfers
    first, last = element_range(address, shards.size_bytes)
    owner = np.repeat(np.arange(len(transfers)), np.diff(transfers.destination_start))
    total = 0
    for step in np.unique(transfers.step):
        now = np.flatnonzero(transfers.step == step)
        sent = np.zeros(len(shards), dtype=np.int64)
        np.add.at(sent, transfers.source[now], transfers.words[now])
        here = np.flatnonzero(transfers.step[owner] == step)
        received = np.zeros(len(shards), dtype=np.int64)
        np.add.at(received, transfers.destination[here], transfers.words[owner[here]])
        writers: dict[int, list[int]] = {}
        for shard in np.flatnonzero(received).tolist():
            writers.setdefault(int(shards.tile[shard]), []).append(shard)
        for reader in np.flatnonzero(sent).tolist():
            for writer in writers.get(int(shards.tile[reader]), ()):
                shared = first[reader] <= last[writer] and first[writer] <= last[reader]
                if reader != writer and shared:
                    total += min(int(sent[reader]), int(received[writer]))
    return total
