"""Price of a blocked matrix product (cost-model.md 3.3) and its temporary memory (4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ipuopt.layout import (
    COLUMNS,
    ROWS,
    AxisTiling,
    Layout,
    MemoryClass,
    OrderKind,
    round_up,
    widest_part,
)
from ipuopt.models.mapping.peer.operands import replication_traffic, stationary_traffic
from ipuopt.models.mapping.peer.traffic import exchange_cycles, row_bytes
from ipuopt.plan import Epochs, MatMulStep, Orientation, Plan, PlannedValue
from ipuopt.rectangles import max_shard_elements
from ipuopt.target.kernels import ceil_div, matmul_cycles, paced_copy_cycles, sum_cycles

_BLOCK_MAJOR = (OrderKind.BLOCK_MAJOR, OrderKind.TRANSPOSED_BLOCK_MAJOR)


@dataclass(frozen=True, slots=True)
class MatMulPrice:
    """Cycles by term, exchange cycles among them, bytes of exchange rows and temporary memory."""

    terms: Mapping[str, int]
    exchange_cycles: int
    row_bytes: int
    temporary_standard: int
    temporary_interleaved: int


@dataclass(frozen=True, slots=True)
class Product:
    """A product in its physical orientation.

    Attributes
    ----------
    left, right, result
        Physical operands: rows x inner, inner x columns, rows x columns.
    row_axis, column_axis
        Axes of ``result`` that are the physical rows and columns.
    """

    step: MatMulStep
    left: PlannedValue
    right: PlannedValue
    result: PlannedValue
    row_axis: int
    column_axis: int

    @classmethod
    def of(cls, plan: Plan, step: MatMulStep) -> Product:
        """The product that ``step`` computes; the weight is the physical left when swapped."""
        activation, weight = plan.values[step.left], plan.values[step.right]
        result = plan.values[step.result]
        if step.orientation is Orientation.NORMAL:
            return cls(step, activation, weight, result, ROWS, COLUMNS)
        return cls(step, weight, activation, result, COLUMNS, ROWS)

    @property
    def inner(self) -> int:
        """Logical extent of the inner axis."""
        return _extent(self.left, self.column_axis)

    @property
    def epochs(self) -> int:
        """Phases that bring partial sums; 0 without a reduction."""
        if self.step.inner == 1:
            return 0
        return 1 if self.step.epochs is Epochs.COMPLETE else self.step.inner - 1

    @property
    def partial(self) -> Layout:
        """Layout of the partial sums: the compute grid, or the result's without a reduction."""
        step, layout = self.step, self.result.layout
        if step.inner == 1:
            return layout
        wide, tall = layout.tiling(self.column_axis), layout.tiling(self.row_axis)
        columns = AxisTiling(
            self.column_axis,
            step.columns,
            step.block_columns,
            step.block_columns,
            groups=wide.groups if wide else 1,
        )
        rows = AxisTiling(
            self.row_axis, step.rows, 1, 1, pads=False, groups=tall.groups if tall else 1
        )
        return Layout(
            layout.order, step.rows * step.columns, 1, (columns, rows), layout.memory_class
        )

    @property
    def brings_panels(self) -> bool:
        """Whether weights come in panels: their inner axis is cut, or they are re-read by block."""
        tiling = self.right.layout.tiling(self.row_axis)
        return (tiling is not None and tiling.partitions > 1) or (
            self.right.layout.memory_class is MemoryClass.STANDARD
            and self.inner > self.step.block_inner
            and _widest(self.result, self.result.layout, self.column_axis) > 16
        )


def _extent(value: PlannedValue, axis: int) -> int:
    return value.columns if axis == COLUMNS else value.rows


def _widest(value: PlannedValue, layout: Layout, axis: int) -> int:
    """Widest physical part of ``axis``; a linear layout answers with the whole axis."""
    return widest_part(_extent(value, axis), layout.tiling(axis))


def shard_bytes(value: PlannedValue) -> int:
    """Most physical bytes of a value on one tile (cost-model.md 1.5)."""
    return max_shard_elements(value.layout, value.rows, value.columns) * value.element_bytes


