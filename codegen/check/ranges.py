"""(L1) Numbers of the tables that are no indices lie in the ranges that the formats allow."""

from __future__ import annotations

import numpy as np

from ipuopt.codegen.check.reading import KINDS, BoolArray, Reading, Violations, first_of
from ipuopt.layout import IntArray, OrderKind
from ipuopt.program import Role

MOST = 1 << 20
"""More bytes, and so elements and contributors, than a tile has (ipu21.md 2)."""

_MICRO_BYTES = 32
"""Bytes of a row of a weight panel; its inner block is a whole number of them."""

_BLOCKED = (OrderKind.BLOCK_MAJOR, OrderKind.TRANSPOSED_BLOCK_MAJOR)


def check_ranges(reading: Reading) -> Violations:
    """Kinds, blocks, extents and sizes of shards; extents and flags of runs."""
    return _shards(reading) + _extents(reading) + _runs(reading)


def _shards(reading: Reading) -> Violations:
    shards = reading.program.shards
    blocked = np.isin(shards.order, [KINDS.index(kind) for kind in _BLOCKED])
    micro = _MICRO_BYTES // np.maximum(1, reading.element_bytes)
    block = shards.order_block
    good_block = np.where(blocked, (block > 0) & (block % micro == 0), block == 0)
    alignment = shards.alignment
    return (
        _first(reading, ~good_block, "order_block", block, "a panel's, or 0 in other orders")
        + _first(reading, _outside(shards.role, 0, len(Role)), "role", shards.role, "a Role")
        + _first(
            reading,
            _outside(shards.interleaved, 0, 2),
            "interleaved",
            shards.interleaved,
            "0 or 1",
        )
        + _first(
            reading,
            (alignment < 4) | ((alignment & (alignment - 1)) != 0),
            "alignment",
            alignment,
            "a power of two, at least 4",
        )
        + _first(
            reading,
            _outside(shards.size_bytes, 1, MOST),
            "size_bytes",
            shards.size_bytes,
            f"1..{MOST - 1}",
        )
    )


def _extents(reading: Reading) -> Violations:
    shards = reading.program.shards
    found: Violations = ()
    for axis in ("row", "column"):
        start, end, stop = (getattr(shards, f"{axis}_{side}") for side in ("start", "end", "stop"))
        bad = (start < 0) | (end < start) | (stop < end)
        expected = f"{axis}_start <= {axis}_end <= {axis}_stop"
        found += _first(reading, bad, f"{axis}_end", end, expected)
    return found


def _runs(reading: Reading) -> Violations:
    runs = reading.program.runs
    found: Violations = ()
    for name, stop in (("rows", MOST), ("columns", MOST), ("inner", MOST), ("accumulate", 2)):
        column: IntArray = getattr(runs, name)
        found += _first_run(_outside(column, 0, stop), name, column, f"0..{stop - 1}")
    return found


def _outside(column: IntArray, least: int, stop: int) -> BoolArray:
    bad: BoolArray = (column < least) | (column >= stop)
    return bad


def _first(
    reading: Reading, bad: BoolArray, name: str, column: IntArray, expected: str
) -> Violations:
    return first_of(
        "L1", bad, lambda i: f"{reading.name(i)}: {name} is {column[i]}, expected {expected}"
    )


def _first_run(bad: BoolArray, name: str, column: IntArray, expected: str) -> Violations:
    return first_of("L1", bad, lambda i: f"run {i}: {name} is {column[i]}, expected {expected}")
