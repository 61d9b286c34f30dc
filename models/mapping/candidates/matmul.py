"""Candidates of a matrix product: grids in both orientations, weight memory, staging of sums."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ipuopt.errors import InputError
from ipuopt.layout import COLUMNS, IntArray, Layout, MemoryClass
from ipuopt.models.mapping.candidates import variants as v
from ipuopt.models.mapping.candidates.labels import Buffers, Choice, Labels
from ipuopt.models.mapping.candidates.matmul_layouts import (
    physical_left,
    physical_right,
    product,
)
from ipuopt.models.mapping.candidates.request import Kind, Request, Source
from ipuopt.models.mapping.candidates.retain import undominated
from ipuopt.models.mapping.candidates.variants import (
    Product,
    Variants,
    least_untried,
    price_variants,
)
from ipuopt.models.mapping.memory import fitting, large_part
from ipuopt.models.mapping.problem import Capacity
from ipuopt.plan import Epochs, MatMulStep, Orientation
from ipuopt.target.constants import WORD_BYTES


def matmul_labels(request: Request) -> Labels:
    """Candidates that are worth keeping, with their layouts.

    Raises
    ------
    InputError
        If the weight is computed: no conversion makes the order in which it is loaded.
    """
    name = request.operation.name
    left, right = request.inputs
    if request.sources[1] is Source.COMPUTED:
        raise InputError(
            f"operations.{name}.inputs[1]: found the result {right.name!r}, "
            "expected an input or a parameter as right operand"
        )
    computed = request.sources[0] is Source.COMPUTED
    of = Product(
        rows=left.rows,
        inner=left.columns,
        columns=right.columns,
        tiles=request.tiles,
        shares_weights=request.sources[1] is Source.SHARED,
        spare=request.spare,
    )
    variants = price_variants(of)
    variants = variants.take(_fitting(request.capacity, variants))
    seen = (request.sources[0] is not Source.LOADED, request.sources[1] is not Source.LOADED)
    low = request.capacity.low
    variants = variants.take(undominated(_groups(variants, seen), _vectors(variants, low)))
    score = variants.cost
    if computed:  # roughly what it takes to bring the activation here
        swapped = variants.parameters[:, v.SWAPPED] == 1
        activation = np.where(swapped, variants.sizes["panel"], variants.sizes["left"])
        score = score + activation // WORD_BYTES
    standard, interleaved = _demands(variants)
    held = variants.sizes["left"] + variants.sizes["panel"] + variants.sizes["partial"]
    memory = np.column_stack((_vectors(variants, low)[:, 1:], standard + interleaved, held))
    least = min(int(variants.cost.min()), least_untried(of))
    return _labels(variants.take(request.keep(score, memory, variants.cost)), low, least)


def _fitting(capacity: Capacity, variants: Variants) -> IntArray:
    """Variants whose own buffers fit a tile."""
    large = np.maximum(*_large(variants, capacity.low))
    return fitting(capacity, *_demands(variants), large)


def _demands(variants: Variants) -> tuple[IntArray, IntArray]:
    """Most standard and most interleaved bytes that a variant needs by itself."""
    size, interleaved = variants.sizes, variants.parameters[:, v.INTERLEAVED]
    panel = size["panel"] * interleaved
    early = size["result"] * (variants.parameters[:, v.INNER] == 1)
    return (
        np.maximum(size["left"] + size["panel"] - panel, size["roots"]),
        np.maximum(size["partial"] + panel + size["staging"] + early, size["result"]),
    )


def _large(variants: Variants, low: int) -> tuple[IntArray, IntArray]:
    """Bytes of standard buffers larger than ``low``: operands, and those of the largest root."""
    size = variants.sizes
    panel = size["panel"] * (1 - variants.parameters[:, v.INTERLEAVED])
    root = 2 * large_part(size["root"], low) + large_part(size["remote"], low)
    return large_part(size["left"], low) + large_part(panel, low), root


def _groups(variants: Variants, seen: tuple[bool, bool]) -> IntArray:
    """Variants with equal layouts wherever another node sees them have equal numbers."""
    grid = (v.ROWS, v.COLUMNS, v.INNER, v.BLOCK_INNER)
    columns = [v.SWAPPED, v.COLUMNS, v.ROW_PARTS]
    if any(seen):
        columns += grid
    if seen[1] or (seen[0] and variants.parameters[:, v.SWAPPED].any()):
        columns += [v.INTERLEAVED, v.STORED_ONCE]
    keys = variants.parameters[:, columns]
    return np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _vectors(variants: Variants, low: int) -> IntArray:
    """Cost and every kind of memory, for dominance."""
    size, interleaved = variants.sizes, variants.parameters[:, v.INTERLEAVED]
    standard_panel = size["panel"] * (1 - interleaved)
    return np.column_stack(
        (
            variants.cost,
            *_large(variants, low),
            size["left"] + standard_panel,
            size["panel"] * interleaved,
            size["panel"] * interleaved + size["partial"] + size["staging"],
            size["partial"],
            size["roots"],
            size["result"] * (variants.parameters[:, v.INNER] == 1),
        )
    )


def _labels(variants: Variants, low: int, least: int) -> Labels:
    """Operands are the activation and the weight, in this order."""
    parameters, size = variants.parameters, variants.sizes
    swapped = parameters[:, v.SWAPPED].astype(np.bool_)
    interleaved = parameters[:, v.INTERLEAVED]
    none = np.zeros(len(variants), dtype=np.int64)
    # The physical left is always standard; the physical right lies where the variant says.
    loaded = size["panel"] * (1 - interleaved)
    loaded_interleaved = size["panel"] * interleaved
    activation, weight = (
        np.where(swapped, loaded, size["left"]),
        np.where(swapped, size["left"], loaded),
    )
    return Labels(
        operands=(
            Choice(
                *_distinct(parameters, _activation),
                activation,
                np.where(swapped, loaded_interleaved, 0),
                activation,
                COLUMNS,
            ),
            Choice(
                *_distinct(parameters, _weight),
                weight,
                np.where(swapped, 0, loaded_interleaved),
                weight,
            ),
        ),
        result=Choice(*_distinct(parameters, _result), none, size["result"], none),
        terms=variants.terms,
        run=Buffers(none, size["partial"] + size["staging"], none),
        # The result is copied when the partial sums are gone.
        finish=Buffers(
            size["roots"],
            np.maximum(size["partial"] - size["result"], 0),
            _large(variants, low)[1],
        ),
        late=parameters[:, v.INNER] > 1,
        parameters=parameters,
        least=least,
    )


def _distinct(
    parameters: IntArray, layout: Callable[[IntArray], Layout]
) -> tuple[tuple[Layout, ...], IntArray]:
    """Distinct layouts of all variants, and the position of each one's."""
    position: dict[Layout, int] = {}
    index = [position.setdefault(layout(row), len(position)) for row in parameters]
    return tuple(position), np.array(index, dtype=np.int64)


