"""Durations, sizes and numbers as people write them.

Every function takes a string or a number and raises ``ValueError`` whose text says what would be
right; the caller knows where the value stood.
"""

from __future__ import annotations

import math
import re

_NUMBER = r"([0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?)"
_DURATION = re.compile(rf"{_NUMBER}\s*(ms|s|m|min|h)?", re.ASCII)
_SIZE = re.compile(rf"{_NUMBER}\s*([kKMGT]i?B|[kKMGT]i?|B)?", re.ASCII)
_MAX_BITS = 1000  # a float holds no more
_SECONDS = {"": 1.0, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_PREFIXES = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4}


def _finite(value: object) -> float | None:
    """Value of a finite number that is no boolean; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return None
    return float(value) if math.isfinite(value) else None


def seconds(value: object) -> float:
    """Seconds of ``60``, ``"90s"``, ``"2m"``, ``"1.5h"``, ``"250ms"``.

    Raises
    ------
    ValueError
        For anything else.
    """
    number = _finite(value)
    if number is None and isinstance(value, str) and (match := _DURATION.fullmatch(value.strip())):
        number = _finite(float(match[1]) * _SECONDS[match[2] or ""])
    if number is None:
        raise ValueError("a duration as 60, 90s, 2m or 1h")
    return number


def size_bytes(value: object) -> int:
    """Bytes of ``4096``, ``"624KiB"``, ``"1.5 GiB"``, ``"2GB"`` (decimal), ``"512K"`` (binary).

    Raises
    ------
    ValueError
        For anything else, and for a size that is no whole number of bytes.
    """
    number = _finite(value)
    if number is None and isinstance(value, str) and (match := _SIZE.fullmatch(value.strip())):
        unit = match[2] or ""
        base = 1000 if unit.endswith("B") and "i" not in unit else 1024
        number = _finite(float(match[1]) * base ** _PREFIXES[unit.rstrip("B").rstrip("i")])
    if number is None or number < 0 or number != int(number):
        raise ValueError("a size in whole bytes as 4096, 624KiB or 4GiB")
    return int(number)


def whole(value: object, low: int, high: int) -> int:
    """Whole number in ``[low, high]`` from a number or its decimal digits.

    Raises
    ------
    ValueError
        For anything else.
    """
    number = _finite(value)
    if isinstance(value, str) and re.fullmatch(r"[-+]?[0-9]{1,18}", value.strip(), re.ASCII):
        number = float(int(value))
    if number is None or number != int(number) or not low <= number <= high:
        raise ValueError(f"a whole number from {low} to {high}")
    return int(number)


def fraction(value: object) -> float:
    """Number in ``[0, 1]``.

    Raises
    ------
    ValueError
        For anything else.
    """
    number = _finite(value)
    if isinstance(value, str) and re.fullmatch(_NUMBER, value.strip(), re.ASCII):
        number = float(value)
    if number is None or not 0 <= number <= 1:
        raise ValueError("a number from 0 to 1 as 0.01")
    return number


def flag(value: object) -> bool:
    """Boolean, or ``"true"`` and ``"false"``; ``"1"`` and ``"0"`` for environment variables.

    Raises
    ------
    ValueError
        For anything else.
    """
    words = {"true": True, "false": False, "1": True, "0": False}
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().casefold() in words:
        return words[value.strip().casefold()]
    raise ValueError("true or false")
