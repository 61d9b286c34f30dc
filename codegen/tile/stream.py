"""Supervisor code of all tiles at once: blocks of steps in order, for any set of tiles each."""

from __future__ import annotations

import numpy as np

from ipuopt.codegen.isa import INSTRUCTIONS, WordArray, encode
from ipuopt.layout import IntArray
from ipuopt.target.constants import WORD_BYTES
from ipuopt.target.fabric import BoolArray
from ipuopt.target.registers import DOWN_COUNT, INCOMING_BASE, LOCAL, OUTGOING_BASE, PHASES

FIRST_REGISTER = 2
"""Of the output; inputs and scalars follow (package.md 4.1)."""
_ARGUMENTS = range(2, 9)
"""How many a call may have: the output, and 1 to 7 others (package.md 3.3)."""
_IMMEDIATE_BITS, _LOW_BITS = 20, 12
_RETURN, _BARRIER_RETURN, HELPER_RETURN = 10, 7, 9
_MOST_ADDED = 32767
STACK, ZERO = 11, 15
"""Registers of the supervisor's stack pointer, and the one that reads as zero."""
FIRST_POINTER = 1
"""Word of a repeat's frame; word 0 holds the iterations that are left (package.md 3.3)."""


class Stream:
    """Words of tiles ``0..tiles - 1`` from an address on; what is added later runs later."""

    def __init__(self, tiles: int, address: int = 0) -> None:
        self._tiles = tiles
        self._next = np.full(tiles, address)
        self._words: list[WordArray] = []
        self._tile: list[IntArray] = []

    def add(self, tile: IntArray, words: WordArray, used: BoolArray | None = None) -> None:
        """Add a row of words for each entry of ``tile``, without those that are not ``used``."""
        rows = np.broadcast_to(words, (len(tile), words.shape[-1]))
        if used is None:
            used = np.ones(rows.shape, np.bool_)
        self._words.append(rows[used])
        self._tile.append(np.repeat(tile, used.sum(axis=1)))
        np.add.at(self._next, tile, WORD_BYTES * used.sum(axis=1))

    def here(self, tile: IntArray) -> IntArray:
        """Address of the next word of each tile."""
        return self._next[tile]

    def finish(self) -> tuple[WordArray, IntArray]:
        """All words by tile, and the first of each tile, shape ``(tiles + 1,)``."""
        tile = np.concatenate([np.zeros(0, np.int64), *self._tile])
        words = np.concatenate([np.zeros(0, np.uint32), *self._words])
        order = np.argsort(tile, kind="stable")
        return words[order], np.searchsorted(tile[order], np.arange(self._tiles + 1))


def add_phase(
    stream: Stream,
    tile: IntArray,
    active: BoolArray,
    base: IntArray | int,
    row: IntArray,
    barrier: int,
) -> None:
    """An exchange phase (ipu21.md 4, at its end).

    Parameters
    ----------
    tile
        All tiles.
    active
        Whether each takes part.
    base
        Incoming base register, 0 unless the row is in point form.
    row
        Address of each tile's row.
    barrier
        Address of the helper that waits for workers.
    """
    form = INSTRUCTIONS
    count = len(tile)
    enter = (
        form["setzi"].encode_many(8, np.broadcast_to(base, count)),
        form["put"].encode_many(INCOMING_BASE, 8),
        form["put"].encode_many(OUTGOING_BASE, 15),
    )
    take_part = (
        form["call"].encode_many(_BARRIER_RETURN, barrier),
        form["setzi"].encode_many(8, 1),
        form["put"].encode_many(DOWN_COUNT, 8),
        form["sync"].encode_many(PHASES),
    )
    wait = (form["sans"].encode_many(0), form["sync"].encode_many(LOCAL))
    columns = (*enter, *take_part, *wait, form["call"].encode_many(_RETURN, row))
    words = np.stack([np.broadcast_to(column, count) for column in columns], axis=1)
    used = np.ones(words.shape, np.bool_)
    used[:, len(enter) : len(enter) + len(take_part)] = active[:, None]
    used[:, len(enter) + len(take_part) : -1] = ~active[:, None]
    stream.add(tile, words, used)


def add_samples(stream: Stream, tile: IntArray, address: IntArray | int, helper: int) -> None:
    """Cycle samples of different tiles (package.md 3.3)."""
    where = np.broadcast_to(address, len(tile))
    stream.add(tile, np.stack(_sample(where, helper), axis=1))


