"""A value as conversions see it, and what a layout does to its edges."""

from __future__ import annotations

from dataclasses import dataclass

from ipuopt.layout import COLUMNS, ROWS, Layout, cut_axis, widest_part
from ipuopt.models.mapping.pairs import PANEL_BYTES, SQUARE
from ipuopt.target.constants import WORD_BYTES
from ipuopt.target.kernels import clear_cycles
from ipuopt.workload.model import Tensor


@dataclass(frozen=True, slots=True)
class Matrix:
    """A value as conversions see it: logical shape and bytes of an element."""

    rows: int
    columns: int
    element_bytes: int


def as_matrix(tensor: Tensor) -> Matrix:
    """A tensor as conversions see it."""
    return Matrix(tensor.rows, tensor.columns, {"float16": 2, "float32": 4}[tensor.dtype])


def starts_at_words(matrix: Matrix, layout: Layout) -> bool:
    """Whether rows that are staged in row-major order can travel as whole words."""
    tiling = layout.tiling(COLUMNS)
    if tiling is None or matrix.element_bytes % WORD_BYTES == 0:
        return True
    start = cut_axis(matrix.columns, tiling).start
    return not (start * matrix.element_bytes % WORD_BYTES).any()


def padding_cycles(matrix: Matrix, layout: Layout, axis: int) -> int:
    """Cycles to fill the widest padding of whole micro-panels behind the value's end on ``axis``.

    In block-major orders only where the inner axis of a shard is one block, as candidates have it.
    """
    tiling = layout.tiling(axis) if axis else None
    if tiling is None:
        return 0
    cut = cut_axis(matrix.columns if axis == COLUMNS else matrix.rows, tiling)
    panel = PANEL_BYTES // matrix.element_bytes
    panels = (cut.stop - cut.start) // panel - -(-(cut.end - cut.start) // panel)
    extent = matrix.rows if axis == COLUMNS else matrix.columns
    width = widest_part(extent, layout.tiling(ROWS if axis == COLUMNS else COLUMNS))
    empty = int(panels.max()) * panel * matrix.element_bytes
    if not empty:
        return 0
    if layout.order.block:  # panels of one square after another: a run for each across
        return -(-width // SQUARE) * clear_cycles(empty * SQUARE)
    return clear_cycles(empty * width)
