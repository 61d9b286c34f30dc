"""Candidates of seed 004: the counts that the compiler logged (cost-model.md 2.2 and 5)."""

from __future__ import annotations

import pytest

from ipuopt.models.mapping.peer.grids import Shape, frontier, generate, tile_counts, variants
from ipuopt.models.mapping.peer.retained import retained

FIRST, SECOND = (729, 1152, 4304), (729, 4304, 1152)


@pytest.mark.parametrize(
    ("extents", "swapped", "active", "counts"),
    [
        (FIRST, False, 1472, (2279, 239, 2832)),
        (FIRST, True, 1472, (570, 111, 2624)),
        (FIRST, False, 256, (126, 27, 324)),
        (SECOND, False, 1472, (1693, 234, 2716)),
        (SECOND, True, 1472, (1171, 226, 5168)),
    ],
)
def test_counts(
    extents: tuple[int, int, int], swapped: bool, active: int, counts: tuple[int, int, int]
) -> None:
    """Swapped variants are logged twice: with weights in place and with copies, which are left out."""
    shape = Shape(*extents, swapped)
    grids = generate(shape, active)
    kept = frontier(grids)
    made = len(list(variants(shape, kept))) * (2 if swapped else 1)
    assert (len(grids), len(kept), made) == counts


def test_tile_counts() -> None:
    powers = [1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1]
    assert tile_counts(1472, [729, 1152, 4304]) == [1472, *powers, 1458, 1152]


def test_fewer_are_retained_than_the_limit() -> None:
    """59 of 324 at 256 tiles."""
    assert len(retained(Shape(*FIRST, False), 256, 1472)) == 59


@pytest.mark.parametrize(("extents", "cheapest"), [(FIRST, 89252), (SECOND, 75057)])
def test_cheapest_retained(extents: tuple[int, int, int], cheapest: int) -> None:
    candidates = retained(Shape(*extents, False), 1472, 1472)
    assert len(candidates) == 64
    assert min(candidate.cycles for candidate in candidates) == cheapest
