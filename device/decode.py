"""The table of instructions as arrays, for compiled code that splits words.

Everything here is made from :data:`ipuopt.codegen.isa.INSTRUCTIONS`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ipuopt.codegen.isa import INSTRUCTIONS
from ipuopt.compiled import inner_kernel
from ipuopt.layout import IntArray

Words = npt.NDArray[np.uint32]
Whole = int | np.int64
"""A word in compiled code, where unsigned numbers would turn sums into fractions."""

NONE = -1
"""Of a word that is no instruction."""
NAMES = tuple(INSTRUCTIONS)
_INDEX = {name: place for place, name in enumerate(NAMES)}
(DELAY, DELAYPIC, DELAYXPIC, SEND, SENDOFF, SENDPIC, SENDPICP) = (
    _INDEX[name]
    for name in ("delay", "delaypic", "delayxpic", "send", "sendoff", "sendpic", "sendpicp")
)
(BR, SETZI, PUT, LD32, ST32, ADD, SHL, BRZ, CALL, SYNC, SANS, GET, RUNALL, TRAP) = (
    _INDEX[name]
    for name in (
        *("br", "setzi", "put", "ld32", "st32", "add", "shl", "brz", "call", "sync", "sans"),
        *("get", "runall", "trap"),
    )
)
(BRNZ, BRNZDEC, AND, SHR, ADD_M, SUB_M, EXITZ, PUT_A, LD64_A, URAND64) = (
    _INDEX[name]
    for name in (
        *("brnz", "brnzdec", "and", "shr", "add_m", "sub_m", "exitz", "put_a", "ld64_a"),
        "urand64",
    )
)
MOST_OPERANDS = max(len(instruction.fields) for instruction in INSTRUCTIONS.values())
_COUNT = np.array([len(instruction.fields) for instruction in INSTRUCTIONS.values()])
_PIECES = max(len(f.parts) for i in INSTRUCTIONS.values() for f in i.fields)
_TOP_BITS = 8


def _tables() -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray]:
    """Candidates by the top byte; mask and code; pieces of fields; their sign and scale; words."""
    count = len(NAMES)
    match = np.zeros((count, 2), np.int64)
    pieces = np.zeros((count, MOST_OPERANDS, _PIECES, 2), np.int64)
    form = np.zeros((count, MOST_OPERANDS, 2), np.int64)
    words = np.zeros(count, np.int64)
    candidates: list[list[int]] = [[] for _ in range(1 << _TOP_BITS)]
    for place, instruction in enumerate(INSTRUCTIONS.values()):
        match[place] = instruction.mask, instruction.code & instruction.mask
        words[place] = instruction.words
        for number, field in enumerate(instruction.fields):
            form[place, number] = field.limit if field.signed else 0, field.scale
            for part, piece in enumerate(field.parts):
                pieces[place, number, part] = piece
        for top, found in enumerate(candidates):
            mask, code = (int(value) >> 32 - _TOP_BITS for value in match[place])
            if top & mask == code:
                found.append(place)
    table = np.full((1 << _TOP_BITS, max(map(len, candidates))), NONE, np.int64)
    for top, found in enumerate(candidates):
        table[top, : len(found)] = found
    return table, match, pieces, form, words


_CANDIDATES, _MATCH, _FIELDS, _FORM, LENGTH = _tables()


@inner_kernel
def name_of(word: Whole) -> int:
    """Index into ``NAMES`` of the instruction that a word starts, or ``NONE``."""
    for place in _CANDIDATES[word >> 24]:
        if place >= 0 and word & _MATCH[place, 0] == _MATCH[place, 1]:
            return int(place)
    return NONE


@inner_kernel
def split(name: int, word: Whole, second: Whole, operands: IntArray) -> None:
    """Write the operands of an instruction of one or two words; those that it has not stay."""
    for number in range(_COUNT[name]):
        value, place = 0, 0
        for part in range(_PIECES):
            shift, bits = _FIELDS[name, number, part, 0], _FIELDS[name, number, part, 1]
            if bits == 0:
                break
            source = word
            if shift >= 32:
                source, shift = second, shift - 32
            value |= (source >> shift & ((1 << bits) - 1)) << place
            place += bits
        limit = _FORM[name, number, 0]
        if limit > 0 and value >= limit // 2:
            value -= limit
        operands[number] = value * _FORM[name, number, 1]