def price_matmul(plan: Plan, step: MatMulStep) -> MatMulPrice:
    """Cycles, exchange rows and temporary memory of one product with complete operands."""
    product = Product.of(plan, step)
    result = product.result
    partial_elements = max_shard_elements(product.partial, result.rows, result.columns)
    columns = _widest(result, product.partial, product.column_axis)
    result_bytes = shard_bytes(result)
    finer = result.layout.tiles > step.rows * step.columns
    piece = result_bytes if finer else partial_elements * result.element_bytes
    terms = {"kernel": _kernel(product, partial_elements, columns)}
    terms |= _weight_terms(product, columns)
    if step.inner > 1:
        operands = replication_traffic(product.left, step.columns, plan.tiles)
        operands += replication_traffic(product.right, step.rows, plan.tiles)
        phases, operand_phases = 1 + product.epochs, 1
        epochs, others = product.epochs, step.inner - 1
        terms["partial exchange"] = exchange_cycles(piece * max(2, others), epochs)
        if epochs == 1:
            terms["reduction"] = sum_cycles(piece, step.inner)
        else:
            terms["reduction"] = others * sum_cycles(piece, 2)
        terms["result copy"] = paced_copy_cycles(result_bytes)
    else:
        operands = stationary_traffic(
            product.left, product.row_axis, result, product.row_axis, plan.tiles
        )
        operands += stationary_traffic(
            product.right, product.column_axis, result, product.column_axis, plan.tiles
        )
        phases = operand_phases = ceil_div(product.inner, step.block_inner)
    terms["operand exchange"] = operands.cycles(operand_phases)
    exchange = terms["operand exchange"] + terms.get("partial exchange", 0)
    standard, interleaved = temporary_bytes(product, piece, partial_elements * result.element_bytes)
    return MatMulPrice(
        {name: cycles for name, cycles in terms.items() if cycles},
        exchange,
        row_bytes(phases, operands.chunks(phases)),
        standard,
        interleaved,
    )


def _inner_share(product: Product) -> int:
    """Padded inner elements of one inner part."""
    tiling = product.left.layout.tiling(product.column_axis)
    padded = product.inner if tiling is None else round_up(product.inner, tiling.padding_multiple)
    return ceil_div(padded, product.step.inner)


def _kernel(product: Product, partial_elements: int, columns: int) -> int:
    """All kernel calls of the fullest tile."""
    step, right = product.step, product.right
    call = matmul_cycles(
        ceil_div(partial_elements, columns),
        step.block_columns,
        step.block_inner,
        right.layout.memory_class is MemoryClass.INTERLEAVED or _stages(product),
        right.element_bytes,
    )
    blocks = ceil_div(_inner_share(product), step.block_inner)
    return blocks * ceil_div(columns, step.block_columns) * call


def _stages(product: Product) -> bool:
    """Whether local weights go through staging: float16 ones that come in panels."""
    float16 = product.right.element_bytes == 2
    return product.step.stages_weights and float16 and product.brings_panels


def _weight_terms(product: Product, columns: int) -> dict[str, int]:
    """Extra cycles for weights that come in panels."""
    if not product.brings_panels:
        return {}
    layout, size = product.right.layout, product.right.element_bytes
    weights = columns * _inner_share(product) * size
    staging = {"local staging": paced_copy_cycles(weights)} if _stages(product) else {}
    if layout.order.kind not in _BLOCK_MAJOR:
        return staging | {"weight packing": ceil_div(2 * weights, 8)}
    if layout.memory_class is MemoryClass.INTERLEAVED or size != 2:
        return staging
    tiling = layout.tiling(product.row_axis)
    share = ceil_div(weights, tiling.partitions if tiling else 1)
    slower = ceil_div(share, 8) - ceil_div(share, 16)
    owners = slower * ceil_div(product.inner, product.step.block_inner)
    return staging | {"weight owners": owners}


def temporary_bytes(product: Product, piece: int, partial_bytes: int) -> tuple[int, int]:
    """Standard and interleaved bytes that one operator needs while it runs (cost-model.md 4.2)."""
    step, size = product.step, product.right.element_bytes
    if step.inner > 1:
        contributors = step.inner - 1 if step.epochs is Epochs.COMPLETE else 1
        groups = ceil_div(_extent(product.result, product.column_axis), step.block_columns)
        blocks = ceil_div(ceil_div(product.inner, 64), step.inner)
        panel = blocks * 64 * ceil_div(groups, step.columns) * step.block_columns * size
        return piece * (contributors + 2), panel + partial_bytes
    if size == 2 and product.brings_panels:
        widest = _widest(product.result, product.result.layout, product.column_axis)
        groups = ceil_div(widest, step.block_columns)
        return 0, groups * step.block_inner * step.block_columns * size
    return 0, 0
