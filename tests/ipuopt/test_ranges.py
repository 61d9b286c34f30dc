"""Compressed rows by hand and against plain loops."""

from __future__ import annotations

import numpy as np

from ipuopt.ranges import by_owner, ranges


def test_ranges_by_hand() -> None:
    assert ranges(np.array([5, 0, 7]), np.array([2, 0, 3])).tolist() == [5, 6, 7, 8, 9]
    nothing = np.zeros(0, dtype=np.int64)
    assert ranges(nothing, nothing).tolist() == []


def test_entries_of_every_owner() -> None:
    owner = np.random.default_rng(0).integers(0, 6, 50)
    owner[owner == 3] = 4  # one owns nothing
    order, bounds = by_owner(owner, 7)
    assert bounds.shape == (8,) and bounds[0] == 0 and bounds[-1] == 50
    for number in range(7):
        mine = order[bounds[number] : bounds[number + 1]]
        assert mine.tolist() == np.flatnonzero(owner == number).tolist()
