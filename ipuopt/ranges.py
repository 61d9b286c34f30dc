"""Compressed rows: entries sorted by their owner, and where the entries of each owner begin."""

from __future__ import annotations

import numpy as np

from ipuopt.layout import IntArray


def ranges(start: IntArray, count: IntArray) -> IntArray:
    """All of ``start[i] .. start[i] + count[i] - 1``, one range after another."""
    skipped = np.cumsum(count) - count
    result: IntArray = np.arange(count.sum(), dtype=np.int64)
    result += np.repeat(start - skipped, count)
    return result


def by_owner(owner: IntArray, owners: int) -> tuple[IntArray, IntArray]:
    """Entries in order of their owner, and where each owner's begin.

    Returns
    -------
    tuple
        ``order``, stable, and ``bounds``, shape ``(owners + 1,)``: the entries of owner ``i`` are
        ``order[bounds[i] : bounds[i + 1]]``.
    """
    order = np.argsort(owner, kind="stable")
    return order, np.searchsorted(owner[order], np.arange(owners + 1))
