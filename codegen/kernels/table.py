"""The table of kernels: symbol, what it is called for, what it does, what it costs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from ipuopt.codegen.kernels import asks, charges, meaning
from ipuopt.codegen.kernels.names import PREFIX
from ipuopt.errors import InputError

Meaning = Callable[[re.Match[str], meaning.Arguments, meaning.Operands], None]

COPY = "copy"
"""What the three kernels of local copies are called for."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Kernels of one shape of symbols.

    Attributes
    ----------
    pattern
        Of the symbols.
    purpose
        Name of the :class:`~ipuopt.program.Kernel` in small letters, or :data:`COPY`.
    meaning
        What a call does to memory; None for code that the runtime brings.
    charge
        What it costs.
    asks
        What it asks of its arguments.
    """

    pattern: re.Pattern[str]
    purpose: str
    meaning: Meaning | None
    charge: charges.Charge
    asks: asks.Asks


_EXTENTS = r"r(\d+)_p(\d+)_c(\d+)_p(\d+)"
_BLOCK = r"k(\d+)_c(\d+)_r(\d+)_r(\d+)"
_NUMBER = "(f16|f32)"
_FORM = r"(?:amp|([a-z_]+?)(?:_(\d+))?)"
_KERNELS = tuple(
    Entry(re.compile(PREFIX + pattern), purpose, act, charge, asked)
    for pattern, purpose, act, charge, asked in (
        (
            rf"gemm_{_NUMBER}_(init|accumulate)_(small|large)_rows(_interleaved)?_{_BLOCK}",
            "matmul",
            meaning.gemm,
            charges.gemm,
            asks.GEMM,
        ),
        (rf"reduce_sum_{_NUMBER}", "sum", meaning.reduce_sum, charges.reduce_sum, asks.SUM),
        (rf"gelu_tanh_approx_{_NUMBER}", "gelu", meaning.gelu, charges.gelu, asks.GELU),
        (rf"add_{_NUMBER}", "add", meaning.add, charges.add, asks.ADD),
        (rf"cast_{_NUMBER}_{_NUMBER}", "cast", meaning.cast, charges.cast, asks.CAST),
        (
            rf"rearrange_row_major_to_{_FORM}_{_NUMBER}_(?:o(\d)_)?{_EXTENTS}",
            "pack",
            meaning.pack,
            charges.pack,
            asks.TRANSFORM,
        ),
        (
            rf"unpack_{_FORM}_to_row_major_{_NUMBER}_(?:o(\d)_)?{_EXTENTS}",
            "unpack",
            meaning.unpack,
            charges.unpack,
            asks.TRANSFORM,
        ),
        ("fill_zero_u64", "clear", meaning.clear, charges.clear, asks.CLEAR),
        ("copy_u64", COPY, meaning.copy, charges.copy, asks.COPY),
        ("copy_strided_u64", COPY, meaning.copy_strided, charges.copy_strided, asks.STRIDED),
        ("static_copy_u32", COPY, None, charges.copy_words, asks.WORDS),
    )
)


@lru_cache(maxsize=1024)
def _find(name: str) -> tuple[Entry, re.Match[str]]:
    for entry in _KERNELS:
        match = entry.pattern.fullmatch(name)
        if match:
            return entry, match
    raise InputError(f"kernel {name}: found no meaning of it, expected a kernel of the table")


def has_body(name: str) -> bool:
    """Whether a symbol is that of a kernel whose body is code of its own, which :func:`act` replaces."""
    return any(entry.meaning and entry.pattern.fullmatch(name) for entry in _KERNELS)


def purpose(name: str) -> str:
    """What a kernel is called for; raises as :func:`act` for an unknown symbol."""
    return _find(name)[0].purpose


def act(name: str, arguments: meaning.Arguments, memory: meaning.Bytes, base: int) -> None:
    """Carry out a kernel call.

    Parameters
    ----------
    name
        Symbol.
    arguments
        $m2 and the registers behind it.
    memory, base
        Bytes of a tile and the address of the first one.

    Raises
    ------
    InputError
        For a symbol without a meaning, or an operand outside the memory.
    OperandError
        For an operand where the kernel may not have it.
    """
    entry, match = _find(name)
    if entry.meaning is None:
        raise InputError(f"kernel {name}: found code of the runtime, expected a kernel of its own")
    operands = meaning.Operands(memory, base, name)
    entry.asks.refuse(name, match, arguments)
    entry.meaning(match, arguments, operands)
    entry.asks.refuse_shared(name, arguments, operands.spans)


def charge(name: str, arguments: meaning.Arguments) -> int:
    """Cycles of a kernel call, from what it is passed.

    Raises
    ------
    InputError
        For a symbol without a meaning.
    """
    entry, match = _find(name)
    return entry.charge(match, arguments)
