"""What the encoding of an instruction consists of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ipuopt.layout import IntArray

WordArray = npt.NDArray[np.uint32]
Number = TypeVar("Number", int, IntArray)

WORD_BITS = 32
WORD_MASK = 0xFFFFFFFF


class Kind(StrEnum):
    """What an operand is; decides how it is written."""

    NUMBER = "a number"
    M = "$m0..$m15"
    A = "$a0..$a15"
    PAIR = "$a0:1..$a14:15"


@dataclass(frozen=True, slots=True)
class Field:
    """An operand.

    Attributes
    ----------
    name
        Operand; "n" of a row instruction is a number of events or items minus one.
    parts
        (shift, bits) of its pieces, lowest bits first; a shift of 32 and more lies in the second
        word of the instruction.
    kind
        A number, or a register of one of the files.
    signed
        Whether the bits are a two's complement.
    scale
        The operand is a multiple of this, and the bits hold the quotient.
    """

    name: str
    parts: tuple[tuple[int, int], ...]
    kind: Kind = Kind.NUMBER
    signed: bool = False
    scale: int = 1

    @property
    def limit(self) -> int:
        """One more than the largest value of the bits, unsigned."""
        return 1 << sum(bits for _, bits in self.parts)

    @property
    def least(self) -> int:
        """Smallest operand."""
        return -(self.limit // 2) * self.scale if self.signed else 0

    @property
    def most(self) -> int:
        """Largest operand."""
        return self.least + (self.limit - 1) * self.scale

    def put(self, operand: Number) -> Number:
        """Bits of operands in their range, at their places in the instruction."""
        result, rest = operand * 0, operand // self.scale % self.limit
        for shift, bits in self.parts:
            result = result | (rest & ((1 << bits) - 1)) << shift
            rest = rest >> bits
        return result

    def take(self, words: Sequence[Number]) -> Number:
        """Bits of the operand as an unsigned number, from the first word and, if any, the second."""
        result, place = words[0] * 0, 0
        for shift, bits in self.parts:
            piece = words[shift // WORD_BITS] >> shift % WORD_BITS & ((1 << bits) - 1)
            result = result | piece << place
            place += bits
        return result


@dataclass(frozen=True, slots=True)
class Instruction:
    """Encoding of one instruction.

    Attributes
    ----------
    mnemonic
        Name in listings; instructions that differ in the kinds of their operands may share it.
    code
        All bits outside the fields.
    fields
        Operands in the order of listings.
    words
        1 or 2. One of two words starts at a multiple of 8 bytes.
    source
        Document and section that gives the encoding.
    """

    mnemonic: str
    code: int
    fields: tuple[Field, ...]
    words: int = 1
    source: str = "ipu21.md 4"

    @property
    def mask(self) -> int:
        """Bits of the first word that tell the instruction from others."""
        free = sum(((1 << bits) - 1) << shift for f in self.fields for shift, bits in f.parts)
        return ~free & WORD_MASK

    @property
    def longest(self) -> int:
        """Most events or items that one row instruction lasts."""
        return next(field.limit for field in self.fields if field.name == "n")

    def shift(self, name: str) -> int:
        """Lowest bit of a field in its own word."""
        parts = next(field.parts for field in self.fields if field.name == name)
        return parts[0][0] % WORD_BITS

    def encode(self, *operands: int) -> tuple[int, ...]:
        """Words of the instruction.

        Raises
        ------
        ValueError
            For an operand out of its range, or another number of them.
        """
        if len(operands) != len(self.fields):
            found = f"{self.mnemonic}: found {len(operands)} operands"
            raise ValueError(f"{found}, expected {len(self.fields)}")
        value = self.code
        for field, operand in zip(self.fields, operands, strict=True):
            if not field.least <= operand <= field.most or operand % field.scale:
                raise self._outside(field, operand)
            value |= field.put(operand)
        return tuple(value >> WORD_BITS * word & WORD_MASK for word in range(self.words))

    def encode_many(self, *operands: IntArray | int) -> WordArray:
        """Words of many instructions of one word, by columns of operands that broadcast.

        Raises
        ------
        ValueError
            As :meth:`encode`, for the first operand out of its range.
        """
        value = np.array(self.code, np.int64)
        for field, column in zip(self.fields, operands, strict=True):
            numbers = np.asarray(column, np.int64)
            wrong = (numbers < field.least) | (numbers > field.most) | (numbers % field.scale > 0)
            if wrong.any():
                raise self._outside(field, int(numbers[wrong].flat[0]))
            value = value | field.put(numbers)
        return value.astype(np.uint32)

    def decode(self, *words: int) -> tuple[int, ...]:
        """Operands of an instruction of which ``words`` are the words."""
        result = []
        for field in self.fields:
            operand = field.take(words)
            if field.signed and operand >= field.limit // 2:
                operand -= field.limit
            result.append(operand * field.scale)
        return tuple(result)

    def _outside(self, field: Field, operand: int) -> ValueError:
        expected = f"{field.least}..{field.most}"
        if field.scale > 1:
            expected += f" in steps of {field.scale}"
        found = f"{self.mnemonic}: {field.name}: found {operand}"
        return ValueError(f"{found}, expected {expected}")
