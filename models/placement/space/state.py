"""State of the canonical search: what is placed, and the least address of what is not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ipuopt.compiled import inner_kernel, kernel
from ipuopt.models.placement.problem import IntArray

FAR = 1 << 60
"""Address above all others."""

REST, LEAST, FLOOR, RANK = range(4)
"""What an entry of the trail restores."""

TRAIL = 1
"""Register that holds the length of the trail."""

WordArray = npt.NDArray[np.uint64]
BoolArray = npt.NDArray[np.bool_]


class Shape(NamedTuple):
    """What does not change during a search.

    ``edge_start[b]:edge_start[b + 1]`` are the edges of block ``b``: its neighbour ``edge``, the
    distance ``over`` to the neighbour above it, the distance ``under`` from the neighbour below it,
    ``grain``: above 1 if the upper of the two starts in an element behind the lower one, then the
    units of the largest element. ``elements``: start and units of every row of elements. ``at_start`` likewise gives the sections
    ``at`` of a block and the units ``reserved`` there; ``live_start`` the blocks ``live`` of a
    section. A block spans the sections ``first`` to ``stop`` (and those of neighbours with which it
    shares none). ``reach``: no neighbour above is pushed further. ``twin``: the next equal block in
    ``order``, or -1.
    """

    edge_start: IntArray
    edge: IntArray
    over: IntArray
    under: IntArray
    grain: IntArray
    at_start: IntArray
    at: IntArray
    reserved: IntArray
    live_start: IntArray
    live: IntArray
    first: IntArray
    stop: IntArray
    reach: IntArray
    last: IntArray
    alignment: IntArray
    order: IntArray
    twin: IntArray
    elements: IntArray


class State(NamedTuple):
    """What changes.

    ``rest``: where a block comes to rest on what is placed; ``least``: lowest address that it may
    still get, above ``rest`` if it was postponed. For every section ``floor``, the lowest ``least``
    of its blocks that are not placed, and ``total``, the units they reserve. ``cuts``: blocks not
    placed that span a section and the next one. ``key`` and ``check``: two hashes of a block with
    its ``rest`` and ``least``.
    """

    placed: BoolArray
    rest: IntArray
    least: IntArray
    floor: IntArray
    total: IntArray
    cuts: IntArray
    rank: IntArray
    key: WordArray
    check: WordArray
    marked: BoolArray
    dirty: IntArray
    trail: IntArray
    registers: IntArray
    frames: IntArray
    frame_key: WordArray
    frame_check: WordArray
    parts: IntArray


@inner_kernel
def mixed(word: np.uint64) -> np.uint64:
    """Finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@inner_kernel
def hash_block(s: State, block: int) -> None:
    """Set both hashes of a block."""
    word = mixed(np.uint64(block + 1) * np.uint64(0x9E3779B97F4A7C15))
    word = mixed(word ^ np.uint64(s.rest[block]))
    word = mixed(word + np.uint64(s.least[block]))
    s.key[block] = word
    s.check[block] = mixed(word ^ np.uint64(0x5851F42D4C957F2D))


@kernel
def hash_all(s: State) -> None:
    """Set the hashes of all blocks."""
    for block in range(len(s.rest)):
        hash_block(s, block)


@inner_kernel
def note(s: State, kind: int, index: int, value: int) -> None:
    """Remember a value that is about to change."""
    length = s.registers[TRAIL]
    s.trail[length, 0] = kind
    s.trail[length, 1] = index
    s.trail[length, 2] = value
    s.registers[TRAIL] = length + 1


@inner_kernel
def undo(s: State, length: int) -> None:
    """Restore what has changed since the trail was ``length`` long."""
    for entry in range(s.registers[TRAIL] - 1, length - 1, -1):
        kind, index = s.trail[entry, 0], s.trail[entry, 1]
        value = s.trail[entry, 2]
        if kind == FLOOR:
            s.floor[index] = value
        elif kind == RANK:
            s.rank[index] = value
        else:
            if kind == REST:
                s.rest[index] = value
            else:
                s.least[index] = value
            hash_block(s, index)
    s.registers[TRAIL] = length


