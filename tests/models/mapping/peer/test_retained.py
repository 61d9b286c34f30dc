"""Candidates of seed 004: the counts that the compiler logged (cost-model.md 2.2 and 5)."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import pytest

from ipuopt.layout import round_up
from ipuopt.models.mapping.peer import price_plan
from ipuopt.models.mapping.peer.grids import Shape, frontier, generate, tile_counts, variants
from ipuopt.models.mapping.peer.matmul import shard_bytes
from ipuopt.models.mapping.peer.memory import (
    INTERLEAVED_BYTES,
    LEFT_TAIL_BYTES,
    TOTAL_BYTES,
    Demand,
    of_class,
)
from ipuopt.models.mapping.peer.rearrange import IMPOSSIBLE
from ipuopt.models.mapping.peer.retained import product_plan, retained
from ipuopt.models.mapping.peer.table import price_variants

FIRST, SECOND = (729, 1152, 4304), (729, 4304, 1152)
COUNTS = tile_counts(1472, [729, 1152, 4304])


def test_logged_counts(shared: Path) -> None:
    """Grids, screened grids, variants and retained candidates of every product and tile count."""
    with (shared / "data" / "seeds" / "beam.csv").open(encoding="utf-8") as file:
        logged = [row for row in csv.DictReader(file) if row["record"] == "gemm_candidates"]
    # Two products without a reduction begin the search on a single tile (cost-model.md 2.3).
    counts = sorted([*COUNTS, 1], key=[*COUNTS].index)
    keys = [(e, t, s) for e in (FIRST, SECOND) for t in counts for s in (False, True)]
    names = ("generated_grids", "proxy_frontier_grids", "generated_variants", "retained_variants")
    found = []
    for extents, active, swapped in keys:
        shape = Shape(*extents, swapped)
        grids = generate(shape, active)
        kept = frontier(grids)
        made = len(list(variants(shape, kept)))
        lengths = len(grids), len(kept), made, len(retained(shape, active, 1472))
        found.append((swapped, lengths))
    assert found == [
        (row["orientation"] == "Swapped", tuple(int(row[name]) for name in names)) for row in logged
    ]


def test_tile_counts() -> None:
    powers = [1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1]
    assert tile_counts(1472, [729, 1152, 4304]) == [1472, *powers, 1458, 1152]


@pytest.mark.parametrize(
    ("extents", "swapped", "active"),
    [
        (FIRST, False, 1472),
        (FIRST, True, 1152),
        (SECOND, False, 1458),
        (SECOND, True, 256),
        ((50, 40, 70), False, 24),
        ((33, 100, 45), True, 30),
    ],
)
def test_the_table_has_the_prices_of_single_products(
    extents: tuple[int, int, int], swapped: bool, active: int
) -> None:
    """A sample, priced product by product; the operand that streams comes in slices."""
    shape = Shape(*extents, swapped)
    made = list(variants(shape, frontier(generate(shape, active))))
    sample = random.Random(active).sample(made, min(40, len(made)))
    vectors = price_variants(shape, sample).vectors.tolist()
    for variant, found in zip(sample, vectors, strict=True):
        plan = product_plan(shape, variant, 1472)
        (step,) = price_plan(plan).steps
        activation, weight, result = plan.values
        left, right = (weight, activation) if swapped else (activation, weight)
        fetch = round_up(shard_bytes(left) + (0 if swapped else LEFT_TAIL_BYTES[2]), 16384)
        peak = of_class(right, shard_bytes(right)) + of_class(result, shard_bytes(result))
        peak += Demand(max(fetch, step.temporary.standard), step.temporary.interleaved)
        beyond = peak.interleaved > INTERLEAVED_BYTES or peak.total > TOTAL_BYTES
        cycles = step.cycles + IMPOSSIBLE * beyond
        memory = peak.standard, peak.interleaved, peak.total
        assert found == [cycles, *memory, fetch, step.row_bytes]


@pytest.mark.parametrize(("extents", "cheapest"), [(FIRST, 89252), (SECOND, 75057)])
def test_cheapest_retained(extents: tuple[int, int, int], cheapest: int) -> None:
    candidates = retained(Shape(*extents, False), 1472, 1472)
    assert len(candidates) == 64
    assert min(candidate.cycles for candidate in candidates) == cheapest
