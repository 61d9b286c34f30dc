"""One transfer of a snapshot that is not in the usual form: read, or told what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson

from ipuopt.errors import InputError
from ipuopt.models.exchange.problem import IntArray
from ipuopt.models.exchange.snapshot_text import NUMBER_STOP, WIDTHS


def read_object(where: str, text: bytes) -> tuple[IntArray, IntArray, IntArray]:
    """As :func:`~ipuopt.models.exchange.snapshot_text.scan`, of one object; more keys may follow.

    Raises
    ------
    InputError
        Naming ``where`` (file, phase, transfer), the field, what was found and expected.
    """
    try:
        transfer = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{where}: found bad JSON ({error.msg})") from None
    source = _whole(where, transfer, "source")
    words = _whole(where, transfer, "words")
    width = transfer.get("width")
    if not isinstance(width, str) or width not in WIDTHS:
        raise _wrong(where, "width", width, " or ".join(WIDTHS))
    addresses = transfer.get("source_addresses")
    if not isinstance(addresses, list) or not all(map(_is_whole, addresses)):
        raise _wrong(where, "source_addresses", addresses, "a list of byte addresses")
    receivers = transfer.get("destinations")
    if not isinstance(receivers, list) or not all(map(_is_pair, receivers)):
        raise _wrong(where, "destinations", receivers, "a list of [tile, byte address]")
    columns = [[source, len(addresses), len(receivers), words, WIDTHS.index(width)]]
    return (
        np.array(columns, np.int64),
        np.array(addresses, np.int64),
        np.array(receivers, np.int64).reshape(-1),
    )


def _whole(where: str, transfer: dict[str, Any], key: str) -> int:
    value = transfer.get(key)
    if isinstance(value, int) and _is_whole(value):
        return value
    raise _wrong(where, key, value, f"an integer from 0 to {NUMBER_STOP - 1}")


def _is_whole(value: Any) -> bool:
    return type(value) is int and 0 <= value < NUMBER_STOP


def _is_pair(value: Any) -> bool:
    return type(value) is list and len(value) == 2 and all(map(_is_whole, value))


def _wrong(where: str, key: str, found: object, expected: str) -> InputError:
    shown = "nothing" if found is None else f"{found!r:.60}"
    return InputError(f"{where}: {key}: found {shown}, expected {expected}")
