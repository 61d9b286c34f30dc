"""Memory of a tile, and the tables of bytes that labels need while each step runs."""

from __future__ import annotations

import numpy as np

from ipuopt.layout import IntArray
from ipuopt.models.mapping.problem import Capacity
from ipuopt.target.memory import DATA_HIGH, DATA_LOW, INTERLEAVED_ELEMENT


def tile_capacity() -> Capacity:
    """What data may use of one tile (lowering.md 5.1, ipuopt.target.memory).

    The last pair of elements is not complete, so the boundary may lie above the end of the region.
    Beside a boundary the pair counts as complete: then no limit refuses what placement can serve.
    """
    low, high = DATA_LOW[1] - DATA_LOW[0], DATA_HIGH[1] - DATA_HIGH[0]
    rounded = -(-high // INTERLEAVED_ELEMENT) * INTERLEAVED_ELEMENT
    return Capacity(
        interleaved=high,
        total=low + rounded,
        low=low,
        high=rounded,
        granule=INTERLEAVED_ELEMENT,
    )


def fits(
    capacity: Capacity, standard: IntArray, interleaved: IntArray, large: IntArray
) -> np.typing.NDArray[np.bool_]:
    """Whether bytes of both classes, and those of large standard buffers, fit; elementwise."""
    rounded = round_up_all(interleaved, capacity.granule)
    return (
        (interleaved <= capacity.interleaved)
        & (standard + rounded <= capacity.total)
        & (large + rounded <= capacity.high)
    )


def fitting(
    capacity: Capacity, standard: IntArray, interleaved: IntArray, large: IntArray
) -> IntArray:
    """Positions that fit a tile; the one that needs least where none does."""
    found = np.flatnonzero(fits(capacity, standard, interleaved, large))
    if len(found):
        return found
    return np.array([np.argmin(standard + round_up_all(interleaved, capacity.granule))])


def round_up_all(size_bytes: IntArray, granule: int) -> IntArray:
    """Every size rounded up to a multiple of ``granule``."""
    return -(-size_bytes // granule) * granule


def large_part(size_bytes: IntArray, low: int) -> IntArray:
    """The sizes of standard buffers that no room of ``low`` bytes takes; 0 for the others."""
    return np.where(size_bytes > low, size_bytes, 0)


class Timeline:
    """Bytes of the labels of one node while each step runs.

    Parameters
    ----------
    labels, steps
        Numbers of them.
    """

    def __init__(self, labels: int, steps: int) -> None:
        self.standard: IntArray = np.zeros((labels, steps), dtype=np.int64)
        self.interleaved: IntArray = np.zeros((labels, steps), dtype=np.int64)
        self.large: IntArray = np.zeros((labels, steps), dtype=np.int64)

    def hold(
        self,
        first: int,
        last: int,
        standard: IntArray,
        interleaved: IntArray,
        large: IntArray,
    ) -> None:
        """Add buffers that live from step ``first`` to ``last``, both included."""
        if first > last:
            return
        self.standard[:, first : last + 1] += standard[:, None]
        self.interleaved[:, first : last + 1] += interleaved[:, None]
        self.large[:, first : last + 1] += large[:, None]
