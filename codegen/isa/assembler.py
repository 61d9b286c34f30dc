"""From text to words.

A line is ``label:``, an instruction with operands separated by commas, ``.word NUMBER``, or empty;
``//`` starts a comment. Numbers are decimal or ``0x``; a name stands for the address of a label or
for a symbol from outside, also with a number added to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from ipuopt.codegen.isa.encoding import WORD_MASK, Instruction
from ipuopt.codegen.isa.operands import is_name, kind_of, value_of
from ipuopt.codegen.isa.table import INSTRUCTIONS
from ipuopt.errors import InputError
from ipuopt.target.constants import WORD_BYTES

WORD = ".word"


@dataclass(frozen=True, slots=True)
class Assembled:
    """Words, the address of the first, and the addresses of the labels."""

    address: int
    words: tuple[int, ...]
    labels: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Statement:
    """An instruction, or None for ``.word``, with the texts of its operands."""

    line: int
    address: int
    instruction: Instruction | None
    operands: tuple[str, ...]


def _by_mnemonic() -> Mapping[str, list[Instruction]]:
    result: dict[str, list[Instruction]] = defaultdict(list)
    for instruction in INSTRUCTIONS.values():
        result[instruction.mnemonic].append(instruction)
    return result


_FORMS = _by_mnemonic()


def assemble(text: str, address: int, symbols: Mapping[str, int] | None = None) -> Assembled:
    """Assemble ``text`` for ``address``.

    Parameters
    ----------
    address
        Of the first word, in bytes; a multiple of 4.
    symbols
        Addresses and other numbers that names may stand for.

    Raises
    ------
    InputError
        With the line: an unknown instruction or name, operands that it does not have or that do not
        fit, a label that exists already, an instruction of two words at an odd one.
    """
    if address % WORD_BYTES:
        raise InputError(f"code: found address {address:#x}, expected a multiple of {WORD_BYTES}")
    known = dict(symbols or {})
    labels: dict[str, int] = {}
    statements: list[_Statement] = []
    here = address
    for number, line in enumerate(text.splitlines(), start=1):
        code = line.partition("//")[0].strip()
        if code.endswith(":"):
            name = code.removesuffix(":").strip()
            if not is_name(name) or name in known:
                raise _wrong(number, f"found label {name!r}", "a name that is not in use")
            labels[name] = known[name] = here
        elif code:
            statement = _statement(number, here, code)
            statements.append(statement)
            here += WORD_BYTES * (
                1 if statement.instruction is None else statement.instruction.words
            )
    words = [word for statement in statements for word in _words(statement, known)]
    return Assembled(address, tuple(words), labels)


def _statement(line: int, address: int, code: str) -> _Statement:
    mnemonic, _, rest = code.partition(" ")
    operands = tuple(part.strip() for part in rest.split(",")) if rest.strip() else ()
    if mnemonic == WORD:
        if len(operands) != 1:
            raise _wrong(line, f"found {len(operands)} operands of {WORD}", "1")
        return _Statement(line, address, None, operands)
    forms = _FORMS.get(mnemonic, [])
    if not forms:
        raise _wrong(line, f"found {mnemonic!r}", "an instruction")
    kinds = tuple(map(kind_of, operands))
    for form in forms:
        if tuple(field.kind for field in form.fields) == kinds:
            break
    else:
        expected = " or ".join(", ".join(f.kind.value for f in form.fields) for form in forms)
        raise _wrong(line, f"found operands {', '.join(operands)} of {mnemonic}", expected)
    if form.words > 1 and address % (form.words * WORD_BYTES):
        raise _wrong(line, f"found {mnemonic} at {address:#x}", "a multiple of 8")
    return _Statement(line, address, form, operands)


def _words(statement: _Statement, known: Mapping[str, int]) -> tuple[int, ...]:
    try:
        values = [value_of(text, known) for text in statement.operands]
        if statement.instruction is not None:
            return statement.instruction.encode(*values)
    except ValueError as error:
        raise InputError(f"line {statement.line}: {error}") from None
    if not 0 <= values[0] <= WORD_MASK:
        raise _wrong(statement.line, f"found {values[0]}", f"0..{WORD_MASK:#x}")
    return (values[0],)


def _wrong(line: int, found: str, expected: str) -> InputError:
    return InputError(f"line {line}: {found}, expected {expected}")
