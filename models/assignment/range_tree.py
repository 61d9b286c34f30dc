"""Memory in use beyond the room of every row: add to a span of rows, largest of a span.

A binary tree in two arrays: ``most[p]`` is the largest value below ``p``, with what was added to
all of it, ``added[p]``. Rows are the leaves ``size + 1 + row``; one leaf on each side is unused.
"""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.models.assignment.problem import IntArray

NOTHING = -(1 << 62)
"""Value of the leaves that are no rows."""


def range_tree(values: IntArray) -> tuple[IntArray, IntArray]:
    """Arrays ``most`` and ``added`` of a tree with these values."""
    size = 1
    while size < len(values) + 2:
        size *= 2
    most = np.full(2 * size, NOTHING, dtype=np.int64)
    most[size + 1 : size + 1 + len(values)] = values
    while size > 1:
        size //= 2
        most[size : 2 * size] = np.maximum(
            most[2 * size : 4 * size : 2], most[2 * size + 1 : 4 * size : 2]
        )
    return most, np.zeros_like(most)


@kernel
def add(most: IntArray, added: IntArray, start: int, stop: int, value: int) -> None:
    """Add ``value`` to the rows ``start <= row < stop``; nothing for an empty span."""
    size = len(most) // 2
    left, right = size + start, size + stop + 1
    while left ^ right != 1:
        if left & 1 == 0:
            most[left ^ 1] += value
            added[left ^ 1] += value
        if right & 1 == 1:
            most[right ^ 1] += value
            added[right ^ 1] += value
        left >>= 1
        right >>= 1
        most[left] = max(most[2 * left], most[2 * left + 1]) + added[left]
        most[right] = max(most[2 * right], most[2 * right + 1]) + added[right]
    while left > 1:
        left >>= 1
        most[left] = max(most[2 * left], most[2 * left + 1]) + added[left]


@kernel
def largest(most: IntArray, added: IntArray, start: int, stop: int) -> int:
    """Largest value of the rows ``start <= row < stop``."""
    size = len(most) // 2
    left, right = size + start, size + stop + 1
    of_left = of_right = NOTHING
    while left ^ right != 1:
        if left & 1 == 0:
            of_left = max(of_left, most[left ^ 1])
        if right & 1 == 1:
            of_right = max(of_right, most[right ^ 1])
        left >>= 1
        right >>= 1
        of_left += added[left]
        of_right += added[right]
    value = max(of_left, of_right)
    while left > 1:
        left >>= 1
        value += added[left]
    return value
