"""JSON without NaN, Infinity or integers that other readers would round."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from ipuopt.errors import InputError

EXACT_LIMIT = 2**53
"""Largest magnitude up to which every integer is a double."""


def plain(value: Any) -> Any:
    """Value made of what JSON has.

    Non-finite floats become null; integers past :data:`EXACT_LIMIT` become strings of digits.

    Raises
    ------
    TypeError
        For a type that JSON has no form for.
    """
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | np.integer):
        return int(value) if abs(int(value)) <= EXACT_LIMIT else str(int(value))
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, bytes | bytearray):
        return [plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def dumps(value: Any) -> bytes:
    """Indented JSON with a newline at the end; keys keep their order."""
    return orjson.dumps(plain(value), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def load_object(path: Path, kind: str) -> dict[str, Any]:
    """The JSON object in a file.

    Raises
    ------
    InputError
        If the file cannot be read or is no JSON object; ``kind`` says what it should be.
    """
    try:
        data = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        place = f"{path}:{error.lineno}:{error.colno}"
        raise InputError(f"{place}: found bad JSON ({error.msg}), expected {kind}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{path}: found {reason}, expected {kind}") from None
    if not isinstance(data, dict):
        found = {list: "a list", str: "a string", type(None): "null"}.get(type(data), "a number")
        raise InputError(f"{path}: found {found}, expected {kind}")
    return data
