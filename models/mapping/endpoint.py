"""Lower bound on an exchange phase, from what its tiles must send and receive.

A tile receives one word an event, and its last word is written ``57 + 2 row`` events after its
source window ends; the first window opens at event 1 or later. A tile sends one word an event, and
its last word still has to reach some receiver. Both hold for every schedule of single-word
transfers, whatever its order (ipu21.md 3.1 and 3.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ipuopt.compiled import inner_kernel
from ipuopt.layout import IntArray
from ipuopt.models.mapping.footprint import Int32Array
from ipuopt.target.constants import RECEIVE_LATENCY, ROW_LATENCY, SOURCE_LATENCY
from ipuopt.target.fabric import ROW, time_to_mux


@dataclass(frozen=True, slots=True)
class Latency:
    """Events beside the words of a tile, shape ``(tiles,)`` each.

    Attributes
    ----------
    arrive
        A tile that receives w words is done at event ``w + arrive`` or later.
    depart
        A phase in which a tile sends w words lasts ``w + depart`` events or more; at least 0.
    """

    arrive: IntArray
    depart: IntArray


@lru_cache(maxsize=8)
def latency(tiles: int) -> Latency:
    """Heads and tails of logical tiles ``0..tiles-1``.

    The transfer that a tile sends last starts at event 0 or later after all its other words, and
    its receiver t is done ``T(s, t) + 1 + 57 + 2 row(t)`` events after its last word left. Which
    tile that is depends on the schedule, so the least over all tiles is taken.
    """
    arrive = SOURCE_LATENCY + RECEIVE_LATENCY + ROW_LATENCY * ROW[:tiles]
    reach = time_to_mux(tiles) + arrive
    np.fill_diagonal(reach, np.iinfo(np.int64).max)
    depart = np.maximum(0, reach.min(axis=1)) if tiles > 1 else np.zeros(1, dtype=np.int64)
    for table in (arrive, depart):
        table.flags.writeable = False
    return Latency(arrive, depart)


@inner_kernel
def elements_before(
    index: int, row_start: int, row_end: int, left: int, right: int, columns: int
) -> int:
    """Elements of a rectangle before ``index`` in the row-major sequence of the whole value."""
    width = right - left
    row = index // columns
    if row < row_start:
        return 0
    if row >= row_end:
        return (row_end - row_start) * width
    return (row - row_start) * width + min(max(index - row * columns, left), right) - left


@inner_kernel
def shared_elements(
    first: Int32Array, first_linear: int, second: Int32Array, second_linear: int, columns: int
) -> int:
    """Elements that two shards have in common; arguments as in ``Footprints.bounds``."""
    if first_linear and second_linear:
        common: int = min(first[1], second[1]) - max(first[0], second[0])
        return max(0, common)
    if first_linear or second_linear:
        line, grid = (first, second) if first_linear else (second, first)
        after = elements_before(line[1], grid[0], grid[1], grid[2], grid[3], columns)
        return after - elements_before(line[0], grid[0], grid[1], grid[2], grid[3], columns)
    rows: int = min(first[1], second[1]) - max(first[0], second[0])
    width: int = min(first[3], second[3]) - max(first[2], second[2])
    return rows * width if rows > 0 and width > 0 else 0
