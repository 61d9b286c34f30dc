"""Small plans, and an interpreter that carries out their programs in numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from ipuopt.layout import (
    COLUMNS,
    LEFT,
    LINEAR,
    ROW_MAJOR,
    ROWS,
    TRANSPOSED_LEFT,
    AxisTiling,
    Layout,
    MemoryClass,
    Order,
    OrderKind,
)
from ipuopt.orders import element_index, walk_alike
from ipuopt.plan import (
    ConversionMethod,
    ConversionStep,
    Epochs,
    MatMulStep,
    Orientation,
    Origin,
    Plan,
    PlannedValue,
    PlanStep,
    PointwiseStep,
)
from ipuopt.program import Kernel, Program, Role, StepKind

FloatArray = npt.NDArray[np.float64]
Interpret = Callable[[Plan, Program, Mapping[str, FloatArray]], dict[str, FloatArray]]
KINDS = tuple(OrderKind)


def gelu(x: FloatArray) -> FloatArray:
    """The tanh form."""
    result: FloatArray = 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))
    return result


class Machine:
    """Content of every shard as float64; what nothing has written is NaN."""

    def __init__(self, plan: Plan, program: Program) -> None:
        self.plan, self.program = plan, program
        shards = program.shards
        self.size = np.array([plan.values[v].element_bytes for v in shards.value])
        self.content = [
            np.full(int(bytes_ // size), np.nan)
            for bytes_, size in zip(shards.size_bytes, self.size, strict=True)
        ]

    def index(
        self, shard: int, *, logical: bool
    ) -> tuple[npt.NDArray[np.int64], tuple[slice, slice]]:
        """Positions of a shard's elements and where they lie in the value."""
        s = self.program.shards
        rows = np.arange(s.row_end[shard] - s.row_start[shard])
        columns = np.arange(s.column_end[shard] - s.column_start[shard])
        high, wide = (
            int(s.row_stop[shard] - s.row_start[shard]),
            int(s.column_stop[shard] - s.column_start[shard]),
        )
        if not logical:
            rows, columns = np.arange(high), np.arange(wide)
        order = Order(KINDS[s.order[shard]], int(s.order_block[shard]))
        at = element_index(
            order, rows[:, None], columns[None, :], high, wide, int(self.size[shard])
        )
        where = (
            slice(int(s.row_start[shard]), int(s.row_end[shard])),
            slice(int(s.column_start[shard]), int(s.column_end[shard])),
        )
        return at, where

    def load(self, tensors: Mapping[str, FloatArray]) -> None:
        """The host fills inputs and parameters, with zeros in the padding."""
        shards = self.program.shards
        for shard in np.flatnonzero(shards.role == Role.VALUE).tolist():
            value = self.plan.values[shards.value[shard]]
            if value.origin is not Origin.COMPUTED:
                at, where = self.index(shard, logical=True)
                self.content[shard][self.index(shard, logical=False)[0].ravel()] = 0
                self.content[shard][at] = tensors[value.tensor][where]

    def execute(self) -> None:
        """All steps, in order."""
        for number, step in enumerate(self.program.steps):
            match step.kind:
                case StepKind.PHASE:
                    self.phase(number)
                case StepKind.COPY:
                    self.copies(number)
                case StepKind.RUN:
                    runs = self.program.runs
                    for run in np.flatnonzero(runs.step == number):
                        self.run(int(run))

    def part(self, shard: int, offset: int, size: int) -> FloatArray:
        """Contiguous bytes of a shard."""
        element = self.size[shard]
        assert offset % element == 0 and size % element == 0
        return self.content[shard][offset // element : (offset + size) // element]

    def phase(self, number: int) -> None:
        table = self.program.transfers
        arrivals = []
        for transfer in np.flatnonzero(table.step == number):
            size = int(table.words[transfer]) * 4
            data = self.part(
                table.source[transfer], int(table.source_offset[transfer]), size
            ).copy()
            low, high = table.destination_start[transfer : transfer + 2]
            arrivals += [(data, size, receiver) for receiver in range(low, high)]
        for data, size, receiver in arrivals:
            shard, offset = table.destination[receiver], int(table.destination_offset[receiver])
            self.part(shard, offset, size)[:] = data

    def copies(self, number: int) -> None:
        table = self.program.copies
        for copy in np.flatnonzero(table.step == number):
            size = int(table.size_bytes[copy])
            for row in range(table.count[copy]):
                source = int(table.source_offset[copy] + row * table.source_stride[copy])
                target = int(table.destination_offset[copy] + row * table.destination_stride[copy])
                data = self.part(table.source[copy], source, size)
                self.part(table.destination[copy], target, size)[:] = data

    def run(self, run: int) -> None:
        runs = self.program.runs
        names = ("output", "input0", "input1")
        output, first, second = (int(getattr(runs, name)[run]) for name in names)
        at, at0, at1 = (int(getattr(runs, f"{name}_offset")[run]) for name in names)
        rows, columns, inner = int(runs.rows[run]), int(runs.columns[run]), int(runs.inner[run])
        size = int(self.size[output])
        elements = self.part(output, at, rows * size)
        match Kernel(runs.kernel[run]):
            case Kernel.MATMUL:
                self.matmul(run, output, first, second)
            case Kernel.SUM:
                remote = self.part(second, at1, rows * (inner - 1) * size).reshape(inner - 1, rows)
                elements[:] = self.part(first, at0, rows * size) + remote.sum(axis=0)
            case Kernel.GELU:
                elements[:] = gelu(self.part(first, at0, rows * size))
            case Kernel.ADD:
                one, other = (
                    self.part(s, a, rows * size) for s, a in ((first, at0), (second, at1))
                )
                elements[:] = one + other
            case Kernel.CAST:
                here, there = (self.index(s, logical=False)[0] for s in (output, first))
                self.content[output][here] = self.content[first][there]
            case Kernel.PACK:
                here, there = (self.index(s, logical=True)[0] for s in (output, first))
                elements[:] = 0
                self.content[output][here] = self.content[first][there]
            case Kernel.UNPACK:
                here, there = (self.index(s, logical=True)[0] for s in (output, first))
                self.content[output][here] = self.content[first][there]
                width = self.index(output, logical=False)[0][: here.shape[0], here.shape[1] :]
                self.content[output][width] = 0
            case Kernel.CLEAR:
                elements[:] = 0
        assert columns >= 0

    def matmul(self, run: int, output: int, left: int, right: int) -> None:
        """Blocks are contiguous: rows x inner in AMP left, inner x columns in block-major."""
        runs = self.program.runs
        rows, columns, inner = int(runs.rows[run]), int(runs.columns[run]), int(runs.inner[run])
        size = int(self.size[output])
        r, k, c = np.arange(rows), np.arange(inner), np.arange(columns)
        kind = KINDS[self.program.shards.order[output]]
        folded = OrderKind.OUTPUT if "output" in kind else OrderKind.LEFT
        at_left = element_index(LEFT, r[:, None], k[None, :], rows, inner, size)
        block = Order(OrderKind.BLOCK_MAJOR, inner)
        at_right = element_index(block, k[:, None], c[None, :], inner, columns, size)
        at_output = element_index(Order(folded), r[:, None], c[None, :], rows, columns, size)
        a = self.part(left, int(runs.input0_offset[run]), rows * inner * size)[at_left]
        b = self.part(right, int(runs.input1_offset[run]), inner * columns * size)[at_right]
        sums = self.part(output, int(runs.output_offset[run]), rows * columns * size)
        with np.errstate(invalid="ignore"):
            product = a @ b
        sums[at_output] = product + (sums[at_output] if runs.accumulate[run] else 0)

    def outputs(self) -> dict[str, FloatArray]:
        """Output tensors; every shard of a replica must hold the same."""
        shards, result = self.program.shards, {}
        for number, value in enumerate(self.plan.values):
            if not value.is_output:
                continue
            tensor = np.full((value.rows, value.columns), np.nan)
            for shard in np.flatnonzero(
                (shards.role == Role.VALUE) & (shards.value == number)
            ).tolist():
                at, where = self.index(shard, logical=True)
                held = tensor[where]
                assert np.all(np.isnan(held) | (held == self.content[shard][at]))
                tensor[where] = self.content[shard][at]
            result[value.tensor] = tensor
        return result


def _interpret(
    plan: Plan, program: Program, tensors: Mapping[str, FloatArray]
) -> dict[str, FloatArray]:
    machine = Machine(plan, program)
    machine.load(tensors)
    machine.execute()
    return machine.outputs()


@dataclass(frozen=True)
class Grid:
    """Compute grid of a product, and how its result is cut further.

    ``rows``, ``columns``, ``inner`` in the physical orientation; ``copies`` of the weights, 1 or
    ``rows``; ``row_factor``, ``column_factor``: parts of the result for each part of the grid.
    """

    rows: int
    columns: int
    inner: int
    row_factor: int = 1
    column_factor: int = 1
    resident: bool = False
    swapped: bool = False
    epochs: Epochs = Epochs.COMPLETE
    blocks: int = 1
    memory: MemoryClass = MemoryClass.INTERLEAVED
    offset: int = 0

    @property
    def tiles(self) -> int:
        return self.rows * self.columns * self.inner

    def block_inner(self, extent: int) -> int:
        """Kernel block: ``blocks`` of them in every inner part, in multiples of 16."""
        return -(-extent // (16 * self.inner * self.blocks)) * 16

    def left(self, extent: int) -> Layout:
        block = self.block_inner(extent)
        inner, rows = (ROWS, COLUMNS) if self.swapped else (COLUMNS, ROWS)
        axes = (AxisTiling(inner, self.inner, block, block), AxisTiling(rows, self.rows, 2, 2))
        order = TRANSPOSED_LEFT if self.swapped else LEFT
        return Layout(order, self.tiles, self.columns, axes, MemoryClass.STANDARD)

    def right(self, extent: int) -> Layout:
        block = self.block_inner(extent)
        inner, columns = (COLUMNS, ROWS) if self.swapped else (ROWS, COLUMNS)
        copies = self.rows if self.resident else 1
        axes = (
            AxisTiling(columns, self.columns, 16, 16, stride=1),
            AxisTiling(inner, self.inner, block, block, stride=self.columns),
        )
        kind = OrderKind.TRANSPOSED_BLOCK_MAJOR if self.swapped else OrderKind.BLOCK_MAJOR
        tiles = self.columns * self.inner * copies
        return Layout(Order(kind, block), tiles, copies, axes, self.memory)

    def result(self) -> Layout:
        columns, rows = (ROWS, COLUMNS) if self.swapped else (COLUMNS, ROWS)
        parts = (self.columns * self.column_factor, self.rows * self.row_factor)
        axes = (
            AxisTiling(columns, parts[0], 16, 16, stride=1),
            AxisTiling(rows, parts[1], 2, 2, stride=parts[0]),
        )
        order = TRANSPOSED_LEFT if self.swapped else LEFT
        return Layout(order, parts[0] * parts[1], 1, axes, MemoryClass.INTERLEAVED)


class Planner:
    """Builds a plan step by step; values are named by their tensor."""

    def __init__(self, tiles: int, *, joins_phases: bool = False) -> None:
        self.tiles, self.joins_phases = tiles, joins_phases
        self.values: list[PlannedValue] = []
        self.steps: list[PlanStep] = []

    def value(
        self,
        tensor: str,
        shape: tuple[int, int],
        layout: Layout,
        origin: Origin = Origin.COMPUTED,
        *,
        dtype: str = "float16",
        offset: int = 0,
    ) -> int:
        name = f"{tensor} {len(self.values)}"
        self.values.append(
            PlannedValue(
                name=name,
                tensor=tensor,
                rows=shape[0],
                columns=shape[1],
                dtype=dtype,
                layout=layout,
                origin=origin,
                tile_offset=offset,
            )
        )
        return len(self.values) - 1

    def convert(self, value: int, layout: Layout) -> int:
        """The value itself where it already lies so."""
        of = self.values[value]
        if of.layout == layout:
            return value
        result = self.value(of.tensor, (of.rows, of.columns), layout, dtype=of.dtype)
        orders, size = (of.layout.order, layout.order), self.values[value].element_bytes
        method = ConversionMethod.STAGE
        if orders[0] == orders[1]:
            method = ConversionMethod.RETILE
        elif walk_alike(*orders, size):
            method = ConversionMethod.PANELS
        name = self.values[result].name
        self.steps.append(ConversionStep(name=name, value=value, result=result, method=method))
        return result

    def matmul(self, tensor: str, left: int, right: tuple[str, int], grid: Grid) -> int:
        """``left`` times the parameter ``right`` (name, columns); inputs are loaded as needed."""
        of, (name, columns) = self.values[left], right
        extent, layouts = of.columns, (grid.left, grid.right)
        if grid.swapped:
            layouts = (grid.right, grid.left)
        if of.origin is Origin.COMPUTED:
            left = self.convert(left, layouts[0](extent))
        weights = self.value(
            name, (extent, columns), layouts[1](extent), Origin.PARAMETER, offset=grid.offset
        )
        result = self.value(tensor, (of.rows, columns), grid.result())
        width = -(-(of.rows if grid.swapped else columns) // (16 * grid.columns)) * 16
        self.steps.append(
            MatMulStep(
                name=tensor,
                left=left,
                right=weights,
                result=result,
                orientation=Orientation.SWAPPED if grid.swapped else Orientation.NORMAL,
                rows=grid.rows,
                columns=grid.columns,
                inner=grid.inner,
                block_inner=grid.block_inner(extent),
                block_columns=width,
                epochs=grid.epochs,
            )
        )
        return result

    def pointwise(self, tensor: str, kind: str, *inputs: int, dtype: str = "float16") -> int:
        of = self.values[inputs[0]]
        result = self.value(tensor, (of.rows, of.columns), of.layout, dtype=dtype)
        self.steps.append(PointwiseStep(name=tensor, kind=kind, inputs=inputs, result=result))
        return result

    def plan(self, *outputs: int) -> Plan:
        values = [
            PlannedValue(
                **{name: getattr(value, name) for name in value.__slots__ if name != "is_output"},
                is_output=number in outputs,
            )
            for number, value in enumerate(self.values)
        ]
        return Plan(
            tiles=self.tiles,
            values=tuple(values),
            steps=tuple(self.steps),
            joins_phases=self.joins_phases,
        )


def linear(tiles: int, grain: int, order: Order = LEFT) -> Layout:
    """Equal intervals of the row-major sequence."""
    axis = AxisTiling(LINEAR, tiles, grain, grain, pads=False)
    return Layout(order, tiles, 1, (axis,), MemoryClass.INTERLEAVED)


def row_sharded(tiles: int) -> Layout:
    """Whole rows in row-major order."""
    axis = AxisTiling(ROWS, tiles, 1, 1)
    return Layout(ROW_MAJOR, tiles, 1, (axis,), MemoryClass.STANDARD)


def _mlp(
    shape: tuple[int, int, int, int],
    first: Grid,
    second: Grid,
    *,
    gelu_layout: Layout | None = None,
    tiles: int = 64,
    joins_phases: bool = False,
) -> Plan:
    """MatMul, Gelu, MatMul; ``shape`` is rows, inner, hidden, columns."""
    rows, inner, hidden, columns = shape
    planner = Planner(tiles, joins_phases=joins_phases)
    layout = first.right(inner) if first.swapped else first.left(inner)
    x = planner.value("x", (rows, inner), layout, Origin.INPUT)
    h = planner.matmul("h", x, ("w1", hidden), first)
    if gelu_layout is not None:
        h = planner.convert(h, gelu_layout)
    a = planner.pointwise("a", "Gelu", h)
    return planner.plan(planner.matmul("y", a, ("w2", columns), second))


@dataclass(frozen=True)
class Toolbox:
    """What tests of the code generator share."""

    Grid = Grid
    Planner = Planner
    linear = staticmethod(linear)
    row_sharded = staticmethod(row_sharded)
    mlp = staticmethod(_mlp)
    interpret = staticmethod(_interpret)
    gelu = staticmethod(gelu)

    @staticmethod
    def tensors(plan: Plan, seed: int = 0) -> dict[str, FloatArray]:
        """Random values of what the host loads."""
        rng = np.random.default_rng(seed)
        return {
            value.tensor: rng.standard_normal((value.rows, value.columns))
            for value in plan.values
            if value.origin is not Origin.COMPUTED
        }


@pytest.fixture(scope="session")
def tools() -> Toolbox:
    return Toolbox()