@inner_kernel
def row_of(elements: IntArray, address: int) -> int:
    """Row of the element that holds an address."""
    row = len(elements) - 1
    while row > 0 and elements[row, 0] > address:
        row -= 1
    return row


@inner_kernel
def pushed(elements: IntArray, address: int, distance: int, grain: int) -> int:
    """Lowest address above something at ``address``."""
    address += distance
    if grain == 1:
        return address
    row = row_of(elements, address)
    return address + int((elements[row, 0] - address) % elements[row, 1])


@inner_kernel
def aligned(address: int, unit: int) -> int:
    """Round up."""
    return address if unit == 1 else -(-address // unit) * unit


@inner_kernel
def raise_least(p: Shape, s: State, block: int, value: int, dirty: int) -> int:
    """Raise ``least``; returns the number of sections whose floor must be computed anew."""
    old = s.least[block]
    note(s, LEAST, block, old)
    s.least[block] = value
    for at in range(p.at_start[block], p.at_start[block + 1]):
        section = p.at[at]
        if s.floor[section] == old and not s.marked[section]:
            s.marked[section] = True
            s.dirty[dirty] = section
            dirty += 1
    return dirty


@inner_kernel
def settle(p: Shape, s: State, dirty: int, limit: int) -> bool:
    """Compute floors anew; False if what is left of a section does not fit above its floor."""
    fits = True
    for index in range(dirty):
        section = s.dirty[index]
        s.marked[section] = False
        if not fits:
            continue
        least = FAR
        for at in range(p.live_start[section], p.live_start[section + 1]):
            block = p.live[at]
            if not s.placed[block] and s.least[block] < least:
                least = s.least[block]
        if least != s.floor[section]:
            note(s, FLOOR, section, s.floor[section])
            s.floor[section] = least
        if least < FAR and least + s.total[section] > limit:
            fits = False
    return fits


@inner_kernel
def place(p: Shape, s: State, block: int, limit: int) -> bool:
    """Place a block where it rests and push its neighbours up; False if something does not fit."""
    s.placed[block] = True
    address, dirty, fits = s.least[block], 0, True
    for at in range(p.at_start[block], p.at_start[block + 1]):
        section = p.at[at]
        s.total[section] -= p.reserved[at]
        if not s.marked[section]:
            s.marked[section] = True
            s.dirty[dirty] = section
            dirty += 1
    for edge in range(p.edge_start[block], p.edge_start[block + 1]):
        other = p.edge[edge]
        if s.placed[other]:
            continue
        top = aligned(pushed(p.elements, address, p.over[edge], p.grain[edge]), p.alignment[other])
        if s.rest[other] >= top:
            continue
        note(s, REST, other, s.rest[other])
        s.rest[other] = top
        if s.least[other] < top:
            dirty = raise_least(p, s, other, top, dirty)
            fits = fits and top <= p.last[other]
        hash_block(s, other)
    return settle(p, s, dirty, limit) and fits


@inner_kernel
def take_away(p: Shape, s: State, block: int) -> None:
    """Reverse what :func:`place` and the caller did outside of the trail."""
    s.placed[block] = False
    for at in range(p.at_start[block], p.at_start[block + 1]):
        s.total[p.at[at]] += p.reserved[at]
    for section in range(p.first[block], p.stop[block] - 1):
        s.cuts[section] += 1


@inner_kernel
def postpone(p: Shape, s: State, block: int, limit: int) -> bool:
    """Rule out that a block of least address stays where it rests; False if that cannot be.

    In a lowest placement something keeps it from there: a neighbour that is not placed and comes to
    lie below the block's top. The block then lies above one of these.
    """
    address, least = s.rest[block], FAR
    for edge in range(p.edge_start[block], p.edge_start[block + 1]):
        other = p.edge[edge]
        if s.placed[other] or s.least[other] >= pushed(
            p.elements, address, p.over[edge], p.grain[edge]
        ):
            continue
        least = min(least, pushed(p.elements, s.least[other], p.under[edge], p.grain[edge]))
    if least > p.last[block]:
        return False
    least = aligned(least, p.alignment[block])
    if least > p.last[block]:
        return False
    if least <= s.least[block]:
        return True
    dirty = raise_least(p, s, block, least, 0)
    hash_block(s, block)
    return settle(p, s, dirty, limit)
