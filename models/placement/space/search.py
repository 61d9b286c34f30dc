"""Canonical depth-first search for a placement within a given height.

Blocks are placed in the order of their addresses, each where it comes to rest on those below it
(Moffitt, "MiniMalloc", ASPLOS 2023, doi:10.1145/3623278.3624752: canonical solutions, floors of
sections, decomposition in time). It suffices to look for *lowest* placements, in which no block can
move down: among the placements within the height, one with the least sum of addresses is lowest.

A node takes a block whose least address is the lowest of all, and has two branches: it stays where
it rests; or it does not, and then something not yet placed must keep it from there, so that its
least address rises (``postpone``). A node fails if

* what is left of a section does not fit above the section's floor;
* a block could move down to where it rests below all addresses that are still to come;
* a node with the same blocks left, at the same least addresses, has failed before, in this search or
  in an earlier one with the same or a greater height (``failed``, two hashes of together 84 bits).

When the blocks left fall apart in time, the parts are searched one after the other, and a part that
fails takes the node back that made it. With ``dynamic`` the parts' blocks are then ranked by the
largest total of their sections.
"""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import inner_kernel, kernel
from ipuopt.models.placement.space.state import (
    FAR,
    RANK,
    TRAIL,
    Shape,
    State,
    WordArray,
    note,
    place,
    postpone,
    take_away,
    undo,
)

OPEN, FOUND, FAILED, FULL = range(4)
"""What a search says: budget used up, placed, proven impossible, out of room for its stack."""

DEPTH, PARTS, PART, NODES, FAILING = 0, 2, 3, 4, 5
"""Registers beside ``TRAIL``: frames, parts, current part, nodes so far, whether a node failed."""

BLOCK, LENGTH, OF_PART, PARTS_BEFORE, POSTPONED = range(5)
"""Columns of a frame."""

BEGIN, END, MAKER, NEXT = range(4)
"""Columns of a part: sections, the frame that made it (-1: none), the part after it (-1: none)."""

NOTHING, FAIL, DEDUCED, BRANCH = range(4)


@inner_kernel
def _look(p: Shape, s: State, part: int, limit: int) -> tuple[int, int, np.uint64, np.uint64]:
    """What to do in a part, with which block, and the hashes of what is left of the part."""
    begin, end = s.parts[part, BEGIN], s.parts[part, END]
    lowest, top, chosen, unsupported = FAR, FAR, -1, -1
    key, check = np.uint64(0), np.uint64(0)
    for at in range(len(p.order)):
        block = p.order[at]
        if s.placed[block] or p.first[block] < begin or p.first[block] >= end:
            continue
        key ^= s.key[block]
        check ^= s.check[block]
        top = min(top, s.rest[block] + p.reach[block])
        least = s.least[block]
        if least < lowest:
            lowest, chosen, unsupported = least, -1, -1
        if least == lowest:
            if s.rest[block] != least:
                unsupported = block
            elif chosen < 0 or s.rank[block] < s.rank[chosen]:
                chosen = block
    if lowest == FAR:
        return NOTHING, -1, key, check
    if lowest >= top:
        return FAIL, -1, key, check
    if unsupported >= 0:
        deduced = postpone(p, s, unsupported, limit)
        return DEDUCED if deduced else FAIL, -1, key, check
    return BRANCH, chosen, key, check


@inner_kernel
def _rank(p: Shape, s: State, begin: int, end: int) -> None:
    """Rank what is left between two sections by the largest total, then by ``order``."""
    for at in range(len(p.order)):
        block = p.order[at]
        if s.placed[block] or p.first[block] < begin or p.first[block] >= end:
            continue
        most = 0
        for entry in range(p.at_start[block], p.at_start[block + 1]):
            most = max(most, s.total[p.at[entry]])
        rank = at - most * len(p.order)
        if rank != s.rank[block]:
            note(s, RANK, block, s.rank[block])
            s.rank[block] = rank


@inner_kernel
def _divide(s: State, frame: int, part: int) -> None:
    """Make a part of every run of sections that is not cut, if something is left in it."""
    begin, end = s.parts[part, BEGIN], s.parts[part, END]
    made, previous, left = s.registers[PARTS], -1, 0
    follows = s.parts[part, NEXT]
    s.registers[PART] = follows
    for section in range(begin, end):
        left += s.total[section]
        if section + 1 < end and s.cuts[section] > 0:
            continue
        if left:
            s.parts[made, BEGIN], s.parts[made, END] = begin, section + 1
            s.parts[made, MAKER], s.parts[made, NEXT] = frame, follows
            if previous < 0:
                s.registers[PART] = made
            else:
                s.parts[previous, NEXT] = made
            previous = made
            made += 1
        begin, left = section + 1, 0
    s.registers[PARTS] = made


