"""Memory of a tile, and the tables of bytes that labels need while each step runs."""

from __future__ import annotations

import numpy as np

from ipuopt.layout import IntArray
from ipuopt.models.mapping.problem import Capacity
from ipuopt.target.memory import DATA_HIGH, DATA_LOW, INTERLEAVED_ELEMENT

ALIGNMENT_MARGIN = 16 * 1024
"""Bytes of a tile that the model leaves to placement: buffers start at multiples of up to 32 bytes,
and the accumulator and the sum of a reduction root lie in different memory elements."""


def tile_capacity() -> Capacity:
    """What data may use of one tile (lowering.md 5.1, ipuopt.target.memory)."""
    low, high = DATA_LOW[1] - DATA_LOW[0], DATA_HIGH[1] - DATA_HIGH[0]
    return Capacity(
        interleaved=high,
        total=low + high - ALIGNMENT_MARGIN,
        low=low,
        high=high,
        granule=INTERLEAVED_ELEMENT,
    )


def fits(
    capacity: Capacity, standard: IntArray, interleaved: IntArray, contiguous: IntArray
) -> np.typing.NDArray[np.bool_]:
    """Whether bytes of both classes, and the largest standard buffer, fit a tile; elementwise."""
    rounded = round_up_all(interleaved, capacity.granule)
    room = np.maximum(capacity.low, capacity.high - rounded)
    return (
        (interleaved <= capacity.interleaved)
        & (standard + rounded <= capacity.total)
        & (contiguous <= room)
    )


def fitting(
    capacity: Capacity, standard: IntArray, interleaved: IntArray, contiguous: IntArray
) -> IntArray:
    """Positions that fit a tile; the one that needs least where none does."""
    found = np.flatnonzero(fits(capacity, standard, interleaved, contiguous))
    if len(found):
        return found
    return np.array([np.argmin(standard + round_up_all(interleaved, capacity.granule))])


def round_up_all(size_bytes: IntArray, granule: int) -> IntArray:
    """Every size rounded up to a multiple of ``granule``."""
    return -(-size_bytes // granule) * granule


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
        self.contiguous: IntArray = np.zeros(labels, dtype=np.int64)

    def hold(
        self,
        first: int,
        last: int,
        standard: IntArray,
        interleaved: IntArray,
        contiguous: IntArray | None = None,
    ) -> None:
        """Add buffers that live from step ``first`` to ``last``, both included.

        ``contiguous`` is the largest standard one; ``standard`` itself where it is one buffer.
        """
        if first > last:
            return
        self.standard[:, first : last + 1] += standard[:, None]
        self.interleaved[:, first : last + 1] += interleaved[:, None]
        np.maximum(
            self.contiguous, standard if contiguous is None else contiguous, out=self.contiguous
        )
