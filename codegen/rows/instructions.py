"""Table of the instructions that rows are made of: fields, bits and ranges (``ipu21.md`` 4).

The encoder and the decoder take every opcode, shift and limit from here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ipuopt.models.exchange.problem import BoolArray, IntArray

WordArray = npt.NDArray[np.uint32]

_WORD_BITS = 32


@dataclass(frozen=True, slots=True)
class Field:
    """An unsigned operand.

    Attributes
    ----------
    name
        Operand; "n" is a number of events or items minus one.
    parts
        (shift, bits) of its pieces, lowest bits first; a shift of 32 and more lies in the second
        word of the instruction.
    """

    name: str
    parts: tuple[tuple[int, int], ...]

    @property
    def limit(self) -> int:
        """One more than the largest value."""
        return 1 << sum(bits for _, bits in self.parts)


@dataclass(frozen=True, slots=True)
class Instruction:
    """Encoding of one instruction: ``words`` words, all bits of ``code`` outside the fields."""

    code: int
    fields: tuple[Field, ...]
    words: int = 1

    @property
    def mask(self) -> int:
        """Bits of the first word that tell the instruction from others."""
        free = sum(((1 << bits) - 1) << shift for f in self.fields for shift, bits in f.parts)
        return ~free & 0xFFFFFFFF

    @property
    def longest(self) -> int:
        """Most events or items that one instruction lasts."""
        return next(field.limit for field in self.fields if field.name == "n")

    def shift(self, name: str) -> int:
        """Lowest bit of a field in its own word."""
        parts = next(field.parts for field in self.fields if field.name == name)
        return parts[0][0] % _WORD_BITS


def _instruction(code: int, words: int = 1, **parts: Sequence[tuple[int, int]]) -> Instruction:
    return Instruction(code, tuple(Field(n, tuple(p)) for n, p in parts.items()), words)


TABLE: Mapping[str, Instruction] = {
    "delay": _instruction(0x40A00000, n=[(0, 19)]),
    "delaypic": _instruction(0x60000000, n=[(19, 7)], sel=[(18, 1)], v=[(0, 18)]),
    "delayxpic": _instruction(0x64000000, n=[(14, 12)], sel=[(13, 1)], v=[(0, 13)]),
    "send": _instruction(0x78000000, n=[(21, 6)], a=[(3, 18)], c=[(0, 3)]),
    "sendoff": _instruction(0x70000000, n=[(21, 6), (14, 6)], a=[(3, 11)], c=[(0, 3)]),
    "sendpic": _instruction(0x70100000, n=[(21, 6)], sel=[(18, 2)], v=[(0, 18)]),
    "sendpicp": _instruction(
        0xF0000000,
        words=2,
        n=[(21, 6)],
        a=[(3, 18)],
        c=[(0, 3)],
        pic_sel=[(27, 1)],
        pic_v=[(32, 18)],
        xpic_sel=[(63, 1)],
        xpic_v=[(50, 13)],
    ),
    "br": _instruction(0x43000000, m=[(20, 4)]),
}
"""Row instructions by name, operands in the order of their listings."""

NAMES = tuple(TABLE)
END_OF_ROW = 0x43A00000
"""``br $m10``: ends every row, and is the row of a tile that takes no part."""
NEUTRAL = 0x640
"""Value of an XPIC event that disconnects the mux (ipu21.md 3.3)."""
SENDPIC_FORMS = 2
"""Selectors 0 and 1 of ``sendpic`` are those of XPIC, 2 and 3 those of PIC."""


def encode(name: str, *operands: int) -> tuple[int, ...]:
    """Words of one instruction.

    Raises
    ------
    ValueError
        For an operand out of its range, or another number of them.
    """
    instruction = TABLE[name]
    value = instruction.code
    for field, operand in zip(instruction.fields, operands, strict=True):
        if not 0 <= operand < field.limit:
            found = f"{name}: {field.name}: found {operand}"
            raise ValueError(f"{found}, expected 0..{field.limit - 1}")
        for shift, bits in field.parts:
            value |= (operand & ((1 << bits) - 1)) << shift
            operand >>= bits
    return tuple(value >> _WORD_BITS * word & 0xFFFFFFFF for word in range(instruction.words))


def matches(words: WordArray, name: str) -> BoolArray:
    """Which words are the first of instruction ``name``, if they are the first of any."""
    result: BoolArray = words & np.uint32(TABLE[name].mask) == TABLE[name].code
    return result


def operand(words: WordArray, second: WordArray, name: str, field: str) -> IntArray:
    """A field of many instructions of one kind.

    Parameters
    ----------
    words, second
        The instructions' first words and, for those of two, their second ones.
    name, field
        Instruction and operand of :data:`TABLE`.
    """
    result = np.zeros(len(words), np.int64)
    place = 0
    for shift, bits in next(f.parts for f in TABLE[name].fields if f.name == field):
        source = second if shift >= _WORD_BITS else words
        piece = source.astype(np.int64) >> (shift % _WORD_BITS) & ((1 << bits) - 1)
        result |= piece << place
        place += bits
    return result
