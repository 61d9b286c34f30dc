"""Rectangles: intersections and groups against brute force."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ipuopt.codegen.lower.boxes import Box, distinct, meeting
from ipuopt.rectangles import Rectangles

Bounds = list[tuple[int, int, int, int]]
rectangles = st.lists(
    st.tuples(st.integers(0, 9), st.integers(1, 4), st.integers(0, 9), st.integers(1, 4)).map(
        lambda b: (b[0], b[0] + b[1], b[2], b[2] + b[3])
    ),
    max_size=12,
)


def columns(bounds: Bounds) -> Box:
    table = np.array(bounds, dtype=np.int64).reshape(-1, 4)
    return table[:, 0], table[:, 1], table[:, 2], table[:, 3]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(one=rectangles, other=rectangles)
def test_meeting_finds_every_pair_once(one: Bounds, other: Bounds) -> None:
    first, second, shared = meeting(columns(one), columns(other))
    bounds = [bound.tolist() for bound in (first, second, *shared)]
    found = sorted((i, j, tuple(box)) for i, j, *box in zip(*bounds, strict=True))
    expected = []
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            both = (max(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), min(a[3], b[3]))
            if both[0] < both[1] and both[2] < both[3]:
                expected.append((i, j, both))
    assert found == expected
    assert np.all(np.diff(first) >= 0)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(bounds=rectangles.filter(len))
def test_distinct_groups_equal_rectangles(bounds: Bounds) -> None:
    row_start, row_stop, column_start, column_stop = columns(bounds)
    tile = np.arange(len(bounds))
    boxes = Rectangles(tile, row_start, row_stop, row_stop, column_start, column_stop, column_stop)
    groups = distinct(boxes)
    assert len(groups.first) == len(set(bounds))
    for number in range(len(groups.first)):
        holders = groups.holder[groups.start[number] : groups.start[number + 1]].tolist()
        same = [i for i, b in enumerate(bounds) if b == bounds[int(groups.first[number])]]
        assert holders == same
        assert set(groups.of[holders].tolist()) == {number}
