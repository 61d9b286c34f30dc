"""A workload as a chain of operations with the candidates that the public compiler retains."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ipuopt.errors import InputError, LimitError
from ipuopt.layout import Layout, LayoutError
from ipuopt.limits import Limits
from ipuopt.models.mapping.peer.formats import pointwise_formats
from ipuopt.models.mapping.peer.grids import Shape, tile_counts
from ipuopt.models.mapping.peer.memory import operator_fits
from ipuopt.models.mapping.peer.price import PeerStep, price_step
from ipuopt.models.mapping.peer.rearrange import Rule
from ipuopt.models.mapping.peer.retained import retained
from ipuopt.models.mapping.peer.stationary import Layouts, own_grid, stationary
from ipuopt.plan import (
    MatMulStep,
    Orientation,
    Origin,
    Plan,
    PlannedValue,
    PointwiseStep,
)
from ipuopt.workload.model import Operation, Tensor, TensorKind, Workload

ORIGINS = {
    TensorKind.INPUT: Origin.INPUT,
    TensorKind.PARAMETER: Origin.PARAMETER,
    TensorKind.RESULT: Origin.COMPUTED,
}


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to carry out an operation.

    Attributes
    ----------
    reads, loads, makes
        Layouts of the activation, of the weight (None without one) and of the result.
    step
        Its step, with operands numbered in the order of ``reads``, ``loads``, ``makes``.
    priced
        What the public compiler charges for it.
    """

    reads: Layout
    loads: Layout | None
    makes: Layout
    step: MatMulStep | PointwiseStep
    priced: PeerStep


@dataclass(frozen=True, slots=True)
class Link:
    """One operation of the chain: its activation, its weight, its result, and its choices.

    Choices of a pointwise operation depend on the layout that it finds, see :meth:`offered`; the
    ones listed here are those of a product.
    """

    operation: Operation
    activation: Tensor
    weight: Tensor | None
    result: Tensor
    tiles: int
    counts: tuple[int, ...]
    choices: tuple[Choice, ...]

    def offered(self, current: Layout | None) -> tuple[Choice, ...]:
        """Choices for an activation that lies in ``current``; None: the host loads it as asked."""
        if self.weight is not None or current is None:
            return self.choices
        rows, columns = self.activation.rows, self.activation.columns
        formats = pointwise_formats(current, rows, columns, self.counts)
        return tuple(self._pointwise(layout) for layout in formats)

    def _pointwise(self, layout: Layout) -> Choice:
        step = PointwiseStep(name=self.operation.name, kind="Gelu", inputs=(0,), result=1)
        values = value_of(self.activation, "x", layout), value_of(self.result, "y", layout)
        priced = price_step(Plan(tiles=self.tiles, values=values, steps=(step,)), step, Rule.A)
        return Choice(layout, None, layout, step, priced)


def value_of(tensor: Tensor, name: str, layout: Layout, *, is_output: bool = False) -> PlannedValue:
    """A plan value that holds ``tensor``."""
    origin = ORIGINS[tensor.kind]
    rows, columns, dtype = tensor.rows, tensor.columns, tensor.dtype
    return PlannedValue(
        name, tensor.name, rows, columns, dtype, layout, origin, is_output=is_output
    )


def read_chain(workload: Workload, limits: Limits, *, brief: bool = False) -> tuple[Link, ...]:
    """Operations of ``workload`` with their candidates; ``brief``: those on all tiles alone.

    Raises
    ------
    InputError
        For a workload that is no chain of products and GeLUs, a product first.
    LimitError
        If the time is over before all candidates are priced.
    """
    extents = [e for t in workload.tensors.values() for e in (t.rows, t.columns)]
    counts = tuple(tile_counts(workload.target.tiles, list(dict.fromkeys(extents))))
    counts = counts[:1] if brief else counts
    links: list[Link] = []
    for index, operation in enumerate(workload.operations):
        before = workload.operations[index - 1].name if index else operation.inputs[0]
        _refuse_branch(workload, operation, before, first=index == 0)
        activation, result = workload.tensors[before], workload.tensors[operation.name]
        weight: Tensor | None = None
        choices: tuple[Choice, ...] = ()
        if operation.kind == "MatMul":
            weight = workload.tensors[operation.inputs[1]]
            choices = _products(workload, operation, counts, limits, first=index == 0)
        links.append(
            Link(operation, activation, weight, result, workload.target.tiles, counts, choices)
        )
    return tuple(links)


