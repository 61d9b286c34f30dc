"""Products without a reduction, weights on grids of their own, operands fetched in slices."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ipuopt.layout import COLUMNS, ROWS, MemoryClass
from ipuopt.models.mapping.peer import price_plan, read_plan
from ipuopt.models.mapping.peer.memory import operator_fits
from ipuopt.models.mapping.peer.stationary import own_grid, stationary
from ipuopt.plan import Origin, Plan, PlannedValue
from ipuopt.rectangles import rectangles


def _plans(m: int, k: int, n: int, active: int) -> list[Plan]:
    """Every candidate as a plan of its own."""
    plans = []
    for (x, w, y), step in stationary(m, k, n, active):
        values = (
            PlannedValue("x", "x", m, k, "float16", x, Origin.INPUT),
            PlannedValue("w", "w", k, n, "float16", w, Origin.PARAMETER),
            PlannedValue("y", "y", m, n, "float16", y, Origin.COMPUTED, is_output=True),
        )
        plans.append(Plan(tiles=64, values=values, steps=(step,)))
    return plans


def test_kinds_of_one_grid() -> None:
    """8 tiles: resident, split and halved weights (cost-model.md 2.3); 8 x 1 once more by rows."""
    plans = _plans(64, 512, 1024, 8)
    of_grid = [plan for plan in plans if plan.steps[0].rows == 4]  # type: ignore[union-attr]
    found: dict[tuple[int, int, MemoryClass], set[int]] = {}
    for plan in of_grid:
        layout = plan.values[1].layout
        columns, inner = (layout.tiling(axis) for axis in (COLUMNS, ROWS))
        assert columns is not None and inner is not None and columns.partitions == 2
        key = inner.partitions, layout.replicas, layout.memory_class
        found.setdefault(key, set()).add(columns.block)
    standard, interleaved = MemoryClass.STANDARD, MemoryClass.INTERLEAVED
    assert found == {
        (1, 4, standard): {64, 128},
        (1, 4, interleaved): {64, 128, 32},
        (4, 1, standard): {64, 128},
        (4, 1, interleaved): {64, 128},
        (2, 2, interleaved): {64, 128},
    }
    once = [p for p in plans if p.values[1].layout.tiles == 8 and p.values[1].layout.replicas == 1]
    by_columns = [p for p in once if p.values[1].layout.tiling(COLUMNS).partitions == 8]  # type: ignore[union-attr]
    assert {p.steps[0].rows for p in by_columns} == {1, 8}  # type: ignore[union-attr]


def test_no_part_of_a_candidate_is_empty_where_it_may_not_be() -> None:
    for plan in _plans(21, 200, 150, 12):
        result = rectangles(plan.values[2].layout, 21, 150)
        assert result.logical_elements.min() > 0
        weight = plan.values[1]
        inner = weight.layout.tiling(ROWS)
        if weight.layout.replicas > 1 or (inner is not None and inner.partitions > 1):
            assert rectangles(weight.layout, 200, 150).logical_elements.min() > 0
        assert price_plan(plan).cycles > 0


def test_operators_that_leave_no_reserve() -> None:
    """One tile that holds a weight of 512 x 512 and its panels, and one of twice that."""
    fitting = {
        n: {operator_fits(plan, plan.steps[0]) for plan in _plans(8, 512, n, 1)}  # type: ignore[arg-type]
        for n in (64, 512)
    }
    assert fitting == {64: {True}, 512: {False}}


@pytest.mark.parametrize(
    ("block", "extents", "tiles", "grid"),
    [
        ((64, 64), (512, 512), 64, (8, 8)),
        ((64, 64), (512, 512), 32, (8, 4)),  # two blocks a tile either way: fewer column parts
        ((64, 32), (512, 512), 64, None),
    ],
)
def test_own_grid(
    block: tuple[int, int],
    extents: tuple[int, int],
    tiles: int,
    grid: tuple[int, int] | None,
) -> None:
    """The most even spread of the blocks, then the most tiles (cost-model.md 2.4)."""
    layout = own_grid(block, extents, tiles)
    found = None
    if layout is not None:
        cuts = [layout.tiling(axis) for axis in (ROWS, COLUMNS)]
        found = tuple(cut.partitions for cut in cuts if cut is not None)
    assert found == grid


def test_slices_of_the_logged_plan(shared: Path) -> None:
    """The second product fetches its left operand: cycles as before, the GeLU's result is held."""
    plan = read_plan(shared / "data" / "seeds" / "plan_siglip_mlp.yaml")
    left = plan.steps[4].left  # type: ignore[union-attr]
    whole, sliced = price_plan(plan), price_plan(plan, fetched=(left,))
    assert (sliced.cycles, sliced.row_bytes) == (whole.cycles, whole.row_bytes)
    assert sliced.steps[3].live.total == 0
    staging, sums = (
        114688,
        1344 * 16,
    )  # whole elements of 184 x 288; 14 partial sums and two buffers
    assert whole.steps[4].temporary.standard == sums
    assert sliced.steps[4].temporary.standard == staging
    assert whole.steps[4].live.standard - sliced.steps[4].live.standard == 184 * 288 * 2
    assert sliced.peaks.largest_standard == whole.peaks.largest_standard
    with_kept = replace(plan, values=tuple(replace(v, is_output=True) for v in plan.values))
    assert price_plan(with_kept, fetched=(left,)).peaks.total < price_plan(with_kept).peaks.total
