"""Memory that the public compiler reckons with (cost-model.md 4)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ipuopt.layout import MemoryClass, round_up
from ipuopt.models.mapping.peer.matmul import Product, shard_bytes, temporary_bytes
from ipuopt.plan import ConversionStep, MatMulStep, Origin, Plan, PlannedValue, PlanStep
from ipuopt.rectangles import max_shard_elements
from ipuopt.target import memory
from ipuopt.target.kernels import ceil_div

INTERLEAVED_BYTES = memory.LOADABLE_END - memory.INTERLEAVED_BASE
"""Region that holds interleaved values, and standard ones above them (cost-model.md 4.1)."""
STANDARD_BYTES = memory.INTERLEAVED_BASE - memory.RUNTIME_END
"""Memory that is always standard (cost-model.md 4.1)."""
TOTAL_BYTES = STANDARD_BYTES + INTERLEAVED_BYTES
"""Total for planned values (cost-model.md 4.1)."""
RESERVED_BYTES = 49152
"""Reservation for support data (cost-model.md 4.1)."""
LEFT_TAIL_BYTES = {2: 16, 4: 32}
"""Readable bytes after the activation of a product, by element size (cost-model.md 2.5)."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Bytes of both classes on the fullest tile."""

    standard: int = 0
    interleaved: int = 0

    def __add__(self, other: Demand) -> Demand:
        return Demand(self.standard + other.standard, self.interleaved + other.interleaved)

    @property
    def total(self) -> int:
        """Both classes."""
        return self.standard + self.interleaved


@dataclass(frozen=True, slots=True)
class Peaks:
    """Peak memory of a program; maxima of different times.

    Attributes
    ----------
    standard, interleaved, total
        Bytes; exchange rows count as standard.
    largest_standard
        Largest single standard allocation in bytes.
    """

    standard: int
    interleaved: int
    total: int
    largest_standard: int


def of_class(value: PlannedValue, size_bytes: int) -> Demand:
    """``size_bytes`` in the memory class of ``value``."""
    if value.layout.memory_class is MemoryClass.STANDARD:
        return Demand(standard=size_bytes)
    return Demand(interleaved=size_bytes)


def operands(step: PlanStep) -> tuple[int, ...]:
    """Values that a step reads."""
    match step:
        case ConversionStep():
            return (step.value,)
        case MatMulStep():
            return step.left, step.right
        case _:
            return step.inputs


def live(plan: Plan, step: PlanStep) -> Demand:
    """Largest shards of the operands and the result of one step (cost-model.md 4.2)."""
    demand = Demand()
    for index in (*operands(step), step.result):
        value = plan.values[index]
        demand += of_class(value, shard_bytes(value))
    return demand


def allocations(plan: Plan, fetched: Collection[int] = ()) -> tuple[Demand, ...]:
    """Bytes of every value, with tails and whole elements where a use asks for them.

    The activation of a product has a readable tail; its result and its physical left lie in
    memory elements of their own (cost-model.md 2.5, 4.3). Values ``fetched`` in slices have none.
    """
    tail, distinct = [0] * len(plan.values), [False] * len(plan.values)
    for step in plan.steps:
        if isinstance(step, MatMulStep):
            product = Product.of(plan, step)
            activation = plan.values[step.left]
            tail[step.left] = max(tail[step.left], LEFT_TAIL_BYTES[activation.element_bytes])
            physical_left = step.left if product.left is activation else step.right
            distinct[step.result] = distinct[physical_left] = True
    sizes = []
    for index, value in enumerate(plan.values):
        size = shard_bytes(value) + tail[index]
        if distinct[index]:
            size = round_up(size, _element(value))
        sizes.append(Demand() if index in fetched else of_class(value, size))
    return tuple(sizes)


def slices(product: Product) -> tuple[int, bool]:
    """Bytes of the staging of a left operand that comes in slices (cost-model.md 4.2).

    Also whether it shares them with the sums, as in a product with a reduction, which stages the
    whole operand; one without a reduction stages a block of the inner axis.
    """
    left, size = product.left, product.left.element_bytes
    tail = LEFT_TAIL_BYTES[size]
    if product.step.inner > 1:
        return round_up(shard_bytes(left) + tail, memory.STANDARD_ELEMENT), True
    whole = max_shard_elements(left.layout, left.rows, left.columns)
    return ceil_div(whole, product.inner) * product.step.block_inner * size + tail, False


