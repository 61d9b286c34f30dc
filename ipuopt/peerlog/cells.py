"""Cells that several tables make out of fields."""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal

from ipuopt.peerlog.table import rounded

_RANGE = re.compile(r"\((\d+), (\d+)\)")
_FLOAT = re.compile(r"-?\d+(?:\.\d+)?")


def short_path(path: str | None) -> str | None:
    """A path without what is personal in it.

    Relative paths stay. Of others remains what follows ``device/`` or ``kernels/``, with that
    folder's name for sources of kernels, else the last part.
    """
    if path is None or not path.startswith("/"):
        return path
    for folder in ("device/", "kernels/"):
        _, found, rest = path.rpartition(f"/{folder}")
        if found:
            return f"{folder}{rest}" if folder == "device/" else rest
    return path.rpartition("/")[2]


def ranges(value: str | None) -> tuple[str | None, int | None]:
    """``[(a, b), (c, d)]`` as ``a-b;c-d``, and the bytes that they hold."""
    if value is None:
        return None, None
    pairs = [(int(start), int(end)) for start, end in _RANGE.findall(value)]
    return ";".join(f"{a}-{b}" for a, b in pairs), sum(b - a for a, b in pairs)


def numbers(value: str | None) -> str | None:
    """The integers of a ``Debug`` list or set, parted by blanks; None when there are none."""
    return " ".join(re.findall(r"\d+", value or "")) or None


def decimal(value: str | None) -> Decimal | None:
    """A printed decimal with all its digits."""
    return Decimal(value) if value is not None and _FLOAT.fullmatch(value) else None


def milliseconds(start: str | None, end: str | None) -> Decimal | None:
    """From one timestamp to another, with three decimals; None without both."""
    if start is None or end is None:
        return None
    try:
        passed = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    except ValueError:
        return None
    return rounded(passed.total_seconds() * 1e3, 3)