def _refuse_branch(workload: Workload, operation: Operation, before: str, *, first: bool) -> None:
    """Refuse an operation that does not continue a chain; products and GeLUs are float16 anyway."""
    product = operation.kind == "MatMul"
    if not product and (operation.kind != "Gelu" or first):
        found = f"{operation.kind} {operation.name}"
    elif operation.inputs[0] != before or before in operation.inputs[1:]:
        found = f"{operation.name} that reads {', '.join(operation.inputs)} after {before}"
    elif product and workload.tensors[operation.inputs[1]].kind is TensorKind.RESULT:
        found = f"computed weights {operation.inputs[1]} of {operation.name}"
    elif any(len(workload.consumers(name)) != 1 for name in operation.inputs):
        found = f"operands of {operation.name} that others read"
    else:
        return
    expected = "a chain of MatMul and Gelu that begins with a MatMul"
    raise InputError(f"{workload.name}: --space peer: found {found}, expected {expected}")


def _refuse_late(limits: Limits, workload: Workload, operation: Operation) -> None:
    if limits.expired():
        name = f"{workload.name}: {operation.name}"
        raise LimitError(f"{name}: the limit came before the peer's candidates were priced")


def _products(
    workload: Workload, operation: Operation, counts: Sequence[int], limits: Limits, *, first: bool
) -> tuple[Choice, ...]:
    """Candidates of a product, each once: the retained ones, and those without a reduction.

    Swapped ones read an order that only the host can write (cost-model.md 2.5), so they are
    candidates of the first product alone. Of two that differ in the staging of local weights alone
    the one that reads them in place is kept: it costs less and needs no more memory.
    """
    activation, weight = (workload.tensors[name] for name in operation.inputs)
    result = workload.tensors[operation.name]
    readers = workload.consumers(operation.name)
    spread = not readers or readers[0].kind == "Gelu"
    tiles = workload.target.tiles
    found: dict[tuple[object, ...], tuple[Layouts, MatMulStep]] = {}

    def add(layouts: Layouts, step: MatMulStep) -> None:
        named = replace(step, name=operation.name)
        key = (*layouts, step.epochs, step.rows, step.columns, step.block_columns)
        if key not in found or not step.stages_weights:
            found[key] = (layouts, named)
        block, extents = (step.block_inner, step.block_columns), (weight.rows, weight.columns)
        own = None if step.orientation is Orientation.SWAPPED else own_grid(block, extents, tiles)
        if own is not None:
            own = replace(own, memory_class=layouts[1].memory_class)
            moved = layouts[0], own, layouts[2]
            found.setdefault((*moved, *key[3:]), (moved, named))

    for active in counts:
        _refuse_late(limits, workload, operation)
        for swapped in (False, True) if first else (False,):
            shape = Shape(activation.rows, activation.columns, result.columns, swapped)
            for candidate in retained(shape, active, tiles, spread=spread):
                if candidate.fits:
                    add((candidate.activation, candidate.weight, candidate.result), candidate.step)
        for layouts, step in stationary(activation.rows, weight.rows, weight.columns, active):
            add(layouts, step)
    choices = []
    for (reads, loads, makes), step in found.values():
        values = (
            value_of(activation, "x", reads),
            value_of(weight, "w", loads),
            value_of(result, "y", makes),
        )
        plan = Plan(tiles=tiles, values=values, steps=(step,))
        _refuse_late(limits, workload, operation)
        if not operator_fits(plan, step):
            continue
        with contextlib.suppress(LayoutError):  # more copies than there are tiles
            priced = price_step(plan, step, Rule.A)
            choices.append(Choice(reads, loads, makes, step, priced))
    return tuple(choices)
