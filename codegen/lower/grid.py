"""Compute grid of a matrix product: what each tile contributes (lowering.md 2.3)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ipuopt.codegen.lower.boxes import distinct
from ipuopt.codegen.lower.values import Shards
from ipuopt.layout import COLUMNS, ROWS, AxisTiling, Cut, IntArray, LayoutError, cut_axis
from ipuopt.orders import PANEL_COLUMNS
from ipuopt.plan import MatMulStep, PlannedValue
from ipuopt.rectangles import Rectangles


@dataclass(frozen=True, slots=True)
class Grid:
    """Compute tiles in the physical orientation, one entry a tile.

    Attributes
    ----------
    left
        Shard of the physical left.
    row, inner, column
        Part of each axis that the tile computes.
    partial
        Rectangle of the result that it contributes to, in the physical orientation.
    inner_start, inner_stop
        Physical range of the inner axis.
    """

    left: IntArray
    row: IntArray
    inner: IntArray
    column: IntArray
    partial: Rectangles
    inner_start: IntArray
    inner_stop: IntArray


def compute_grid(step: MatMulStep, left: Shards, result: PlannedValue, swapped: bool) -> Grid:
    """Roles of the compute tiles: they are the tiles of the left operand.

    Equal left shards are replicas in the order of their tiles; the j-th computes column part j.
    """
    boxes, groups = left.boxes, distinct(left.boxes)
    expected = step.rows * step.inner
    if len(groups.first) != expected or np.any(np.diff(groups.start) != step.columns):
        raise LayoutError(
            f"{step.name}: the left operand has {len(left)} shards with {len(groups.first)} "
            f"rectangles, expected {step.columns} of each of {expected}"
        )
    column = np.zeros(len(left), dtype=np.int64)
    column[groups.holder] = np.arange(len(left)) - np.repeat(groups.start[:-1], step.columns)
    cut = _column_cut(step, result, swapped)
    partial = replace(
        boxes,
        column_start=cut.start[column],
        column_end=cut.end[column],
        column_stop=cut.stop[column],
    )
    return Grid(
        left=np.arange(len(left), dtype=np.int64),
        row=_rank(boxes.row_start),
        inner=_rank(boxes.column_start),
        column=column,
        partial=partial,
        inner_start=boxes.column_start,
        inner_stop=boxes.column_stop,
    )


def _rank(start: IntArray) -> IntArray:
    return np.unique(start, return_inverse=True)[1].reshape(-1)


def _column_cut(step: MatMulStep, result: PlannedValue, swapped: bool) -> Cut:
    """Column parts: the result's own if it has as many, else its 16-column blocks divided anew."""
    extent = result.rows if swapped else result.columns
    tiling = result.layout.tiling(ROWS if swapped else COLUMNS)
    if tiling is not None and tiling.partitions == step.columns:
        return cut_axis(extent, tiling)
    groups = 1 if tiling is None else tiling.groups
    return cut_axis(
        extent,
        AxisTiling(COLUMNS, step.columns, PANEL_COLUMNS, PANEL_COLUMNS, groups=groups),
    )
