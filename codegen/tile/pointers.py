"""Pointers of a repeat: what moves on with its iterations, in a frame on the supervisor's stack.

An operand that moves is the start of its shard, in a word of the frame to which every iteration adds
a stride, and an offset (``package.md`` 3.3). Operands of one shard and stride share a pointer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.codegen.kernels import Calls
from ipuopt.errors import InputError
from ipuopt.layout import IntArray
from ipuopt.program import Program, Repeat
from ipuopt.target.memory import STOP

MOST_POINTERS = 55
"""The supervisor has 256 bytes of stack: the frame and the largest of a kernel fit (package.md 2)."""
_BITS = 22
"""Of an address or a stride in a key; more than any has."""


@dataclass(frozen=True, slots=True)
class Pointers:
    """Pointers of one repeat, shape ``(pointers,)`` each, by logical tile.

    Attributes
    ----------
    tile
        Logical tile.
    number
        Place in the frame of its tile, from 0.
    start, stride
        Address in the first iteration, and bytes from one to the next.
    """

    tile: IntArray
    number: IntArray
    start: IntArray
    stride: IntArray

    def followed(self, calls: Calls, part: slice) -> IntArray:
        """Pointer of every argument of some calls, -1 for none, shape ``(calls, 8)``."""
        arguments = calls.arguments[part]
        result = np.full(arguments.shape, -1, np.int64)
        if len(self.tile) and len(calls.advance):
            advance, root = calls.advance[part], calls.root[part]
            call, place = np.nonzero(advance)
            wanted = _key(calls.tile[part][call], root[call, place], advance[call, place])
            at = np.searchsorted(_key(self.tile, self.start, self.stride), wanted)
            result[call, place] = self.number[at]
        return result


def _key(tile: IntArray, start: IntArray, stride: IntArray) -> IntArray:
    result: IntArray = (((tile << _BITS) + start) << _BITS) + stride
    return result


def pointers_of(program: Program, repeat: Repeat, *calls: Calls) -> Pointers:
    """Pointers that the calls of a repeat follow.

    Raises
    ------
    InputError
        If an operand moves further than tile memory reaches, or a tile has too many pointers.
    """
    columns = []
    for some in calls:
        if not len(some.advance):
            continue
        steps = np.searchsorted(some.step, [repeat.first, repeat.stop])
        part = slice(*steps.tolist())
        call, place = np.nonzero(some.advance[part])
        root, advance = some.root[part][call, place], some.advance[part][call, place]
        columns.append((some.tile[part][call], root, advance, some.step[part][call]))
    if not columns:
        none = np.zeros(0, np.int64)
        return Pointers(none, none, none, none)
    tile, root, advance, step = map(np.concatenate, zip(*columns, strict=True))
    far = root + advance * (repeat.count - 1) >= STOP
    if far.any():
        at = int(far.argmax())
        found = f"found an operand at {root[at]:#x} that moves by {advance[at]} bytes"
        where = f"step {step[at]} {program.steps[step[at]].name}, tile {tile[at]}"
        raise InputError(f"{where}: {found} {repeat.count - 1} times, expected it below {STOP:#x}")
    _, first = np.unique(_key(tile, root, advance), return_index=True)
    tile = tile[first]
    number = np.arange(len(tile)) - np.searchsorted(tile, tile)
    if (number >= MOST_POINTERS).any():
        on = int(tile[np.argmax(number)])
        found = f"found {number.max() + 1} pointers in the {repeat}"  # the most of any tile
        name = program.steps[repeat.first].name
        where = f"step {repeat.first} {name}, tile {on}"
        raise InputError(f"{where}: {found}, expected at most {MOST_POINTERS}")
    return Pointers(tile, number, root[first], advance[first])
