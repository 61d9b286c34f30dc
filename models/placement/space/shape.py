"""Tables of an instance for the canonical search, and its empty state for one height."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.models.placement.problem import IntArray
from ipuopt.models.placement.space.instance import Instance
from ipuopt.models.placement.space.search import PART, PARTS
from ipuopt.models.placement.space.state import Shape, State, hash_all
from ipuopt.ranges import by_owner

FAILED_WORDS = 1 << 20
"""Entries of the table of failed nodes (84 bits a node with the index)."""

TRAIL_LENGTH, FRAMES_PER_BLOCK = 400_000, 40
"""Room of a search beside what its blocks need; a search that needs more starts anew."""


@dataclass(frozen=True, slots=True)
class Tables:
    """What all searches of an instance share.

    ``shape`` is without limit: blocks in order of their numbers, holes in full length. ``tallest``:
    largest total of each block's sections; ``width``: longest life in it, in steps.
    """

    instance: Instance
    shape: Shape
    tallest: IntArray
    width: IntArray


def _rows(owner: IntArray, count: int, *columns: IntArray) -> tuple[IntArray, ...]:
    """Compressed rows: where each owner's entries begin, then the columns sorted by owner."""
    order, begin = by_owner(owner, count)
    return (begin, *(c[order] for c in columns))


def tables_of(instance: Instance) -> Tables | None:
    """Tables, or None where the pairs of blocks are too many."""
    if instance.pairs is None:
        return None
    count, sections = len(instance), instance.sections
    one, other, below, above, grain, apart = instance.pairs.T
    edge_start, edge, over, under, grains = _rows(
        np.concatenate((one, other)),
        count,
        np.concatenate((other, one)),
        np.concatenate((below, above)),
        np.concatenate((above, below)),
        np.concatenate((grain, grain)),
    )
    at_start, at, reserved = _rows(instance.owner, count, instance.section, instance.reserved)
    live_start, live = _rows(instance.section, sections, instance.owner)
    first = np.full(count, sections, dtype=np.int64)
    stop = np.zeros(count, dtype=np.int64)
    np.minimum.at(first, instance.owner, instance.section)
    np.maximum.at(stop, instance.owner, instance.section + 1)
    idle = stop == 0  # aliases of empty buffers only: part of the first section
    first[idle], stop[idle] = 0, 1
    for a, b in instance.pairs[apart == 1, :2].tolist():
        first[[a, b]], stop[[a, b]] = min(first[a], first[b]), max(stop[a], stop[b])
    reach = instance.size.copy()
    np.maximum.at(reach, np.repeat(np.arange(count), np.diff(edge_start)), over + grains - 1)
    total = np.bincount(instance.section, instance.reserved, sections).astype(np.int64)
    tallest = np.zeros(count, dtype=np.int64)
    np.maximum.at(tallest, instance.owner, total[instance.section])
    shape = Shape(
        edge_start=edge_start,
        edge=edge,
        over=over,
        under=under,
        grain=grains,
        at_start=at_start,
        at=at,
        reserved=reserved,
        live_start=live_start,
        live=live,
        first=first,
        stop=stop,
        reach=reach,
        last=instance.last,
        alignment=instance.alignment,
        order=np.arange(count),
        twin=np.full(count, -1),
        elements=instance.elements,
    )
    spans = instance.problem.span
    lengths = np.bincount(
        instance.problem.span_owner, (spans[:, 1] - spans[:, 0]).clip(min=0), len(instance.block)
    )
    width = np.zeros(count + 1, dtype=np.int64)
    np.maximum.at(
        width, instance.block, lengths.astype(np.int64)
    )  # -1, which is no block, goes to the last
    return Tables(instance, shape, tallest, width[:count])


