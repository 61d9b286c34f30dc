"""Which candidates stay: dominance inside groups that look alike from outside, then a cap."""

from __future__ import annotations

import logging

import numpy as np

from ipuopt.layout import IntArray

logger = logging.getLogger(__name__)


def undominated(groups: IntArray, vectors: IntArray) -> IntArray:
    """Labels that no other label of their group matches or beats in every column.

    Dropping the others loses no optimum: a dominating label has the same layouts on all edges,
    costs no more and needs no more memory. Of equal labels the first stays.

    Parameters
    ----------
    groups
        Group of each label, shape ``(labels,)``.
    vectors
        Cost and memory of each label, shape ``(labels, columns)``; less is better.

    Returns
    -------
    array
        Positions, ascending.
    """
    order = np.lexsort((*vectors.T[::-1], groups))
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    kept = []
    for members in np.split(order, starts[1:]):
        rows = vectors[members]
        # Sorted lexicographically, a label can only be dominated by an earlier one.
        better = (rows[:, None, :] <= rows[None, :, :]).all(axis=2)
        kept.append(members[~np.triu(better, 1).any(axis=0)])
    return np.sort(np.concatenate(kept)) if len(groups) else np.zeros(0, dtype=np.int64)


def front(score: IntArray, other: IntArray) -> IntArray:
    """Labels that no label with a smaller or equal score has less of ``other`` than; positions."""
    order = np.lexsort((other, score))
    least = np.minimum.accumulate(other[order])
    first: IntArray = order[np.flatnonzero(np.diff(least, prepend=least[:1] + 1))]
    return first


def capped(name: str, score: IntArray, memory: IntArray, limit: int) -> IntArray:
    """At most ``limit`` labels: the trade-offs of score against each kind of memory, the cheapest.

    Parameters
    ----------
    name
        Of the operation, for the log.
    score
        Cycles by which labels are compared, shape ``(labels,)``.
    memory
        Kinds of memory, shape ``(labels, kinds)``.

    Returns
    -------
    array
        Positions, ascending.
    """
    if len(score) <= limit:
        return np.arange(len(score), dtype=np.int64)
    first = [front(score, kind) for kind in memory.T]
    cheapest = np.argsort(score, kind="stable")
    wanted = np.concatenate([*first, cheapest])
    kept = np.sort(wanted[np.sort(np.unique(wanted, return_index=True)[1])][:limit])
    logger.info(
        "%s: %d of %d candidates kept by the cap; the cheapest dropped costs %d, the cheapest %d",
        name,
        limit,
        len(score),
        int(np.delete(score, kept).min()),
        int(score.min()),
    )
    return kept
