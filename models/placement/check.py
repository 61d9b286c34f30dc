"""Checks a placement against the formulation; shares no code with what makes one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ipuopt.models.placement.problem import IntArray, Problem, Solution
from ipuopt.program import Program
from ipuopt.target.memory import DATA_HIGH, DATA_LOW, INTERLEAVED_ELEMENT, element_range

Violations = tuple[tuple[str, str], ...]

BoolArray = npt.NDArray[np.bool_]


def sharing(address: IntArray, size_bytes: IntArray, pairs: IntArray) -> BoolArray:
    """Which pairs of buffers touch a common memory element, shape ``(pairs,)``."""
    one, other = pairs[:, 0], pairs[:, 1]
    first, last = element_range(address, size_bytes)
    result: BoolArray = (first[one] <= last[other]) & (first[other] <= last[one])
    return result


def conflict_words(problem: Problem, solution: Solution) -> int:
    """Objective (O1): words of conflict pairs that touch a common element."""
    both = sharing(solution.address, problem.size_bytes, problem.conflict)
    apart = problem.conflict[:, 0] != problem.conflict[:, 1]
    return int(problem.conflict_words[both & apart].sum())


def footprint(problem: Problem, solution: Solution) -> int:
    """Objective (O2) in bytes: the three extents."""
    regions = problem.regions
    end = solution.address + problem.size_bytes
    interleaved = problem.interleaved == 1
    above = ~interleaved & (solution.address >= solution.boundary)
    below = ~interleaved & ~above
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
    start, stop = solution.address, solution.address + problem.size_bytes
    found = []
    if boundary < regions.high_start or (boundary - regions.high_start) % regions.granule:
        found.append(("A1", f"boundary {boundary:#x} is not high_start plus whole granules"))
    below = (regions.low_start <= start) & (stop <= regions.low_stop)
    above = (boundary <= start) & (stop <= regions.high_stop)
    between = (regions.high_start <= start) & (stop <= min(boundary, regions.high_stop))
    allowed = np.where(problem.interleaved == 1, between, below | above)
    for buffer in np.flatnonzero(~allowed):
        kind = "interleaved" if problem.interleaved[buffer] else "standard"
        where = f"[{start[buffer]:#x}, {stop[buffer]:#x}), boundary {boundary:#x}"
        found.append(("A1", f"{kind} buffer {buffer} leaves its region: {where}"))
    for buffer in np.flatnonzero(start % problem.alignment):
        where = f"{start[buffer]:#x} is not a multiple of {problem.alignment[buffer]}"
        found.append(("A2", f"buffer {buffer} at {where}"))
    return found


def _overlaps(problem: Problem, solution: Solution) -> list[tuple[str, str]]:
    """(A3)."""
    start, stop = problem.live_start, problem.live_stop
    address, end = solution.address, solution.address + problem.size_bytes
    together = np.maximum.outer(start, start) < np.minimum.outer(stop, stop)
    overlap = np.maximum.outer(address, address) < np.minimum.outer(end, end)
    return [
        ("A3", f"buffers {one} and {other} live together and overlap")
        for one, other in np.argwhere(np.triu(together & overlap, k=1))
    ]


def check(problem: Problem, solution: Solution) -> Violations:
    """Every violation of (A1) to (A4) as ``(label, message)``; empty for a valid placement."""
    if solution.address.shape != (len(problem),):
        return (("A1", f"{solution.address.shape} addresses for {len(problem)} buffers"),)
    found = _ranges(problem, solution) + _overlaps(problem, solution)
    both = sharing(solution.address, problem.size_bytes, problem.distinct)
    for one, other in problem.distinct[both]:
        found.append(("A4", f"distinct buffers {one} and {other} share a memory element"))
    return tuple(found)


def _pairs_of_tiles(tile: IntArray) -> IntArray:
    """All pairs of shards on the same tile, shape ``(pairs, 2)``."""
    order = np.argsort(tile, kind="stable")
    count = np.bincount(tile)
    rank = np.arange(len(tile)) - np.repeat(np.cumsum(count) - count, count)
    later = np.repeat(np.arange(len(tile)), rank)
    back = np.arange(len(later)) - np.repeat(np.cumsum(rank) - rank, rank) + 1
    return np.stack((order[later - back], order[later]), axis=1)


def check_program(program: Program, address: IntArray, boundary: IntArray) -> Violations:
    """Every violation of (A1) to (A4) by the shards of all tiles.

    Parameters
    ----------
    address
        Byte address of every shard, shape ``(shards,)``.
    boundary
        Byte address of the boundary on every tile, shape ``(tiles,)``.
    """
    shards = program.shards
    if address.shape != (len(shards),) or boundary.shape != (program.tiles,):
        return (("A1", f"{address.shape} addresses, {boundary.shape} boundaries"),)
    end = address + shards.size_bytes
    edge = boundary[shards.tile]
    high_start, high_stop = DATA_HIGH
    within_low = (address >= DATA_LOW[0]) & (end <= DATA_LOW[1])
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
