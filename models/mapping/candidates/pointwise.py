"""Candidates of Gelu, Add and Cast: one layout for all operands and the result."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ipuopt.layout import (
    COLUMNS,
    LEFT,
    LINEAR,
    ROW_MAJOR,
    ROWS,
    TRANSPOSED_LEFT,
    AxisTiling,
    IntArray,
    Layout,
    MemoryClass,
)
from ipuopt.models.mapping.candidates.labels import Buffers, Choice, Labels
from ipuopt.models.mapping.candidates.request import Kind, Request
from ipuopt.models.mapping.memory import fitting, large_part
from ipuopt.models.mapping.prices import is_movable
from ipuopt.orders import same_sequence
from ipuopt.plan import PointwiseStep
from ipuopt.rectangles import rectangles
from ipuopt.target.kernels import add_cycles, cast_cycles, ceil_div, gelu_cycles
from ipuopt.workload.model import Tensor

GRAIN = 16
"""Grain of linear layouts where rows allow it: one micro-panel row (cost-model.md 1.7, 1.8)."""
MOST_ROWS = 256
"""Most rows of a tile that a linear layout is offered for: each is a buffer and a kernel run, and
placement compares every pair of buffers of a tile."""
ELEMENT_BYTES = {"float16": 2, "float32": 4}


def gelu_labels(request: Request) -> Labels:
    """One kernel run a shard, of an even number of elements (package.md 4)."""
    own = panel_rows(request.result, request.tiles)
    layouts = [
        layout
        for layout in dict.fromkeys((*_layouts(request), *own))
        if not (shard_elements(layout, request.result) % 2).any()
    ]
    return _labels(request, layouts, gelu_cycles)


def add_labels(request: Request) -> Labels:
    """Both operands lie where the result does."""
    return _labels(request, _layouts(request), add_cycles)


def cast_labels(request: Request) -> Labels:
    """Elements change their size, not their place in the sequence of a shard."""
    source, target = (ELEMENT_BYTES[t.dtype] for t in (request.inputs[0], request.result))
    layouts = _layouts(request)
    if source != target:
        lines = line_layouts(request.result, request.tiles)
        layouts = tuple(
            layout
            for layout in dict.fromkeys((*layouts, *lines))
            if keeps_sequence(layout, request.result)
        )
    return _labels(
        request, layouts, lambda elements: cast_cycles(elements * source, elements * target)
    )


def keeps_sequence(layout: Layout, tensor: Tensor) -> bool:
    """Whether the shards list their elements alike whatever the size of one."""
    shards = rectangles(layout, tensor.rows, tensor.columns)
    extents = shards.row_stop - shards.row_start, shards.column_stop - shards.column_start
    return bool(same_sequence(layout.order, *extents).all())


def linear_layouts(tensor: Tensor, tiles: int) -> tuple[Layout, ...]:
    """Equal intervals of the row-major sequence on all tiles, in either class of memory.

    Where rows are whole micro-panels a one-row shard in AMP left order is row-major (cost-model.md
    1.6), so that a retile suffices to make it from the result of a product.
    """
    if tensor.rows > MOST_ROWS * tiles:
        return ()
    elements = tensor.rows * tensor.columns
    aligned = tensor.columns % GRAIN == 0
    grain = math.gcd(tensor.columns, GRAIN)
    used = min(tiles, elements // grain)
    axis = AxisTiling(LINEAR, used, grain, grain, pads=False)
    order = LEFT if aligned else ROW_MAJOR
    return tuple(Layout(order, used, 1, (axis,), memory) for memory in MemoryClass)


def row_layouts(tensor: Tensor, tiles: int) -> tuple[Layout, ...]:
    """Whole rows on every tile, where a linear layout would give it several: one shard, one run.

    A linear layout has a shard a row, so that it cuts tall tensors on few tiles into as many buffers
    and kernel runs as they have rows.
    """
    if tensor.rows < 2 * tiles:
        return ()
    axis = AxisTiling(ROWS, tiles, 1, 1, pads=False)
    return tuple(Layout(ROW_MAJOR, tiles, 1, (axis,), memory) for memory in MemoryClass)


def panel_rows(tensor: Tensor, tiles: int) -> tuple[Layout, ...]:
    """Whole rows in micro-panels, whose padding makes any number of elements even; for odd extents."""
    if tensor.columns % 2 == 0:
        return ()
    parts = min(tensor.rows, tiles)
    axes = (AxisTiling(ROWS, parts, 1, 1), AxisTiling(COLUMNS, 1, GRAIN, GRAIN))
    return tuple(Layout(LEFT, parts, 1, axes, memory) for memory in MemoryClass)


def line_layouts(tensor: Tensor, tiles: int) -> tuple[Layout, ...]:
    """One row, or one column, a tile: a line of micro-panels is a sequence for any type.

    For rows that are not whole words, which conversions do not move in row-major order.
    """
    found = []
    for order, axis, across, lines in (
        (LEFT, ROWS, COLUMNS, tensor.rows),
        (TRANSPOSED_LEFT, COLUMNS, ROWS, tensor.columns),
    ):
        if lines <= tiles:
            axes = (AxisTiling(axis, lines, 1, 1), AxisTiling(across, 1, GRAIN, GRAIN))
            found += [Layout(order, lines, 1, axes, memory) for memory in MemoryClass]
    return tuple(found)


def shard_elements(layout: Layout, tensor: Tensor) -> IntArray:
    """Physical elements of the shards of each tile, shape ``(tiles, most shards of a tile)``.

    A tile has one shard of a grid layout, and one a row of a linear layout; each is a kernel run.
    """
    shards = rectangles(layout, tensor.rows, tensor.columns)
    first = np.searchsorted(shards.tile, shards.tile)
    slot = np.arange(len(shards)) - first
    elements = np.zeros((layout.tiles, int(slot.max()) + 1), dtype=np.int64)
    elements[shards.tile, slot] = shards.elements
    return elements


def _layouts(request: Request) -> tuple[Layout, ...]:
    """Those of neighbours that conversions can read, and even shares."""
    result = request.result
    own = (*linear_layouts(result, request.tiles), *row_layouts(result, request.tiles))
    return tuple(filter(is_movable, dict.fromkeys((*request.offered, *own))))


def _labels(
    request: Request, layouts: Sequence[Layout], kernel: Callable[[IntArray], IntArray]
) -> Labels:
    result = request.result
    elements, widest, cycles = [], [], []
    for layout in layouts:
        shards = shard_elements(layout, result)
        elements.append(int(shards.sum(axis=1).max()))
        widest.append(int(shards.max()))
        cycles.append(int(np.where(shards > 0, kernel(shards), 0).sum(axis=1).max()))
    most_elements = np.array(elements, dtype=np.int64)
    cost = np.array(cycles, dtype=np.int64)
    standard = np.array([layout.memory_class is MemoryClass.STANDARD for layout in layouts])
    sizes = [most_elements * ELEMENT_BYTES[t.dtype] for t in (*request.inputs, result)]
    pieces = [
        np.array(widest, dtype=np.int64) * ELEMENT_BYTES[t.dtype] for t in (*request.inputs, result)
    ]
    total: IntArray = np.sum(sizes, axis=0, dtype=np.int64)
    fits = fitting(
        request.capacity,
        np.where(standard, total, 0),
        np.where(standard, 0, total),
        np.where(standard, sum(large_part(piece, request.capacity.low) for piece in pieces), 0),
    )
    kept = fits[request.keep(cost[fits], total[fits, None], cost[fits])]
    layouts = [layouts[i] for i in kept]
    choices = [
        _choice(layouts, size[kept], piece[kept], standard[kept])
        for size, piece in zip(sizes, pieces, strict=True)
    ]
    none = np.zeros(len(kept), dtype=np.int64)
    return Labels(
        operands=tuple(choices[:-1]),
        result=choices[-1],
        terms={"kernel": cost[kept]},
        run=Buffers(none, none, none),
        finish=None,
        late=np.zeros(len(kept), dtype=np.bool_),
        parameters=np.zeros((len(kept), 0), dtype=np.int64),
        least=int(kernel(np.array([ceil_div(result.rows * result.columns, request.tiles)]))[0]),
    )


def _choice(
    layouts: list[Layout], size: IntArray, piece: IntArray, standard: np.typing.NDArray[np.bool_]
) -> Choice:
    return Choice(
        layouts=tuple(layouts),
        index=np.arange(len(layouts), dtype=np.int64),
        standard=np.where(standard, size, 0),
        interleaved=np.where(standard, 0, size),
        piece=np.where(standard, piece, 0),
    )


def _step(
    request: Request, labels: Labels, label: int, values: tuple[int, ...], result: int
) -> PointwiseStep:
    return PointwiseStep(
        name=request.operation.name,
        kind=request.operation.kind,
        inputs=values,
        result=result,
        terms=labels.terms_of(label),
    )


GELU = Kind(candidates=gelu_labels, step=_step, keeps_layout=True)
ADD = Kind(candidates=add_labels, step=_step, keeps_layout=True)
CAST = Kind(candidates=cast_labels, step=_step, keeps_layout=True)
