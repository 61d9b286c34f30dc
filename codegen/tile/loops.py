"""Loops of tile programs, and patches of the rows in them (``package.md`` 3.3)."""

from __future__ import annotations

import numpy as np

from ipuopt.codegen.isa import INSTRUCTIONS, WordArray
from ipuopt.codegen.tile.pointers import Pointers
from ipuopt.codegen.tile.stream import (
    FIRST_POINTER,
    FIRST_REGISTER,
    HELPER_RETURN,
    STACK,
    Stream,
    additions,
    frame_word,
)
from ipuopt.layout import IntArray, round_up
from ipuopt.target.constants import TILES, WORD_BYTES
from ipuopt.target.fabric import PHYSICAL, BoolArray

_FRAME_ALIGNMENT = 8
_ALL = np.arange(TILES)
_COUNTER, _SCRATCH, _REMAINING = 0, 0, 4
"""Word of the iterations that are left; the register that changes the frame; that of patches."""


def _frames(pointers: Pointers) -> IntArray:
    """Bytes of the frame of each physical tile."""
    count = np.bincount(PHYSICAL[pointers.tile], minlength=TILES)
    words = FIRST_POINTER + np.arange(int(count.max(initial=0)) + 1)
    sizes = np.array([round_up(WORD_BYTES * n, _FRAME_ALIGNMENT) for n in words.tolist()], np.int64)
    result: IntArray = sizes[count]
    return result


def _add(stream: Stream, tile: IntArray, *words: WordArray, used: BoolArray | None = None) -> None:
    columns = [np.broadcast_to(word, len(tile)) for word in words]
    stream.add(tile, np.stack(columns, axis=1), used)


def open_loop(stream: Stream, count: int, pointers: Pointers) -> IntArray:
    """Begin a repeat on all tiles; where its body starts on each, for :func:`close_loop`."""
    form = INSTRUCTIONS
    _add(
        stream,
        _ALL,
        form["add"].encode_many(STACK, STACK, -_frames(pointers)),
        form["setzi"].encode_many(_SCRATCH, count),
        frame_word("st32", _SCRATCH, _COUNTER),
    )
    _add(
        stream,
        PHYSICAL[pointers.tile],
        form["setzi"].encode_many(_SCRATCH, pointers.start),
        frame_word("st32", _SCRATCH, FIRST_POINTER + pointers.number),
    )
    return stream.here(_ALL)


def close_loop(stream: Stream, pointers: Pointers, entry: IntArray) -> None:
    """End a repeat on all tiles: pointers move on, and the body runs again unless it was the last."""
    form = INSTRUCTIONS
    tile = PHYSICAL[pointers.tile]
    if len(tile):
        place = FIRST_POINTER + pointers.number
        added = additions(_SCRATCH, pointers.stride)
        always = np.ones(len(tile), np.bool_)
        words = [word for word, _ in added]
        used = np.stack([always, *(needed for _, needed in added), always], axis=1)
        load, store = (frame_word(access, _SCRATCH, place) for access in ("ld32", "st32"))
        _add(stream, tile, load, *words, store, used=used)
    _add(
        stream,
        _ALL,
        frame_word("ld32", _SCRATCH, _COUNTER),
        form["add"].encode_many(_SCRATCH, _SCRATCH, -1),
        frame_word("st32", _SCRATCH, _COUNTER),
    )
    behind = stream.here(_ALL) + 3 * WORD_BYTES  # this branch and the two words of a jump
    _add(
        stream,
        _ALL,
        form["brz"].encode_many(_SCRATCH, behind),
        form["setzi"].encode_many(_SCRATCH, entry),
        form["br"].encode_many(_SCRATCH),
        form["add"].encode_many(STACK, STACK, _frames(pointers)),
    )


def add_patches(
    stream: Stream, tile: IntArray, word: IntArray, table: IntArray, count: int, helper: int
) -> None:
    """Patches of single words in a repeat.

    Parameters
    ----------
    tile
        Physical tiles; those of one tile stand together.
    word, table
        Address of each word, and of its values, one an iteration.
    count
        Iterations.
    helper
        Address of ``patch_word``.
    """
    form, first = INSTRUCTIONS, FIRST_REGISTER
    _add(
        stream,
        tile,
        form["setzi"].encode_many(first, word),
        form["setzi"].encode_many(first + 1, table),
        frame_word("ld32", _REMAINING, _COUNTER),
        form["setzi"].encode_many(first + 3, count),
        form["call"].encode_many(HELPER_RETURN, helper),
    )
