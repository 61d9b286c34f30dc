"""Phases of both widths from lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from ipuopt.models.exchange import Problem

Transfer = tuple[int, int, int, Sequence[tuple[int, int]], int]
"""Source tile, byte address, words, receivers as (tile, byte address), width."""
MakePhase = Callable[..., Problem]


def phase_of(transfers: Sequence[Transfer], tiles: int, name: str = "phase") -> Problem:
    pairs = [pair for transfer in transfers for pair in transfer[3]]
    return Problem(
        name=name,
        tiles=tiles,
        source=np.array([t[0] for t in transfers], np.int64),
        source_address=np.array([t[1] for t in transfers], np.int64),
        words=np.array([t[2] for t in transfers], np.int64),
        destination_start=np.cumsum([0, *(len(t[3]) for t in transfers)]),
        destination_tile=np.array([tile for tile, _ in pairs], np.int64),
        destination_address=np.array([address for _, address in pairs], np.int64),
        paired=np.array([t[4] == 64 for t in transfers], np.bool_),
    )


@pytest.fixture(scope="session")
def wide_phase() -> MakePhase:
    """``wide_phase(transfers, tiles, name)``: a phase whose transfers carry their width."""
    return phase_of
