"""Phases from lists, and random ones that crowd few tiles and few memory elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import strategies as st

from ipuopt.models.exchange import Problem

Transfer = tuple[int, int, int, Sequence[tuple[int, int]]]
"""Source tile, source address, words, receivers as (tile, address)."""
MakePhase = Callable[..., Problem]
Phases = Callable[..., st.SearchStrategy[Problem]]

FIRST_BYTE = 0x64000


def phase_of(transfers: Sequence[Transfer], tiles: int = 64) -> Problem:
    counts = [len(receivers) for _, _, _, receivers in transfers]
    return Problem(
        name="phase",
        tiles=tiles,
        source=np.array([source for source, _, _, _ in transfers], np.int64),
        source_address=np.array([address for _, address, _, _ in transfers], np.int64),
        words=np.array([words for _, _, words, _ in transfers], np.int64),
        destination_start=np.cumsum([0, *counts]),
        destination_tile=np.array([t for *_, pairs in transfers for t, _ in pairs], np.int64),
        destination_address=np.array([a for *_, pairs in transfers for _, a in pairs], np.int64),
    )


@st.composite
def random_phases(
    draw: st.DrawFn,
    most: int = 12,
    words: int = 70,
    members: int = 6,
    receivers: int = 4,
    least: int = 1,
) -> Problem:
    """At most ``most`` transfers among ``members`` tiles.

    Addresses come from a small pool: half of them share an element, spans overlap or touch.
    """
    chosen = draw(st.lists(st.integers(0, 63), min_size=2, max_size=members, unique=True))
    address = st.builds(
        lambda element, word: FIRST_BYTE + 0x4000 * element + 4 * word,
        st.integers(0, 3),
        st.sampled_from((0, 10, 20, words, 4000)),
    )
    size = st.one_of(st.integers(1, words), st.sampled_from((10, 52)))
    transfers: list[Transfer] = []
    for _ in range(draw(st.integers(least, most))):
        source = draw(st.sampled_from(chosen))
        other = st.sampled_from([tile for tile in chosen if tile != source])
        targets = draw(st.lists(other, min_size=1, max_size=receivers, unique=True))
        transfers.append((source, draw(address), draw(size), [(t, draw(address)) for t in targets]))
    return phase_of(transfers)


@pytest.fixture(scope="session")
def make_phase() -> MakePhase:
    """``make_phase(transfers, tiles=64)``: a phase from tuples (source, address, words, pairs)."""
    return phase_of


@pytest.fixture(scope="session")
def phases() -> Phases:
    """``phases(most=12, words=70, members=6, receivers=4, least=1)``: strategy of phases."""
    return random_phases
