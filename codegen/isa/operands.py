"""Operands as text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ipuopt.codegen.isa.encoding import Field, Kind

_REGISTER = re.compile(r"\$([ma])(\d+)(?::(\d+))?")
_NAME = re.compile(r"[A-Za-z_.][\w.]*")
_SUM = re.compile(r"(?P<name>[A-Za-z_.][\w.]*)(?:\s*\+\s*(?P<number>\d\w*))?")
_SMALL = 10
"""Numbers from here on are written in hexadecimal."""


def operand_text(field: Field, value: int) -> str:
    """An operand as it stands in a listing."""
    if field.kind is Kind.M:
        return f"$m{value}"
    if field.kind is Kind.A:
        return f"$a{value}"
    if field.kind is Kind.PAIR:
        return f"$a{value}:{value + 1}"
    return str(value) if value < _SMALL else f"{value:#x}"


def kind_of(text: str) -> Kind:
    """What an operand is, from its text."""
    match = _REGISTER.fullmatch(text)
    if match is None:
        return Kind.NUMBER
    file, _, second = match.groups()
    if second is not None:
        return Kind.PAIR
    return Kind.M if file == "m" else Kind.A


def value_of(text: str, symbols: Mapping[str, int]) -> int:
    """Number, register number, or address of a symbol with what is added to it.

    Raises
    ------
    ValueError
        If the text is none of these.
    """
    match = _REGISTER.fullmatch(text)
    if match is not None:
        return int(match[2])
    total = _SUM.fullmatch(text)
    try:
        if total is None:
            return int(text, 0)
        return symbols[total["name"]] + int(total["number"] or "0", 0)
    except KeyError:
        raise ValueError(f"found {text}, expected a label or a known symbol") from None
    except ValueError:
        raise ValueError(f"found {text}, expected a register, a number or a label") from None


def is_name(text: str) -> bool:
    """Whether a text can be the name of a label."""
    return _NAME.fullmatch(text) is not None