def _twins(tables: Tables, order: IntArray) -> IntArray:
    """Next block in ``order`` that could change places with each block; -1 for none."""
    instance, shape = tables.instance, tables.shape
    last: dict[tuple[bytes | int, ...], int] = {}
    twin = np.full(len(order), -1, dtype=np.int64)
    grained = np.zeros(len(order), dtype=bool)
    if instance.pairs is not None:
        grained[instance.pairs[instance.pairs[:, 5] == 1, :2].ravel()] = True
    partial = np.zeros(len(order), dtype=bool)
    partial[instance.owner[instance.base > 0]] = True
    for block in order[::-1].tolist():
        if grained[block] or instance.hole[block] or partial[block]:
            continue
        rows = slice(shape.at_start[block], shape.at_start[block + 1])
        sort = (
            shape.at[rows].tobytes(),
            shape.reserved[rows].tobytes(),
            int(instance.low[block]),
            int(instance.last[block]),
            int(instance.alignment[block]),
        )
        twin[block] = last.get(sort, -1)
        last[sort] = block
    return twin


def start(tables: Tables, limit: int, order: IntArray, dynamic: bool) -> tuple[Shape, State]:
    """Begin of a search for a placement of at most ``limit`` units of height."""
    instance = tables.instance
    count, sections = len(instance), instance.sections
    # Above the height a hole counts nothing; below it, it reserves what lies below it.
    length = (limit - instance.low).clip(min=0)
    owner = np.repeat(np.arange(count), np.diff(tables.shape.at_start))
    clipped = np.minimum(tables.shape.reserved, length[owner])
    reserved = np.where(instance.hole[owner] == 1, clipped, tables.shape.reserved)
    # Aliases that are all empty form a block without size, which rests where it may be.
    placed = ((instance.hole == 1) & (length == 0)) | (instance.size == 0)
    last = np.where(instance.hole == 1, instance.last, limit - instance.size)
    shape = tables.shape._replace(
        order=order,
        twin=_twins(tables, order),
        reserved=reserved,
        last=np.minimum(tables.shape.last, last),
    )
    cuts = np.zeros(sections + 1, dtype=np.int64)
    np.add.at(cuts, shape.first[~placed], 1)
    np.add.at(cuts, shape.stop[~placed] - 1, -1)
    cuts = np.cumsum(cuts)[:sections]
    floor = np.full(sections, np.iinfo(np.int64).max)
    np.minimum.at(floor, instance.section, instance.low[instance.owner])
    rank = np.empty(count, dtype=np.int64)
    rank[order] = np.arange(count)
    if dynamic:
        rank -= tables.tallest * count
    frames = FRAMES_PER_BLOCK * count + 1000
    state = State(
        placed=placed,
        rest=instance.low.copy(),
        least=instance.low.copy(),
        floor=floor,
        total=np.bincount(shape.at, reserved, sections).astype(np.int64),
        cuts=cuts,
        rank=rank,
        key=np.zeros(count, dtype=np.uint64),
        check=np.zeros(count, dtype=np.uint64),
        marked=np.zeros(sections, dtype=np.bool_),
        dirty=np.zeros(sections + 1, dtype=np.int64),
        trail=np.zeros((TRAIL_LENGTH + 20 * (count + sections), 3), dtype=np.int64),
        registers=np.zeros(8, dtype=np.int64),
        frames=np.zeros((frames, 5), dtype=np.int64),
        frame_key=np.zeros(frames, dtype=np.uint64),
        frame_check=np.zeros(frames, dtype=np.uint64),
        parts=_parts(cuts, 4 * count + sections + 16),
    )
    state.registers[PARTS] = np.count_nonzero(state.parts[:, 1])
    state.registers[PART] = 0
    hash_all(state)
    return shape, state


def _parts(cuts: IntArray, room: int) -> IntArray:
    """Parts that time separates from the outset, one after the other."""
    parts = np.zeros((room, 4), dtype=np.int64)
    stops = np.flatnonzero(np.append(cuts[:-1] == 0, True)) + 1
    count = len(stops)
    parts[:count, 0] = np.concatenate(([0], stops[:-1]))
    parts[:count, 1] = stops
    parts[:count, 2] = -1
    parts[:count, 3] = np.append(np.arange(1, count), -1)
    return parts