@inner_kernel
def _try(p: Shape, s: State, block: int, limit: int, dynamic: bool) -> bool:
    """Open a frame and place ``block``; False if that fails."""
    frame, part = s.registers[DEPTH], s.registers[PART]
    s.frames[frame, BLOCK] = block
    s.frames[frame, LENGTH] = s.registers[TRAIL]
    s.frames[frame, OF_PART] = part
    s.frames[frame, PARTS_BEFORE] = s.registers[PARTS]
    s.frames[frame, POSTPONED] = 0
    s.registers[DEPTH] = frame + 1
    fits, divided = place(p, s, block, limit), False
    for section in range(p.first[block], p.stop[block] - 1):
        s.cuts[section] -= 1
        divided = divided or s.cuts[section] == 0
    if fits and divided:
        if dynamic:
            _rank(p, s, s.parts[part, BEGIN], s.parts[part, END])
        _divide(s, frame, part)
    return fits


@inner_kernel
def _close(p: Shape, s: State, frame: int) -> None:
    """Take a frame's changes back; the search is again in the frame's part."""
    undo(s, s.frames[frame, LENGTH])
    if not s.frames[frame, POSTPONED]:
        take_away(p, s, s.frames[frame, BLOCK])
    s.registers[PARTS] = s.frames[frame, PARTS_BEFORE]


@inner_kernel
def _back(p: Shape, s: State, failed: WordArray) -> bool:
    """After a failure go to the last frame with a branch left that the failed part depends on."""
    part = s.registers[PART]
    mask = np.uint64(len(failed) - 1)
    while s.registers[DEPTH] > 0:
        frame = s.registers[DEPTH] - 1
        concerned = s.frames[frame, OF_PART] == part
        if not concerned and frame == s.parts[part, MAKER]:
            concerned, part = True, s.frames[frame, OF_PART]
        if concerned and not s.frames[frame, POSTPONED]:
            s.registers[PART] = part
            return True
        _close(p, s, frame)
        if concerned:
            failed[s.frame_key[frame] & mask] = s.frame_check[frame]
        s.registers[DEPTH] = frame
    return False


@inner_kernel
def _other_branch(p: Shape, s: State, limit: int) -> bool:
    """Postpone the block of the last frame instead, and its twins; False if that fails."""
    frame = s.registers[DEPTH] - 1
    block = s.frames[frame, BLOCK]
    _close(p, s, frame)
    s.frames[frame, POSTPONED] = 1
    s.registers[PART] = s.frames[frame, OF_PART]
    address = s.rest[block]
    while block >= 0:  # a twin could change places with it
        open_here = not s.placed[block] and s.rest[block] == s.least[block] == address
        if open_here and not postpone(p, s, block, limit):
            return False
        block = p.twin[block]
    return True


@kernel
def search(p: Shape, s: State, failed: WordArray, limit: int, nodes: int, dynamic: bool) -> int:
    """Search on for ``nodes`` nodes.

    Parameters
    ----------
    p, s
        As made by :func:`~ipuopt.models.placement.space.shape.start`; ``s`` holds the search
        between two calls, and the addresses in ``rest`` once they are found.
    failed
        Hashes of nodes that have failed; a power of two of entries.
    limit
        Height in units, at least the load bound, and such that every block fits where it begins.
    """
    mask = np.uint64(len(failed) - 1)
    end = s.registers[NODES] + nodes
    while s.registers[PART] >= 0:
        if s.registers[FAILING]:
            s.registers[FAILING] = 0
            if not _back(p, s, failed):
                return FAILED
            while not _other_branch(p, s, limit):
                if not _back(p, s, failed):
                    return FAILED
        if s.registers[NODES] >= end:
            return OPEN
        s.registers[NODES] += 1
        # A node notes at most two changes a neighbour, one a section and one a block.
        room = s.registers[TRAIL] + 3 * len(p.order) + 2 * len(s.floor)
        if room > len(s.trail) or s.registers[DEPTH] == len(s.frames):
            return FULL
        todo, block, key, check = _look(p, s, s.registers[PART], limit)
        if todo == NOTHING:
            s.registers[PART] = s.parts[s.registers[PART], NEXT]
        elif todo == FAIL or (todo == BRANCH and failed[key & mask] == check):
            s.registers[FAILING] = 1
        elif todo == BRANCH:
            frame = s.registers[DEPTH]
            s.frame_key[frame], s.frame_check[frame] = key, check
            if not _try(p, s, block, limit, dynamic):
                while not _other_branch(p, s, limit):
                    if not _back(p, s, failed):
                        return FAILED
    return FOUND
