"""Rectangles of shards as arrays: selecting, transposing, intersecting, finding equal ones."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from ipuopt.compiled import kernel
from ipuopt.layout import IntArray, Rectangles

Box = tuple[IntArray, IntArray, IntArray, IntArray]
"""Row start, row stop, column start, column stop of many rectangles."""


def take(boxes: Rectangles, index: IntArray) -> Rectangles:
    """Rectangles ``index``, in that order."""
    return Rectangles(*(getattr(boxes, column.name)[index] for column in fields(boxes)))


def select(box: Box, index: IntArray | npt.NDArray[np.bool_]) -> Box:
    """Bounds of the rectangles ``index``."""
    row_start, row_stop, column_start, column_stop = (bound[index] for bound in box)
    return row_start, row_stop, column_start, column_stop


def choose(condition: npt.NDArray[np.bool_], one: Rectangles, other: Rectangles) -> Rectangles:
    """Rectangles of ``one`` where the condition holds, else those of ``other``."""
    names = [column.name for column in fields(one)]
    return Rectangles(*(np.where(condition, getattr(one, n), getattr(other, n)) for n in names))


def transposed(boxes: Rectangles) -> Rectangles:
    """The same rectangles with rows and columns exchanged."""
    rows = (boxes.row_start, boxes.row_end, boxes.row_stop)
    columns = (boxes.column_start, boxes.column_end, boxes.column_stop)
    return Rectangles(boxes.tile, *columns, *rows)


def logical(boxes: Rectangles) -> Box:
    """Bounds without padding."""
    return boxes.row_start, boxes.row_end, boxes.column_start, boxes.column_end


def physical(boxes: Rectangles) -> Box:
    """Bounds with padding."""
    return boxes.row_start, boxes.row_stop, boxes.column_start, boxes.column_stop


@dataclass(frozen=True, slots=True)
class Distinct:
    """Rectangles that differ, and which shards hold them.

    Attributes
    ----------
    first
        First shard of each rectangle, shape ``(rectangles,)``.
    of
        Rectangle of each shard, shape ``(shards,)``.
    start, holder
        Shards of rectangle ``i`` are ``holder[start[i] : start[i + 1]]``, ascending.
    """

    first: IntArray
    of: IntArray
    start: IntArray
    holder: IntArray


def distinct(boxes: Rectangles) -> Distinct:
    """Group equal rectangles, padding included."""
    columns = [getattr(boxes, column.name) for column in fields(boxes)[1:]]
    _, first, of = np.unique(
        np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True
    )
    of = of.reshape(-1)
    holder = np.argsort(of, kind="stable")
    start = np.searchsorted(of[holder], np.arange(len(first) + 1))
    return Distinct(first, of, start, holder)


@kernel
def _meet(
    one: tuple[IntArray, IntArray, IntArray, IntArray],
    other: tuple[IntArray, IntArray, IntArray, IntArray],
    order: IntArray,
    tallest: int,
    pairs: IntArray,
) -> int:
    """Pairs that share an element; ``order`` sorts ``other`` by row start. Counts beyond ``pairs``."""
    count = 0
    starts = other[0][order]
    for i in range(len(one[0])):
        low = np.searchsorted(starts, one[0][i] - tallest, side="right")
        for j in order[low:]:
            if other[0][j] >= one[1][i]:
                break
            if max(one[0][i], other[0][j]) < min(one[1][i], other[1][j]) and max(
                one[2][i], other[2][j]
            ) < min(one[3][i], other[3][j]):
                if count < pairs.shape[1]:
                    pairs[0, count], pairs[1, count] = i, j
                count += 1
    return count


def meeting(one: Box, other: Box) -> tuple[IntArray, IntArray, Box]:
    """Pairs of rectangles that share an element, and the rectangle they share.

    Returns
    -------
    tuple
        Indices into ``one``, ascending, indices into ``other``, shared rectangles.
    """
    order = np.argsort(other[0], kind="stable")
    tallest = int((other[1] - other[0]).max(initial=0))
    pairs = np.zeros((2, 0), dtype=np.int64)
    pairs = np.zeros((2, _meet(one, other, order, tallest, pairs)), dtype=np.int64)
    _meet(one, other, order, tallest, pairs)
    i, j = pairs
    shared = (
        np.maximum(one[0][i], other[0][j]),
        np.minimum(one[1][i], other[1][j]),
        np.maximum(one[2][i], other[2][j]),
        np.minimum(one[3][i], other[3][j]),
    )
    return i, j, shared
