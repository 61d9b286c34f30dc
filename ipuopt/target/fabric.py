"""Geometry of the exchange fabric: where a logical tile lies, and how long a word travels.

All tables are indexed by logical tiles. Symbols and formulas are those of ipu21.md 1.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ipuopt.layout import IntArray
from ipuopt.target.constants import TILES

Int8Array = npt.NDArray[np.int8]
BoolArray = npt.NDArray[np.bool_]

ROWS = 23
"""Rows of the chip (ipu21.md 1)."""


def _physical_of_logical() -> IntArray:
    """Blocks of 23 pairs run up one column of the chip and down the next one."""
    pair, lane = np.divmod(np.arange(TILES, dtype=np.int64), 2)
    block, step = np.divmod(pair, ROWS)
    row = np.where(block % 2, ROWS - 1 - step, step)
    physical: IntArray = 64 * row + 4 * (block // 2) + block % 2 + 2 * lane
    return physical


def _read_only(array: IntArray) -> IntArray:
    array.flags.writeable = False
    return array


PHYSICAL: IntArray = _read_only(_physical_of_logical())
"""Physical number of each logical tile, shape ``(1472,)``; a permutation."""
LOGICAL: IntArray = _read_only(np.argsort(PHYSICAL))
"""Logical number of each physical tile, shape ``(1472,)``."""
ROW: IntArray = _read_only(PHYSICAL // 64)
"""Row 0..22 of each logical tile, shape ``(1472,)``; late rows receive later."""
PARTNER: IntArray = _read_only(np.arange(TILES, dtype=np.int64) ^ 1)
"""Logical tile that shares the double-width path; its physical number is that of the tile xor 2."""


def _fold(column: IntArray) -> IntArray:
    """Distance of a half-column from the outer edge of its half of the chip."""
    return np.where(column < 8, column, 15 - column)


def _edge(column: IntArray) -> IntArray:
    """Events to the edge of the half (ipu21.md 1)."""
    return np.where(column < 8, 4 * column, (4 * column) ^ 60)


def _half_column(physical: IntArray) -> IntArray:
    return physical // 4 % 16


def _displacement(sources: IntArray, targets: IntArray) -> IntArray:
    """Displacement d(s, t) of routes between physical tiles, shape ``(sources, targets)``."""
    column, half = _half_column(sources), _half_column(sources) // 8
    origin = _fold(column) + (half ^ (sources % 2))
    column, lane = _half_column(targets), targets % 4
    half = column // 8
    upper = np.where(half == targets % 2, 2, 4)
    lower = np.where(half == lane, 1, 5)
    reach = 6 * _fold(column) + np.where(lane >= 2, upper, lower)
    displacement: IntArray = reach[None, :] - 6 * origin[:, None]
    return displacement


def _time(sources: IntArray, targets: IntArray) -> IntArray:
    """Time to mux T(s, t) between physical tiles, shape ``(sources, targets)``.

    Only the turn and the displacement couple the two tiles; the rest is a sum of one part a tile.
    """
    s_column, t_column = _half_column(sources), _half_column(targets)
    low = s_column % 8
    local = 8 * (s_column // 8) + sources // 8 % 4
    s_part = local + ((low // 2) ^ 3) + _edge(s_column) + 2 * (sources // 64) - 34
    t_part = t_column + _edge(t_column) + 2 * (targets // 64)
    turns = np.stack((16 - low, low + 1), axis=1) + s_part[:, None]
    agree = (sources[:, None] ^ targets[None, :]) & 32 == 0
    time = np.where(agree, turns[:, 1:], turns[:, :1])
    time -= t_part[None, :]
    time += np.abs(_displacement(sources, targets))
    return time


def _check(tiles: int) -> None:
    if not 1 <= tiles <= TILES:
        raise ValueError(f"{tiles} tiles, expected 1..{TILES}")


@lru_cache(maxsize=4)
def time_to_mux(tiles: int = TILES) -> IntArray:
    """Events from the first word leaving a source until a target can select it, minus one.

    Parameters
    ----------
    tiles
        Logical tiles 0..tiles-1 are taken, 1..1472.

    Returns
    -------
    array
        ``T[source, target]``, shape ``(tiles, tiles)``, read-only and shared between callers; the
        diagonal has no meaning. Between -78 and 112: it may be negative.

    Raises
    ------
    ValueError
        For a tile count that the chip does not have.
    """
    _check(tiles)
    physical = PHYSICAL[:tiles]
    return _read_only(_time(physical, physical))


@lru_cache(maxsize=4)
def direction(tiles: int = TILES) -> Int8Array:
    """Direction in which a source must send to reach a target: 1 or 2.

    A multicast whose targets need both sends with their union, 3.

    Returns
    -------
    array
        ``direction[source, target]``, shape ``(tiles, tiles)``, read-only.
    """
    _check(tiles)
    physical = PHYSICAL[:tiles]
    result = np.where(_displacement(physical, physical) >= 1, 1, 2).astype(np.int8)
    result.flags.writeable = False
    return result


@lru_cache(maxsize=4)
def early(tiles: int = TILES) -> BoolArray:
    """Whether a target hears a source before its partner does (ipu21.md 3.2).

    Returns
    -------
    array
        ``early[source, target]``, shape ``(tiles, tiles)``, read-only. The partner of a target
        counts even where it is not among the tiles.
    """
    _check(tiles)
    physical = PHYSICAL[:tiles]
    result = time_to_mux(tiles) < _time(physical, PHYSICAL[PARTNER[:tiles]])
    result.flags.writeable = False
    return result
