"""Candidates of a product that the public compiler retains, with its prices (cost-model.md 2.2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ipuopt.layout import Layout, LayoutError, round_up
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
from ipuopt.models.mapping.peer.matmul import price_matmul, shard_bytes
from ipuopt.models.mapping.peer.memory import (
    INTERLEAVED_BYTES,
    LEFT_TAIL_BYTES,
    RESERVED_BYTES,
    TOTAL_BYTES,
    Demand,
    of_class,
)
from ipuopt.models.mapping.peer.rearrange import IMPOSSIBLE
from ipuopt.plan import MatMulStep, Orientation, Origin, Plan, PlannedValue
from ipuopt.target.memory import STANDARD_ELEMENT

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

    A family has one class of weight memory and one staging of sums. The first of each family is
    kept; among the others cycles decide, then memory and exchange rows.
    """
    found: list[tuple[tuple[int, ...], Candidate]] = []
    families: dict[tuple[str, str], list[int]] = {}
    for variant in variants(shape, frontier(generate(shape, active)), spread=spread):
        plan = product_plan(shape, variant, tiles)
        try:
            figures, candidate = _price(plan, shape.swapped)
        except LayoutError:
            continue
        families.setdefault((variant.memory, variant.epochs), []).append(len(found))
        found.append((figures, candidate))
    first, others = [], []
    for members in families.values():
        figures_of = np.array([found[i][0] for i in members], dtype=np.int64)
        left = sorted((members[i] for i in unbeaten(figures_of)), key=lambda i: _rank(found[i][0]))
        first += left[:1]
        others += left[1:]
    first.sort(key=lambda i: _rank(found[i][0]))
    others.sort(key=lambda i: _rank(found[i][0]))
    return tuple(found[i][1] for i in (first + others)[:RETAINED])


def _rank(figures: tuple[int, ...]) -> tuple[int, ...]:
    cycles, _, interleaved, total, _, rows = figures
    return cycles, total, interleaved, rows


def _price(plan: Plan, swapped: bool) -> tuple[tuple[int, ...], Candidate]:
    """Cycles, peaks with the left as slices, staging and exchange rows; then the candidate.

    What exceeds the memory of a tile costs the impossible on top of its cycles (cost-model.md 3.3).
    """
    (step,) = plan.steps
    assert isinstance(step, MatMulStep)
    price = price_matmul(plan, step)
    activation, weight, result = plan.values
    left, right = (weight, activation) if swapped else (activation, weight)
    tail = 0 if swapped else LEFT_TAIL_BYTES[left.element_bytes]
    fetch = round_up(shard_bytes(left) + tail, STANDARD_ELEMENT)
    peak = of_class(right, shard_bytes(right)) + of_class(result, shard_bytes(result))
    peak += Demand(max(fetch, price.temporary_standard), price.temporary_interleaved)
    cycles = sum(price.terms.values())
    if peak.interleaved > INTERLEAVED_BYTES or peak.total > TOTAL_BYTES:
        cycles += IMPOSSIBLE
    fits = cycles < IMPOSSIBLE and peak.total + RESERVED_BYTES <= TOTAL_BYTES
    figures = (cycles, peak.standard, peak.interleaved, peak.total, fetch, price.row_bytes)
    layouts_of = (activation.layout, weight.layout, result.layout)
    return figures, Candidate(*layouts_of, step, cycles, fits)
