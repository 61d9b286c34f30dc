"""Rectangles of shards as arrays: selecting, transposing, intersecting, finding equal ones."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from ipuopt.layout import IntArray
from ipuopt.ranges import ranges
from ipuopt.rectangles import Rectangles

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


def meeting(one: Box, other: Box) -> tuple[IntArray, IntArray, Box]:
    """Pairs of rectangles that share an element, and the rectangle they share.

    Returns
    -------
    tuple
        Indices into ``one``, ascending, indices into ``other``, shared rectangles.
    """
    order = np.argsort(other[0], kind="stable")
    starts = other[0][order]
    tallest = int((other[1] - other[0]).max(initial=0))
    low = np.searchsorted(starts, one[0] - tallest, side="right")
    count = np.maximum(0, np.searchsorted(starts, one[1], side="left") - low)
    i = np.repeat(np.arange(len(count)), count)
    j = order[ranges(low, count)]
    apart = (other[1][j] <= one[0][i]) | (other[2][j] >= one[3][i]) | (other[3][j] <= one[2][i])
    i, j = i[~apart], j[~apart]
    shared = (
        np.maximum(one[0][i], other[0][j]),
        np.minimum(one[1][i], other[1][j]),
        np.maximum(one[2][i], other[2][j]),
        np.minimum(one[3][i], other[3][j]),
    )
    return i, j, shared
