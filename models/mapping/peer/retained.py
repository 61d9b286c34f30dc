"""Candidates of a product that the public compiler retains, with its prices (cost-model.md 2.2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ipuopt.layout import Layout
from ipuopt.models.mapping.peer.grids import (
    Shape,
    Variant,
    blocks,
    frontier,
    generate,
    layouts,
    unbeaten,
    variants,
)
from ipuopt.models.mapping.peer.memory import RESERVED_BYTES, TOTAL_BYTES
from ipuopt.models.mapping.peer.rearrange import IMPOSSIBLE
from ipuopt.models.mapping.peer.table import Figures, price_variants
from ipuopt.plan import MatMulStep, Orientation, Origin, Plan, PlannedValue

RETAINED = 64
"""Candidates that are kept of a product, an orientation and a number of tiles."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A retained candidate: layouts of activation, weight and result, its step and its cycles."""

    activation: Layout
    weight: Layout
    result: Layout
    step: MatMulStep
    cycles: int
    fits: bool


def product_plan(shape: Shape, variant: Variant, tiles: int) -> Plan:
    """The product alone."""
    left, right, result = layouts(shape, variant)
    activation, weight = (right, left) if shape.swapped else (left, right)
    m, k, n = shape.m, shape.k, shape.n
    inner, wide = blocks(shape, variant.grid)
    step = MatMulStep(
        name="y",
        left=0,
        right=1,
        result=2,
        orientation=Orientation.SWAPPED if shape.swapped else Orientation.NORMAL,
        rows=variant.grid.rows,
        columns=variant.grid.columns,
        inner=variant.grid.inner,
        block_inner=inner,
        block_columns=wide,
        epochs=variant.epochs,
        stages_weights=variant.staged,
    )
    values = (
        PlannedValue("x", "x", m, k, "float16", activation, Origin.INPUT),
        PlannedValue("w", "w", k, n, "float16", weight, Origin.PARAMETER),
        PlannedValue("y", "y", m, n, "float16", result, Origin.COMPUTED, is_output=True),
    )
    return Plan(tiles=tiles, values=values, steps=(step,))


@lru_cache(maxsize=64)
def retained(
    shape: Shape, active: int, tiles: int, *, spread: bool = True
) -> tuple[Candidate, ...]:
    """Candidates on ``active`` of ``tiles`` tiles: unbeaten in their family, the cheapest 64.

    ``spread`` is that of :func:`~ipuopt.models.mapping.peer.grids.variants`.

    A family has one class of weight memory, one staging of sums and one of local weights. The first
    of each family is kept; among the others cycles decide, then memory and exchange rows.
    """
    made = list(variants(shape, frontier(generate(shape, active)), spread=spread))
    figures = price_variants(shape, made)
    vectors = figures.vectors
    families: dict[tuple[str, str, bool], list[int]] = {}
    for index, variant in enumerate(made):
        family = (variant.memory, variant.epochs, variant.staged)
        families.setdefault(family, []).append(index)
    ranks = (figures.row_bytes, figures.interleaved, figures.total, figures.cycles)
    rank = np.empty(len(made), dtype=np.int64)
    rank[np.lexsort(ranks)] = np.arange(len(made))
    first: list[int] = []
    others: list[int] = []
    for members in families.values():
        left = sorted((members[i] for i in unbeaten(vectors[members])), key=rank.__getitem__)
        first += left[:1]
        others += left[1:]
    chosen = (sorted(first, key=rank.__getitem__) + sorted(others, key=rank.__getitem__))[:RETAINED]
    return tuple(_candidate(product_plan(shape, made[i], tiles), figures, i) for i in chosen)


def _candidate(plan: Plan, figures: Figures, index: int) -> Candidate:
    """The product of ``plan`` as a candidate; it fits where the operator does (cost-model.md 2.5)."""
    (step,) = plan.steps
    assert isinstance(step, MatMulStep)
    cycles, total = int(figures.cycles[index]), int(figures.total[index])
    fits = cycles < IMPOSSIBLE and total + RESERVED_BYTES <= TOTAL_BYTES
    activation, weight, result = (value.layout for value in plan.values)
    return Candidate(activation, weight, result, step, cycles, fits)
