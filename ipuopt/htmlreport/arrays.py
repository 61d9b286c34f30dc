"""Columns of numbers in the page: the smallest integers that hold them, as base64."""

from __future__ import annotations

import base64

import numpy as np

from ipuopt.program import IntArray

_KINDS = {"u1": "Uint8Array", "u2": "Uint16Array", "u4": "Uint32Array", "i4": "Int32Array"}
"""Types of little-endian arrays, and what scripts call them, narrowest first."""

Packed = tuple[str, str]
"""Name of the typed array in a script, and its bytes in base64."""


def packed(column: IntArray) -> Packed:
    """A column of integers in the narrowest type that holds all of them.

    Raises
    ------
    ValueError
        If a number has no place in 32 bits.
    """
    least, most = (int(column.min()), int(column.max())) if len(column) else (0, 0)
    for kind, name in _KINDS.items():
        limits = np.iinfo(kind)
        if limits.min <= least and most <= limits.max:
            return name, base64.b64encode(column.astype(f"<{kind}").tobytes()).decode()
    raise ValueError(f"{least}..{most} has no place in 32 bits")
