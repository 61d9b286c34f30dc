"""Table of the instructions that are emitted or simulated: fields, bits, ranges, sources.

Every opcode, shift and limit of encoders, decoders and simulators is taken from here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from ipuopt.codegen.isa.encoding import Field, Instruction, Kind

_ISA = "isa.md"


def _row(
    mnemonic: str, code: int, words: int = 1, **parts: Sequence[tuple[int, int]]
) -> Instruction:
    """An instruction whose operands are unsigned numbers."""
    fields = tuple(Field(name, tuple(pieces)) for name, pieces in parts.items())
    return Instruction(mnemonic, code, fields, words)


def _m(name: str, shift: int) -> Field:
    return Field(name, ((shift, 4),), Kind.M)


def _a(name: str, shift: int) -> Field:
    return Field(name, ((shift, 4),), Kind.A)


def _pair(name: str, shift: int) -> Field:
    """Two registers by the lower, even one; bit 0 of the number stays 0."""
    return Field(name, ((shift + 1, 3),), Kind.PAIR, scale=2)


def _number(name: str, bits: int, *, signed: bool = False) -> Field:
    return Field(name, ((0, bits),), signed=signed)


def _of(mnemonic: str, code: int, *fields: Field, source: str = "ipu21.md 4") -> Instruction:
    return Instruction(mnemonic, code, fields, source=source)


_TARGET = Field("address", ((0, 19),), scale=4)
"""Where a branch or call goes, in bytes; the bits hold words."""
_SPECIAL = _number("special", 8)
_MEMORY = (_m("b", 20), _m("delta", 12), _number("off", 12))
"""Base, delta and offset of a memory access; the offset counts accesses."""
_DESTINATION_SOURCE = (_m("d", 16), _m("s", 20))
_THREE_M = (_m("d", 4), _m("s", 20), _m("t", 12))

INSTRUCTIONS: Mapping[str, Instruction] = {
    "delay": _row("delay", 0x40A00000, n=[(0, 19)]),
    "delaypic": _row("delaypic", 0x60000000, n=[(19, 7)], sel=[(18, 1)], v=[(0, 18)]),
    "delayxpic": _row("delayxpic", 0x64000000, n=[(14, 12)], sel=[(13, 1)], v=[(0, 13)]),
    "send": _row("send", 0x78000000, n=[(21, 6)], a=[(3, 18)], c=[(0, 3)]),
    "sendoff": _row("sendoff", 0x70000000, n=[(21, 6), (14, 6)], a=[(3, 11)], c=[(0, 3)]),
    "sendpic": _row("sendpic", 0x70100000, n=[(21, 6)], sel=[(18, 2)], v=[(0, 18)]),
    "sendpicp": _row(
        "sendpicp",
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
    "br": _of("br", 0x43000000, _m("m", 20)),
    "setzi": _of("setzi", 0x19000000, _m("m", 20), _number("imm", 20)),
    "put": _of("put", 0x43008000, _SPECIAL, _m("m", 20)),
    "ld32": _of("ld32", 0x01000000, _m("d", 16), *_MEMORY),
    "st32": _of("st32", 0x4F000000, _m("s", 16), *_MEMORY),
    "add": _of("add", 0x22000000, *_DESTINATION_SOURCE, _number("imm", 16, signed=True)),
    "shl": _of("shl", 0x4200A000, *_DESTINATION_SOURCE, _number("imm", 12)),
    "brz": _of("brz", 0x13000000, _m("m", 20), _TARGET),
    "call": _of("call", 0x18000000, _m("m", 20), _TARGET),
    "sync": _of("sync", 0x41800000, _number("zone", 8)),
    "sans": _of("sans", 0x40C00000, _number("n", 8)),
    "get": _of("get", 0x41000000, _m("d", 16), _SPECIAL, source=_ISA),
    "runall": _of(
        "runall", 0x15000000, _m("entry", 20), _m("base", 12), _number("imm", 12), source=_ISA
    ),
    "trap": _of("trap", 0x41801000, _number("n", 8), source=_ISA),
    "brnz": _of("brnz", 0x11000000, _m("s", 20), _TARGET, source=_ISA),
    "brnzdec": _of("brnzdec", 0x13080000, _m("s", 20), _TARGET, source=_ISA),
    "and": _of("and", 0x42008000, *_DESTINATION_SOURCE, _number("imm", 12), source=_ISA),
    "shr": _of("shr", 0x4200D000, *_DESTINATION_SOURCE, _number("imm", 12), source=_ISA),
    "add_m": _of("add", 0x44000001, *_THREE_M, source=_ISA),
    "sub_m": _of("sub", 0x44000602, _m("d", 4), _m("s", 12), _m("t", 20), source=_ISA),
    "exitz": _of("exitz", 0x43004000, _m("s", 20), source=_ISA),
    "put_a": _of("put", 0x51008000, _SPECIAL, _a("a", 20), source=_ISA),
    "ld64_a": _of("ld64", 0x09000000, _pair("d", 16), *_MEMORY, source=_ISA),
    "urand64": _of("urand64", 0x50000100, _pair("d", 4), source=_ISA),
}
"""Instructions by a name of their own; most have that of their listing. Those of rows come first, and
``br`` is the last of them: the simulator tells them by that."""


@lru_cache(maxsize=1 << 16)
def encode(name: str, *operands: int) -> tuple[int, ...]:
    """Words of instruction ``name``; see :meth:`~ipuopt.codegen.isa.encoding.Instruction.encode`."""
    return INSTRUCTIONS[name].encode(*operands)