def _streamed_layout(row: IntArray, *, swapped: bool) -> Layout:
    r, c, k, block = (int(row[i]) for i in (v.ROWS, v.COLUMNS, v.INNER, v.BLOCK_INNER))
    return physical_left(r, c, k, block, swapped=swapped)


def _loaded_layout(row: IntArray, *, swapped: bool) -> Layout:
    r, c, k, block = (int(row[i]) for i in (v.ROWS, v.COLUMNS, v.INNER, v.BLOCK_INNER))
    memory = MemoryClass.INTERLEAVED if row[v.INTERLEAVED] else MemoryClass.STANDARD
    return physical_right(c, k, 1 if row[v.STORED_ONCE] else r, block, memory, swapped=swapped)


def _activation(row: IntArray) -> Layout:
    make = _loaded_layout if row[v.SWAPPED] else _streamed_layout
    return make(row, swapped=bool(row[v.SWAPPED]))


def _weight(row: IntArray) -> Layout:
    make = _streamed_layout if row[v.SWAPPED] else _loaded_layout
    return make(row, swapped=bool(row[v.SWAPPED]))


def _result(row: IntArray) -> Layout:
    return product(int(row[v.COLUMNS]), int(row[v.ROW_PARTS]), swapped=bool(row[v.SWAPPED]))


def _step(
    request: Request, labels: Labels, label: int, values: tuple[int, ...], result: int
) -> MatMulStep:
    row = labels.parameters[label]
    return MatMulStep(
        name=request.operation.name,
        left=values[0],
        right=values[1],
        result=result,
        orientation=Orientation.SWAPPED if row[v.SWAPPED] else Orientation.NORMAL,
        rows=int(row[v.ROWS]),
        columns=int(row[v.COLUMNS]),
        inner=int(row[v.INNER]),
        block_inner=int(row[v.BLOCK_INNER]),
        block_columns=int(row[v.BLOCK_COLUMNS]),
        epochs=Epochs.STREAMED if row[v.STREAMED] else Epochs.COMPLETE,
        terms=labels.terms_of(label),
    )


MATMUL = Kind(candidates=matmul_labels, step=_step, keeps_layout=False)
