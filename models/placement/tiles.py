"""Per-tile placement problems of a program; tiles with equal problems form one class."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ipuopt.models.placement.problem import IntArray, Problem, Regions
from ipuopt.program import Program
from ipuopt.ranges import by_owner, ranges
from ipuopt.target.memory import DATA_HIGH, DATA_LOW, INTERLEAVED_ELEMENT

TILE_REGIONS = Regions(*DATA_LOW, *DATA_HIGH, INTERLEAVED_ELEMENT)
"""What data may use on every tile (lowering.md 5.1)."""


@dataclass(frozen=True, slots=True)
class ConflictPairs:
    """Pairs of shards of one tile of which some phase reads one and writes the other.

    Attributes
    ----------
    pair
        Shards, the lower number first, shape ``(pairs, 2)``, sorted and without duplicates.
    words
        Words that could pass at the same time: over all phases, the sum of the lesser of the
        words sent from one and received into the other, shape ``(pairs,)``.
    """

    pair: IntArray
    words: IntArray


def _traffic(program: Program, step: IntArray, shard: IntArray, words: IntArray) -> IntArray:
    """Rows ``(step, tile, shard, words)``, sorted, words added up by step and shard."""
    shards = max(1, len(program.shards))
    key, group = np.unique(step * shards + shard, return_inverse=True)
    total = np.bincount(group, weights=words, minlength=len(key)).astype(np.int64)
    of_shard = key % shards
    rows = np.stack((key // shards, program.shards.tile[of_shard], of_shard, total), axis=1)
    return rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]


def conflict_pairs(program: Program) -> ConflictPairs:
    """Reads and writes of a phase on one tile (ipu21.md 3.3 rule 8), for the whole program."""
    transfers = program.transfers
    receivers = np.diff(transfers.destination_start)
    read = _traffic(program, transfers.step, transfers.source, transfers.words)
    written = _traffic(
        program,
        np.repeat(transfers.step, receivers),
        transfers.destination,
        np.repeat(transfers.words, receivers),
    )
    place_read = read[:, 0] * program.tiles + read[:, 1]
    place_written = written[:, 0] * program.tiles + written[:, 1]
    first = np.searchsorted(place_written, place_read, side="left")
    matches = np.searchsorted(place_written, place_read, side="right") - first
    sender = np.repeat(np.arange(len(read)), matches)
    receiver = ranges(first, matches)
    one, other = read[sender, 2], written[receiver, 2]
    words = np.minimum(read[sender, 3], written[receiver, 3])
    apart = one != other
    pair = np.stack((np.minimum(one, other), np.maximum(one, other)), axis=1)[apart]
    unique, group = np.unique(pair, axis=0, return_inverse=True)
    total = np.bincount(group.ravel(), weights=words[apart], minlength=len(unique))
    return ConflictPairs(unique.reshape(-1, 2), total.astype(np.int64))


@dataclass(frozen=True, slots=True)
class TileClass:
    """Tiles with one and the same problem.

    Attributes
    ----------
    problem
        Named after the first tile.
    shards
        Shards of each tile in the order of the problem's buffers, shape ``(tiles, buffers)``.
    """

    problem: Problem
    shards: IntArray


@dataclass(slots=True)
class _Member:
    problem: Problem
    shards: list[IntArray] = field(default_factory=list)


def _digest(problem: Problem) -> bytes:
    columns: Sequence[IntArray] = (
        np.array([problem.regions.low_start]),
        problem.size_bytes,
        problem.alignment,
        problem.interleaved,
        problem.live_start,
        problem.live_stop,
        problem.distinct,
        problem.conflict,
        problem.conflict_words,
    )
    digest = hashlib.blake2b(digest_size=16)
    for column in columns:
        digest.update(len(column).to_bytes(8, "little"))
        digest.update(column.tobytes())
    return digest.digest()


def tile_classes(
    program: Program, regions: Regions = TILE_REGIONS, low_start: IntArray | None = None
) -> tuple[TileClass, ...]:
    """Problems of all tiles that hold a shard, in order of the first tile of each class.

    ``low_start`` is that of each tile, shape ``(tiles,)``, where it is not the same on all.

    The buffers of a tile are sorted by lifetime, class, size and alignment, so that tiles whose
    tables list the same buffers in another order meet in one class.
    """
    shards = program.shards
    conflicts = conflict_pairs(program)
    columns = (shards.alignment, shards.size_bytes, shards.interleaved)
    order = np.lexsort((*columns, shards.live_stop, shards.live_start, shards.tile))
    bounds = np.searchsorted(shards.tile[order], np.arange(program.tiles + 1))
    local = np.zeros(len(shards), dtype=np.int64)
    local[order] = np.arange(len(shards)) - bounds[shards.tile[order]]
    distinct = np.sort(local[program.distinct.reshape(-1, 2)], axis=1)
    d_order, d_bounds = by_owner(shards.tile[program.distinct.reshape(-1, 2)[:, 0]], program.tiles)
    pairs = np.sort(local[conflicts.pair], axis=1)
    c_order, c_bounds = by_owner(shards.tile[conflicts.pair[:, 0]], program.tiles)
    classes: dict[bytes, _Member] = {}
    for tile in np.flatnonzero(np.diff(bounds)):
        here = order[bounds[tile] : bounds[tile + 1]]
        d_here = distinct[d_order[d_bounds[tile] : d_bounds[tile + 1]]]
        at = c_order[c_bounds[tile] : c_bounds[tile + 1]]
        at = at[np.lexsort((pairs[at, 1], pairs[at, 0]))]
        problem = Problem(
            name=f"tile {tile}",
            regions=regions
            if low_start is None
            else replace(regions, low_start=int(low_start[tile])),
            size_bytes=shards.size_bytes[here],
            alignment=shards.alignment[here],
            interleaved=shards.interleaved[here],
            live_start=shards.live_start[here],
            live_stop=shards.live_stop[here],
            distinct=d_here[np.lexsort((d_here[:, 1], d_here[:, 0]))],
            conflict=pairs[at],
            conflict_words=conflicts.words[at],
        )
        classes.setdefault(_digest(problem), _Member(problem)).shards.append(here)
    return tuple(TileClass(entry.problem, np.stack(entry.shards)) for entry in classes.values())
