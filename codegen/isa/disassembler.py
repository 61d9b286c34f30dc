"""From words to text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ipuopt.codegen.isa.encoding import Instruction
from ipuopt.codegen.isa.operands import operand_text
from ipuopt.codegen.isa.table import INSTRUCTIONS
from ipuopt.target.constants import WORD_BYTES


@dataclass(frozen=True, slots=True)
class Line:
    """An instruction at its address, or a word that is none.

    Attributes
    ----------
    address
        In bytes.
    words
        One, or two.
    name
        Of the instruction in the table; empty for a word that is none.
    operands
        Its values.
    text
        As the assembler reads it.
    """

    address: int
    words: tuple[int, ...]
    name: str
    operands: tuple[int, ...]
    text: str


def _by_mask() -> Mapping[int, Mapping[int, str]]:
    """Names by the bits that tell instructions apart: mask, then code."""
    result: dict[int, dict[int, str]] = {}
    for name, instruction in INSTRUCTIONS.items():
        result.setdefault(instruction.mask, {})[instruction.code & instruction.mask] = name
    return result


_MASKS = _by_mask()


def disassemble(words: Sequence[int], address: int) -> Iterator[Line]:
    """One line an instruction.

    Parameters
    ----------
    words
        32-bit words.
    address
        Of the first one, in bytes.
    """
    place = 0
    while place < len(words):
        here = address + WORD_BYTES * place
        line = _line(here, words[place : place + 2])
        yield line
        place += len(line.words)


def _line(address: int, words: Sequence[int]) -> Line:
    word = int(words[0])
    name = instruction_of(word)
    if name:
        instruction = INSTRUCTIONS[name]
        # Two words start at a multiple of 8 bytes; elsewhere such a word is none (ipu21.md 3.3).
        complete = len(words) >= instruction.words
        if complete and address % (WORD_BYTES * instruction.words) == 0:
            taken = tuple(int(word) for word in words[: instruction.words])
            operands = instruction.decode(*taken)
            return Line(address, taken, name, operands, _text(instruction, operands))
    return Line(address, (word,), "", (), f".word {word:#010x}")


def instruction_of(word: int) -> str:
    """Name in the table of the instruction that ``word`` starts; empty if it starts none."""
    for mask, names in _MASKS.items():
        name = names.get(word & mask)
        if name is not None:
            return name
    return ""


def _text(instruction: Instruction, operands: tuple[int, ...]) -> str:
    fields = zip(instruction.fields, operands, strict=True)
    texts = ", ".join(operand_text(field, value) for field, value in fields)
    return f"{instruction.mnemonic} {texts}".rstrip()
