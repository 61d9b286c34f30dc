"""Loops and patches of tile programs, read from their words (``package.md`` 3.3).

Written from the description of the words and not from what emits them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ipuopt.codegen.isa import INSTRUCTIONS, WordArray, encode
from ipuopt.layout import IntArray
from ipuopt.program import Program
from ipuopt.target.constants import WORD_BYTES

Words = Callable[[int, int], WordArray | None]
"""Words of a tile at an address, by bytes."""
_STACK, _ZERO = 11, 15
_STORE_COUNT = encode("st32", 0, _STACK, _ZERO, 0)[0]
_DOWN = (
    encode("ld32", 0, _STACK, _ZERO, 0)[0],
    encode("add", 0, 0, -1)[0],
    _STORE_COUNT,
)
"""One iteration less."""
_REMAINING = encode("ld32", 4, _STACK, _ZERO, 0)[0]
_FRAMES = range(8, 225, 8)
"""Bytes of a frame: the count and up to 55 pointers."""


@dataclass(frozen=True, slots=True)
class Patch:
    """A patched word of a row: its phase, address, and value in each iteration."""

    phase: int
    address: int
    values: WordArray


@dataclass(frozen=True, slots=True)
class _Loop:
    """Words ``[first, stop)`` of a tile program that are executed ``count`` times."""

    first: int
    stop: int
    count: int


class _Wrong(Exception):
    """What is wrong with a loop or a patch."""


def patches_in(
    words: WordArray, address: int, rows: IntArray, program: Program, helper: int, at: Words
) -> tuple[Patch, ...] | str:
    """Patches of a tile program, or what is wrong with them or its loops.

    Parameters
    ----------
    words, address
        Of the tile program.
    rows
        Places in ``words`` of the calls of rows, one a phase.
    program
        Says which phases are in a repeat.
    helper
        Address of ``patch_word``.
    at
        Reads tables.
    """
    try:
        loops = tuple(_loops(words.tolist(), address))
        _compare(loops, rows.tolist(), program)
        return tuple(_patches(words.tolist(), rows, loops, program, helper, at))
    except _Wrong as wrong:
        return str(wrong)


def _operands(name: str, word: int) -> tuple[int, ...] | None:
    form = INSTRUCTIONS[name]
    return form.decode(word) if word & form.mask == form.code else None


def _immediate(words: list[int], place: int, register: int) -> int | None:
    """What a word loads into a register; None if it does something else."""
    found = _operands("setzi", words[place])
    return found[1] if found is not None and found[0] == register else None


def _loops(words: list[int], address: int) -> Iterator[_Loop]:
    """Loops by the words that take a frame, and those that give it back."""
    place = 0
    while place + 2 < len(words):
        frame = _frame(words[place], -1)
        count = _immediate(words, place + 1, 0)
        if frame is None or count is None or words[place + 2] != _STORE_COUNT:
            place += 1
            continue
        first, number = place + 3, 1
        while first + 1 < len(words) and _immediate(words, first, 0) is not None:
            if words[first + 1] != encode("st32", 0, _STACK, _ZERO, number)[0]:
                break
            first, number = first + 2, number + 1
        stop = next(
            (k for k in range(first, len(words) - 6) if tuple(words[k : k + 3]) == _DOWN), None
        )
        where = f"the loop at {address + WORD_BYTES * place:#x}"
        if stop is None:
            raise _Wrong(f"found no end of {where}, expected one")
        behind = encode("brz", 0, address + WORD_BYTES * (stop + 6))[0]
        again = encode("setzi", 0, address + WORD_BYTES * first)[0]
        if words[stop + 3 : stop + 6] != [behind, again, encode("br", 0)[0]]:
            raise _Wrong(f"found another jump at the end of {where}, expected one to its body")
        if _frame(words[stop + 6], 1) != frame or frame < WORD_BYTES * number:
            raise _Wrong(f"found another frame at the end of {where}, expected {frame} bytes")
        yield _Loop(first, stop, count)
        place = stop + 7


def _frame(word: int, sign: int) -> int | None:
    """Bytes that a word takes from the stack (-1) or gives back (1); None if it does something else."""
    found = _operands("add", word)
    if found is None or found[:2] != (_STACK, _STACK) or found[2] * sign not in _FRAMES:
        return None
    return found[2] * sign


def _compare(loops: tuple[_Loop, ...], rows: list[int], program: Program) -> None:
    found = [loop.count for loop in loops]
    expected = [repeat.count for repeat in program.repeats]
    if found != expected:
        raise _Wrong(f"found loops of {found} iterations, expected {expected}")
    for loop, repeat in zip(loops, program.repeats, strict=True):
        for phase, (place, step) in enumerate(zip(rows, program.phases, strict=True)):
            if (loop.first <= place < loop.stop) != (repeat.first <= step < repeat.stop):
                raise _Wrong(f"found phase {phase} on the wrong side of the {repeat}")


def _patches(
    words: list[int],
    rows: IntArray,
    loops: tuple[_Loop, ...],
    program: Program,
    helper: int,
    at: Words,
) -> Iterator[Patch]:
    call = encode("call", 9, helper)[0]
    for place in (k for k, word in enumerate(words) if word == call):
        loop = next((loop for loop in loops if loop.first + 4 <= place < loop.stop), None)
        phase = int(np.searchsorted(rows, place))
        if loop is None or phase == len(rows) or rows[phase] >= loop.stop:
            raise _Wrong("found a patch outside a loop, or behind its last row")
        address = _immediate(words, place - 4, 2)
        table = _immediate(words, place - 3, 3)
        count = _immediate(words, place - 1, 5)
        if address is None or table is None or words[place - 2] != _REMAINING:
            raise _Wrong("found a patch without a word, a table or the iterations that are left")
        if count != loop.count:
            raise _Wrong(f"found a patch of {count} iterations in a loop of {loop.count}")
        values = at(table, WORD_BYTES * count)
        if values is None:
            raise _Wrong(f"found a patch with a table at {table:#x}, expected it in a segment")
        yield Patch(phase, address, values)
