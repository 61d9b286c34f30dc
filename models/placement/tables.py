"""A problem in the form that compiled kernels take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.models.placement.greedy import HARD
from ipuopt.models.placement.problem import IntArray, Problem


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
    def columns(self) -> tuple[IntArray, ...]:
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
    """Compress the pairs of ``problem``; a pair that is distinct needs no conflict words."""
    count = len(problem)
    hard = np.full(len(problem.distinct), HARD, dtype=np.int64)
    pairs = np.sort(np.concatenate((problem.distinct, problem.conflict)), axis=1)
    words = np.concatenate((hard, problem.conflict_words))
    key = pairs[:, 0] * count + pairs[:, 1]
    is_hard = np.isin(key, key[: len(hard)])
    kept = ~is_hard
    kept[: len(hard)] = True
    kept &= pairs[:, 0] != pairs[:, 1]
    one, other, words = pairs[kept, 0], pairs[kept, 1], words[kept]
    owner = np.concatenate((one, other))
    order = np.argsort(owner, kind="stable")
    regions = problem.regions
    return Tables(
        size=problem.size_bytes,
        alignment=problem.alignment,
        interleaved=problem.interleaved,
        live=np.stack((problem.live_start, problem.live_stop), axis=1),
        near_start=np.searchsorted(owner[order], np.arange(count + 1)).astype(np.int64),
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
