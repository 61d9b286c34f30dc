"""Own layouts of pointwise operations: intervals of elements, or whole rows of tall tensors."""

from __future__ import annotations

import numpy as np
import pytest

import ipuopt
from ipuopt.layout import LINEAR, ROWS
from ipuopt.models.mapping.candidates.pointwise import (
    MOST_ROWS,
    linear_layouts,
    row_layouts,
    shard_elements,
)
from ipuopt.workload.model import Tensor, TensorKind


def matrix(rows: int, columns: int) -> Tensor:
    """A float32 input."""
    return Tensor("x", (rows, columns), "float32", TensorKind.INPUT)


@pytest.mark.parametrize(
    ("rows", "tiles", "axes"),
    [
        (5, 3, {LINEAR}),
        (6, 3, {LINEAR, ROWS}),
        (3 * MOST_ROWS, 3, {LINEAR, ROWS}),
        (3 * MOST_ROWS + 1, 3, {ROWS}),
    ],
)
def test_layouts_offered(rows: int, tiles: int, axes: set[int]) -> None:
    """Rows from two a tile on; intervals as long as a tile has no crowd of them."""
    tensor = matrix(rows, 7)
    layouts = (*linear_layouts(tensor, tiles), *row_layouts(tensor, tiles))
    assert {axis.axis for layout in layouts for axis in layout.axes} == axes


@pytest.mark.parametrize(("rows", "columns", "tiles"), [(6, 3, 3), (100, 1, 7), (1001, 5, 2)])
def test_whole_rows_are_one_shard_a_tile(rows: int, columns: int, tiles: int) -> None:
    """Every element once, one shard a tile, at most one row more than another."""
    for layout in row_layouts(matrix(rows, columns), tiles):
        elements = shard_elements(layout, matrix(rows, columns))
        assert elements.shape == (tiles, 1)
        assert elements.sum() == rows * columns
        assert np.ptp(elements) in (0, columns)


def test_tall_tensor_on_few_tiles_ends_soon() -> None:
    """Twenty thousand rows a tile once were as many buffers, and placement did not end."""
    workload = ipuopt.from_dict(
        {
            "ipuopt": 1,
            "target": {"chip": "ipu21", "tiles": 3},
            "defaults": {"dtype": "float32"},
            "inputs": {"x": {"shape": [50_000, 3]}},
            "operations": {"y": {"op": "Add", "inputs": ["x", "x"]}},
            "outputs": ["y"],
        }
    )
    options = ipuopt.SolveOptions(time_limit_s=20, threads=1, deterministic=True)
    result = ipuopt.solve(workload, options)
    assert len(result.built.program.shards) == 6
    assert result.limit is None