def with_slices(demand: Demand, product: Product) -> Demand:
    """Temporary memory of ``product`` where its left operand comes in slices."""
    staging, shared = slices(product)
    standard = max(staging, demand.standard) if shared else staging + demand.standard
    return Demand(standard, demand.interleaved)


def _element(value: PlannedValue) -> int:
    if value.layout.memory_class is MemoryClass.STANDARD:
        return memory.STANDARD_ELEMENT
    return memory.INTERLEAVED_ELEMENT


def program_peaks(
    plan: Plan, temporary: Sequence[Demand], rows: int, fetched: Collection[int] = ()
) -> Peaks:
    """Walk over the steps and note the peaks (cost-model.md 4.3).

    Parameters
    ----------
    plan
        Values and steps.
    temporary
        Temporary memory of each step.
    rows
        Bytes of the exchange rows of all steps.
    fetched
        Results of conversions that products fetch in slices: the source is held instead.
    """
    size = allocations(plan, fetched)
    last_use = _last_uses(plan, fetched)
    staged = [
        slices(Product.of(plan, step))[0]
        for step in plan.steps
        if isinstance(step, MatMulStep) and step.left in fetched
    ]
    alive = {i for i, v in enumerate(plan.values) if v.origin is not Origin.COMPUTED}
    observed = [sum((size[i] for i in alive), Demand())]
    for index, step in enumerate(plan.steps):
        held = sum((size[i] for i in alive | {step.result}), Demand())
        observed.append(held + temporary[index])
        alive = {i for i in alive | {step.result} if last_use.get(i, -1) > index}
    return Peaks(
        max(demand.standard for demand in observed) + rows,
        max(demand.interleaved for demand in observed),
        max(demand.total for demand in observed) + rows,
        max([*staged, *(demand.standard for demand in size)]),
    )


def _last_uses(plan: Plan, fetched: Collection[int]) -> Mapping[int, int]:
    """Last step that reads each value; outputs live beyond the last step.

    The source of a fetched value is read when that value is.
    """
    last = {i: len(plan.steps) for i, value in enumerate(plan.values) if value.is_output}
    for index, step in enumerate(plan.steps):
        for operand in operands(step):
            last[operand] = max(last.get(operand, -1), index)
    for step in plan.steps:
        if isinstance(step, ConversionStep) and step.result in fetched:
            last[step.value] = max(last[step.value], last.get(step.result, -1))
    return last


def violations(peaks: Peaks, rows: int, budget: int = TOTAL_BYTES) -> tuple[str, ...]:
    """Rules of cost-model.md 4.4 that the peaks break, one sentence each."""
    boundary = round_up(peaks.interleaved, memory.INTERLEAVED_ELEMENT)
    fits = max(STANDARD_BYTES - RESERVED_BYTES - rows, INTERLEAVED_BYTES - boundary)
    rules = (
        ("interleaved memory", peaks.interleaved, INTERLEAVED_BYTES),
        (
            "standard, rounded interleaved and reserved memory",
            peaks.standard + boundary + RESERVED_BYTES,
            min(budget, TOTAL_BYTES),
        ),
        ("largest standard allocation", peaks.largest_standard, fits),
    )
    return tuple(
        f"{what}: needs {demand} bytes of {capacity}"
        for what, demand, capacity in rules
        if demand > capacity
    )


def operator_fits(plan: Plan, step: MatMulStep) -> bool:
    """Whether the operator alone leaves the reservation; its left operand comes in slices (2.5).

    Only products without a reduction are looked at: the retained others have passed this test.
    """
    if step.inner > 1:
        return True
    product = Product.of(plan, step)
    demand = with_slices(Demand(0, temporary_bytes(product, 0, 0)[1]), product)
    for value in (product.right, product.result):
        demand += of_class(value, shard_bytes(value))
    beyond = demand.interleaved > INTERLEAVED_BYTES
    return not beyond and demand.total + RESERVED_BYTES <= TOTAL_BYTES
