"""A problem in the form that compiled kernels take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.models.placement.greedy import HARD
from ipuopt.models.placement.problem import IntArray, Problem
from ipuopt.ranges import by_owner

Columns = tuple[
    IntArray, IntArray, IntArray, IntArray, IntArray, IntArray, IntArray, IntArray
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tables:
    """Columns of a problem, with the pairs of each buffer as compressed rows.

    Attributes
    ----------
    size, alignment, interleaved
        Shape ``(buffers,)``.
    live
        Steps ``[start, stop)``, shape ``(buffers, 2)``.
    near_start, near, near_words
        Neighbours of buffer ``i`` are ``near[near_start[i]:near_start[i + 1]]``; the words of the
        pair, or ``HARD`` if it is distinct.
    regions
        ``low_start, low_stop, high_start, high_stop, granule``.
    """

    size: IntArray
    alignment: IntArray
    interleaved: IntArray
    live: IntArray
    near_start: IntArray
    near: IntArray
    near_words: IntArray
    regions: IntArray

    @property
    def columns(self) -> Columns:
        """All columns, in the order in which the kernels take them."""
        return (
            self.size,
            self.alignment,
            self.interleaved,
            self.live,
            self.near_start,
            self.near,
            self.near_words,
            self.regions,
        )


def tables_of(problem: Problem) -> Tables:
    """Compress the pairs of ``problem``: each once, words added up, distinct before conflict."""
    count = len(problem)
    pairs = np.sort(np.concatenate((problem.distinct, problem.conflict)), axis=1)
    apart = pairs[:, 0] != pairs[:, 1]
    key, group = np.unique(pairs[apart] @ np.array((count, 1)), return_inverse=True)
    given = np.concatenate((np.zeros(len(problem.distinct)), problem.conflict_words))[apart]
    words = np.bincount(group, weights=given, minlength=len(key)).astype(np.int64)
    is_hard = np.arange(len(pairs))[apart] < len(problem.distinct)
    words[group[is_hard]] = HARD
    one, other = key // max(1, count), key % max(1, count)
    owner = np.concatenate((one, other))
    order, near_start = by_owner(owner, count)
    regions = problem.regions
    return Tables(
        size=problem.reserved_bytes,
        alignment=problem.alignment,
        interleaved=problem.interleaved,
        live=np.stack((problem.live_start, problem.live_stop), axis=1),
        near_start=near_start,
        near=np.concatenate((other, one))[order],
        near_words=np.concatenate((words, words))[order],
        regions=np.array(
            (
                regions.low_start,
                regions.low_stop,
                regions.high_start,
                regions.high_stop,
                regions.granule,
            ),
            dtype=np.int64,
        ),
    )
