"""Columns of a phase from what callers have at hand, and what is wrong with them by transfer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ipuopt.compiled import small_kernel

IntArray = npt.NDArray[np.int64]

Column = npt.NDArray[Any] | Sequence[Any]
"""A number a transfer, or a list of numbers a transfer."""


def integers(name: str, column: Column) -> IntArray:
    """One whole number each.

    Raises
    ------
    ValueError
        Naming the column and what was found.
    """
    found = np.asarray(column)
    if found.size == 0 and found.ndim == 1:
        return np.zeros(0, np.int64)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        shape = list(found.shape)
        raise ValueError(f"{name}: found {found.dtype} of shape {shape}, expected whole numbers")
    return np.ascontiguousarray(found, np.int64)


def ragged(name: str, column: Column) -> tuple[IntArray, IntArray]:
    """All numbers in a row, and how many each transfer has.

    Raises
    ------
    ValueError
        Naming the column and the transfer.
    """
    if isinstance(column, np.ndarray) and column.ndim == 2 and column.dtype.kind in "iu":
        counts = np.full(len(column), column.shape[1], np.int64)
        return np.ascontiguousarray(column, np.int64).reshape(-1), counts
    if isinstance(column, np.ndarray) or not any(map(_is_list, column)):
        flat = integers(name, column)
        return flat, np.ones(len(flat), np.int64)
    parts = []
    for transfer, entry in enumerate(column):
        parts.append(
            integers(f"{name}: transfer {transfer}", entry if _is_list(entry) else [entry])
        )
    counts = np.array([len(part) for part in parts], np.int64)
    return np.concatenate(parts), counts


def _is_list(entry: object) -> bool:
    return isinstance(entry, Sequence | np.ndarray) and not isinstance(entry, str | bytes)


def by_iteration(flat: IntArray, counts: IntArray) -> IntArray:
    """Source addresses with one column an iteration; a single address serves all iterations.

    Raises
    ------
    ValueError
        Naming the first transfer with no address, or with a number of its own.
    """
    if not len(counts):
        return np.zeros((0, 1), np.int64)
    iterations = int(counts.max())
    bad = np.flatnonzero((counts != 1) & (counts != iterations))
    if iterations == 0 or len(bad):
        at = int(bad[0]) if len(bad) else 0
        expected = "1" if iterations < 2 else f"1 or, as others of the phase have, {iterations}"
        raise ValueError(
            f"transfer {at}: source_addresses: found {counts[at]} of them, expected {expected}"
        )
    if len(flat) == iterations * len(counts):
        return flat.reshape(len(counts), iterations)
    result: IntArray = np.repeat(flat, np.repeat(np.where(counts == 1, iterations, 1), counts))
    return result.reshape(len(counts), iterations)


def repeated(bounds: IntArray, tile: IntArray, tiles: int) -> int:
    """The first receiver whose tile the same transfer has already; -1 if there is none."""
    return _repeated(bounds, tile, np.full(tiles, -1, np.int64))


@small_kernel
def _repeated(bounds: IntArray, tile: IntArray, owner: IntArray) -> int:
    """``owner`` holds the last transfer to each tile."""
    for transfer in range(len(bounds) - 1):
        for receiver in range(bounds[transfer], bounds[transfer + 1]):
            if owner[tile[receiver]] == transfer:
                return receiver
            owner[tile[receiver]] = transfer
    return -1
