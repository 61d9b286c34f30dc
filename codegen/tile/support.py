"""Where the data of each tile may start so that its code and rows find room (``lowering.md`` 5.1).

Placement leaves the same memory to code and rows on all tiles before their sizes are known
(:data:`~ipuopt.target.memory.SUPPORT_END`). Where they turn out to need more than that and the
executable elements that data leave empty, placement is told here how much more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ipuopt.codegen.host.batches import PIECE_BYTES
from ipuopt.codegen.link import Library
from ipuopt.codegen.package.check import LOAD_START
from ipuopt.codegen.rows.room import least_row_words, most_row_words
from ipuopt.codegen.tile.build import Arrangement, Parts, fill, parts_of
from ipuopt.codegen.tile.room import HIGH, Range, RoomError, free_ranges
from ipuopt.errors import InputError
from ipuopt.layout import IntArray
from ipuopt.plan import Origin
from ipuopt.program import Program, Role
from ipuopt.result import Built
from ipuopt.target.constants import TILES, WORD_BYTES
from ipuopt.target.fabric import PHYSICAL
from ipuopt.target.memory import (
    EXECUTABLE_END,
    HOST_WINDOW,
    LOOKAHEAD,
    RUNTIME_END,
    STANDARD_ELEMENT,
    SUPPORT_END,
)

_BELOW = (LOAD_START, HOST_WINDOW[0]), (RUNTIME_END, HIGH)
"""Ranges that no data limit."""
_ENDS = range(SUPPORT_END + STANDARD_ELEMENT, EXECUTABLE_END + 1, STANDARD_ELEMENT)
"""Where data may start instead."""
_FIXED_WORDS = 1024
"""Runtime, jumps, phases and samples of a program, estimated."""


def least_ends(program: Program, address: IntArray) -> IntArray:
    """First address for data of each tile, shape ``(tiles,)``, by what no schedule of its rows goes below.

    Notes
    -----
    :data:`~ipuopt.target.memory.SUPPORT_END` where the rows fit between the data as they lie.
    """
    ends = np.full(program.tiles, SUPPORT_END)
    most = int(most_row_words(program).sum(axis=0).max(initial=0))
    if most * WORD_BYTES <= _bytes(_until(SUPPORT_END)):
        return ends
    least = WORD_BYTES * least_row_words(program).sum(axis=(0, 1))
    free = free_ranges(program.shards, address)
    for tile, needed in enumerate(least.tolist()):
        if needed > _bytes(free[tile]):
            ends[tile] = next(
                end for end in _ENDS if end == EXECUTABLE_END or needed <= _bytes(_until(end))
            )
    return ends


def support_ends(
    built: Built, library: Library | None = None, *, profile: bool = False
) -> IntArray | None:
    """First address for data of each tile, shape ``(tiles,)``, so that a package can be built.

    Parameters
    ----------
    built, library, profile
        As of :func:`~ipuopt.codegen.tile.build.build_package`.

    Returns
    -------
    numpy.ndarray or None
        :data:`~ipuopt.target.memory.SUPPORT_END` where code, rows and host tables fit between the
        data as they lie; None if those of some tile do not fit below any data.
    """
    if not built.program.repeats and _ample(built, library):
        return np.full(built.program.tiles, SUPPORT_END)
    parts = parts_of(built, library, profile=profile)
    best = None
    for below in (False, True):
        ends = _needed(parts, below=below)
        if ends is not None and (best is None or ends.sum() < best.sum()):
            best = ends
        if best is not None and best.max() == SUPPORT_END:
            break
    return best


def _ample(built: Built, library: Library | None) -> bool:
    """Whether an estimate on the safe side stays below what all tiles have, without any repeats.

    Rows are taken for twice their least size, calls of kernels for eight words, pieces of tensors
    that the host moves for sixty-four (package.md 3.3, 3.4). All sections of the objects count, and
    the largest once more, as none is divided between two ranges.
    """
    program, shards = built.program, built.program.shards
    moved = np.array(
        [value.origin is not Origin.COMPUTED or value.is_output for value in built.plan.values]
    )
    whole = (shards.role == Role.VALUE) & moved[shards.value]
    pieces = np.where(whole, -(-shards.size_bytes // PIECE_BYTES), 0)
    words = _FIXED_WORDS + 2 * most_row_words(program).sum(axis=0)
    words += 64 * np.bincount(shards.tile, pieces, minlength=program.tiles).astype(np.int64)
    for table in (program.runs, program.copies):
        words += 8 * np.bincount(table.tile, minlength=program.tiles)
    needed = int(words.max(initial=0)) * WORD_BYTES
    if library is not None:
        sizes = [
            section.size + section.alignment
            for one in library.objects
            for section in one.sections.values()
        ]
        needed += sum(sizes) + max(sizes, default=0)
    return needed <= _bytes(_until(SUPPORT_END))


def _until(end: int) -> tuple[Range, ...]:
    return ((HIGH, end - LOOKAHEAD),)


def _bytes(free: Sequence[Range]) -> int:
    return sum(stop - start for start, stop in (*_BELOW, *free))


def _needed(parts: Parts, *, below: bool) -> IntArray | None:
    """As :func:`support_ends`, with tile programs on one side of the host's window."""
    try:
        arrangement = Arrangement.of(parts, EXECUTABLE_END - LOOKAHEAD, below=below)
    except InputError:  # the objects alone are too large
        return None
    ends = np.full(parts.work.built.program.tiles, SUPPORT_END)
    for tile in range(TILES):
        if _fits(arrangement, tile, parts.free[tile]):
            continue
        larger = (end for end in _ENDS if _fits(arrangement, tile, _until(end)))
        end = next(larger, None)
        if end is None or tile >= len(ends):
            return None
        ends[tile] = end
    return ends


def _fits(arrangement: Arrangement, tile: int, free: Sequence[Range]) -> bool:
    """Whether code, rows and host tables of a logical tile fit into these ranges from ``HIGH`` on."""
    try:
        fill(arrangement, arrangement.room(int(PHYSICAL[tile]), tile, free))
    except RoomError:
        return False
    return True
