"""Candidates that are left out by proof: no better choice goes with them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ipuopt.layout import COLUMNS, LEFT, ROWS, AxisTiling, Layout, MemoryClass
from ipuopt.limits import Limits
from ipuopt.models import mapping
from ipuopt.models.mapping.candidates.grids import enumerate_grids
from ipuopt.models.mapping.candidates.variants import Product, least_untried
from ipuopt.models.mapping.matrix import Matrix
from ipuopt.models.mapping.prices import conversions
from ipuopt.models.mapping.pruning import least_arrival, spare_cycles
from ipuopt.models.mapping.space import build_space
from ipuopt.rectangles import rectangles
from ipuopt.target.kernels import matmul_cycles
from ipuopt.workload.model import Workload

NewMlp = Callable[[int, int, int, int, int], Workload]


def best(workload: Workload) -> tuple[int, int]:
    """Least cycles of the space, proven, and labels of all nodes."""
    space = build_space(workload, Limits())
    report = mapping.solve(space.problem, Limits())[1]
    assert report.objective is not None
    assert report.objective == report.bound
    return report.objective, sum(len(node.cost) for node in space.problem.nodes)


@pytest.mark.parametrize(
    "shape",
    [(16, 30, 40, 100, 24), (32, 57, 96, 144, 80), (12, 64, 48, 96, 33), (7, 5, 33, 17, 50)],
)
def test_the_best_choice_stays(
    shape: tuple[int, int, int, int, int], new_mlp: NewMlp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few candidates are kept without proof; the optimum is that of all of them."""
    workload = new_mlp(*shape)
    monkeypatch.setattr("ipuopt.models.mapping.space.PROMISING", 8)
    monkeypatch.setattr("ipuopt.models.mapping.space.RETAINED", 1)
    pruned, labels = best(workload)
    monkeypatch.setattr("ipuopt.models.mapping.space.RETAINED", 10**6)
    whole, all_labels = best(workload)
    assert pruned == whole
    assert labels < all_labels


def test_spare_cycles_are_what_the_others_leave() -> None:
    assert spare_cycles({"a": 10, "b": 20, "c": 30}, 75) == {"a": 25, "b": 35, "c": 45}


def test_what_a_tile_lacks_must_arrive() -> None:
    """No conversion from shards of that size is cheaper; shards that are as large cost nothing."""
    matrix, tiles = Matrix(24, 64, 2), 8

    def grid(rows: int, columns: int, copies: int = 1) -> Layout:
        axes = (AxisTiling(ROWS, rows, 2, 2), AxisTiling(COLUMNS, columns, 16, 16))
        return Layout(LEFT, rows * columns * copies, copies, axes, MemoryClass.STANDARD)

    sources = [grid(4, 2), grid(2, 4), grid(2, 2), grid(1, 2)]
    targets = [grid(4, 2), grid(2, 1, 3), grid(1, 1, 4), grid(2, 2, 2), grid(1, 4)]
    cost = conversions(matrix, sources, targets, tiles).cost
    for row, source in enumerate(sources):
        largest = int(rectangles(source, 24, 64).logical_elements.max())
        least = least_arrival(matrix, targets, largest, tiles)
        assert np.all(least <= cost[row])
        assert least.max() > 600


def test_grids_that_could_be_quick_enough_are_offered() -> None:
    """No grid on fewer tiles has a kernel within the spare cycles."""
    shape, tiles = (64, 64, 96), 400
    usual = enumerate_grids(*shape, tiles)
    assert (usual.rows * usual.columns * usual.inner).min() >= tiles // 2
    for spare in (700, 1_500, 4_000, 10**6):
        grids = enumerate_grids(*shape, tiles, spare)
        used = grids.rows * grids.columns * grids.inner
        everything = enumerate_grids(*shape, tiles, 10**9)
        kernel = matmul_cycles(
            everything.widest_rows, everything.block_columns, everything.block_inner, True
        )
        sizes = everything.rows * everything.columns * everything.inner
        assert len(everything) > len(usual)
        assert not np.any((sizes < used.min()) & (kernel <= spare))
        least = least_untried(Product(64, 96, 64, tiles, False, spare))
        assert kernel[sizes < used.min()].min(initial=10**9) >= least