def _sample(address: IntArray, helper: int) -> list[WordArray]:
    call = INSTRUCTIONS["call"].encode_many(_RETURN, helper)
    return [
        INSTRUCTIONS["setzi"].encode_many(FIRST_REGISTER, address),
        np.broadcast_to(call, len(address)),
    ]


def add_calls(
    stream: Stream,
    tile: IntArray,
    arguments: IntArray,
    count: IntArray,
    address: IntArray,
    sampled: tuple[IntArray, int] | None = None,
    pointer: IntArray | None = None,
) -> None:
    """Kernel calls, in their order on each tile (package.md 3.3).

    Parameters
    ----------
    arguments, count
        Values for $m2 and on, shape ``(calls, 8)``, and how many are used.
    address
        Of each call's kernel.
    pointer
        Pointers that arguments follow, which are offsets from them then; negative for none.
    sampled
        Where the cycle sample before each call goes, negative for none, and the helper's address.

    Raises
    ------
    ValueError
        If a call has no input or scalar, or more than seven.
    """
    wrong = (count < _ARGUMENTS[0]) | (count > _ARGUMENTS[-1])
    if wrong.any():
        found = f"found a call with {count[wrong][0] - 1} inputs and scalars"
        raise ValueError(f"{found}, expected 1..{_ARGUMENTS[-1] - 1}")
    words, used = [], []
    if sampled is not None:
        words += _sample(np.maximum(sampled[0], 0), sampled[1])
        used += [sampled[0] >= 0] * len(words)
    for place in range(arguments.shape[1]):
        value, there = arguments[:, place], place < count
        large = value >> _IMMEDIATE_BITS > 0
        register = FIRST_REGISTER + place
        # Larger values than an immediate holds: the upper bits, moved, and the rest (ipu21.md 4).
        start = np.where(large, value >> _LOW_BITS, value)
        follows = np.zeros(len(tile), np.bool_) if pointer is None else pointer[:, place] >= 0
        fixed = there & ~follows
        words += [
            INSTRUCTIONS["setzi"].encode_many(register, start),
            INSTRUCTIONS["shl"].encode_many(register, register, np.full(len(tile), _LOW_BITS)),
            INSTRUCTIONS["add"].encode_many(register, register, value & ((1 << _LOW_BITS) - 1)),
        ]
        used += [fixed, fixed & large, fixed & large]
        if pointer is not None and follows.any():
            number = np.maximum(pointer[:, place], 0)
            words.append(frame_word("ld32", register, FIRST_POINTER + number))
            used.append(follows)
            added = additions(register, np.where(follows, value, 0))
            words += [word for word, _ in added]
            used += [needed & follows for _, needed in added]
    words.append(INSTRUCTIONS["call"].encode_many(_RETURN, address))
    used.append(np.ones(len(tile), np.bool_))
    stream.add(tile, np.stack(words, axis=1), np.stack(used, axis=1))


def frame_word(access: str, register: int, place: IntArray | int) -> WordArray:
    """A load or store of words of a repeat's frame (package.md 3.3)."""
    return INSTRUCTIONS[access].encode_many(register, STACK, ZERO, place)


def additions(register: int, value: IntArray) -> list[tuple[WordArray, BoolArray]]:
    """Words that add values of 0 and more to a register, and which of them each value needs.

    Values that an immediate does not hold are split; there is one addition at least (package.md 3.3).
    """
    result: list[tuple[WordArray, BoolArray]] = []
    left = value
    while True:
        now = np.minimum(left, _MOST_ADDED)
        needed = np.ones(len(value), np.bool_) if not result else now > 0
        result.append((INSTRUCTIONS["add"].encode_many(register, register, now), needed))
        left = left - now
        if not left.any():
            return result


def add_host(stream: Stream, tile: IntArray, values: IntArray, helper: int) -> None:
    """Calls of a host helper with values for $m2 and on, shape ``(tiles, n)`` (package.md 3.4)."""
    words = [
        INSTRUCTIONS["setzi"].encode_many(FIRST_REGISTER + place, values[:, place])
        for place in range(values.shape[1])
    ]
    call = INSTRUCTIONS["call"].encode_many(HELPER_RETURN, helper)
    words.append(np.broadcast_to(call, len(tile)))
    stream.add(tile, np.stack(words, axis=1))


def add_jump(stream: Stream, tile: IntArray, address: int) -> None:
    """End of a program: it goes on at ``address``."""
    words = np.array([*encode("setzi", 0, address), *encode("br", 0)], np.uint32)
    stream.add(tile, words[None, :])
