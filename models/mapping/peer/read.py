"""Read a plan of the public compiler (format "ipuopt seed plan 1") into our plan record.

The file describes a chain: every operator consumes the result of the one before, and a conversion
stands where the layouts differ. Values are numbered as the compiler numbers them: the activation,
the weights in the order of their use, then the results.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from ipuopt.layout import (
    COLUMNS,
    LINEAR,
    ROWS,
    AxisTiling,
    IntArray,
    Layout,
    LayoutError,
    MemoryClass,
    Order,
    OrderKind,
    rectangles,
)
from ipuopt.models.mapping.peer.document import Entry, read_document
from ipuopt.models.mapping.peer.price import price_plan
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
from ipuopt.target.constants import TILES

FORMAT = "ipuopt seed plan 1"
"""First key of the files that this module reads."""

_PRECISIONS = {"f16": "float16", "f32": "float32"}
_AMP = {
    "left": OrderKind.LEFT,
    "output": OrderKind.OUTPUT,
    "transposed_left": OrderKind.TRANSPOSED_LEFT,
    "transposed_output": OrderKind.TRANSPOSED_OUTPUT,
    "transposed_right": OrderKind.TRANSPOSED_RIGHT,
}
_BLOCK_MAJOR = {
    "matrix": OrderKind.BLOCK_MAJOR,
    "transposed_matrix": OrderKind.TRANSPOSED_BLOCK_MAJOR,
}


def read_plan(path: Path) -> Plan:
    """Read a seed plan; the terms of its steps are the prices of the public compiler's model.

    Raises
    ------
    InputError
        One line with file, line and key: what was found, what would be right.
    """
    document = read_document(path)
    document["format"].choice({FORMAT: None})
    tiles = document["workload"]["tiles"].integer(1, TILES)
    chain = _Chain(tiles, document)
    for step in document["steps"]:
        chain.append(step)
    plan = chain.plan()
    report = price_plan(plan)
    priced = [replace(s, terms=p.terms) for s, p in zip(plan.steps, report.steps, strict=True)]
    return replace(plan, steps=tuple(priced))


class _Chain:
    """Values and steps collected while the file is read; results get their numbers at the end."""

    def __init__(self, tiles: int, document: Entry) -> None:
        self.tiles = tiles
        self.document = document
        self.inputs: list[PlannedValue] = []
        self.results: list[PlannedValue] = []
        self.steps: list[PlanStep] = []

    @property
    def current(self) -> PlannedValue:
        """The value that the next step consumes."""
        return self.results[-1] if self.results else self.inputs[0]

    def append(self, step: Entry) -> None:
        """Add one step of the file."""
        if not self.inputs:
            self._start(step)
        if step["kind"].choice({"conversion": True, "operator": False}):
            self._conversion(step)
        elif step["operator"].choice({"gemm": True, "gelu": False}):
            self._matmul(step)
        else:
            self._pointwise(step)

    def _start(self, step: Entry) -> None:
        """Make the activation: the first operand of the first step, which is a product."""
        step["operator"].choice({"gemm": None})
        operand = next(iter(step["inputs"]))
        rows, columns = step["shape"]["m"].integer(), step["shape"]["k"].integer()
        self.inputs.append(_value("x", "x", rows, columns, operand, Origin.INPUT))

    def _conversion(self, step: Entry) -> None:
        source, target = _layout(step["from"]), _layout(step["to"])
        self._expect_layout(step["from"], source)
        made, name = self.current, _name(step)
        method = ConversionMethod.RETILE if source.order == target.order else ConversionMethod.STAGE
        self.results.append(replace(made, name=name, layout=target, origin=Origin.COMPUTED))
        self._check_shape(step["to"])
        self._step(ConversionStep(name=name, value=-1, result=-1, method=method))

    def _matmul(self, step: Entry) -> None:
        operands = list(step["inputs"])
        if len(operands) != 2:
            raise step["inputs"].error(f"found {len(operands)} operands, expected 2")
        self._expect_layout(operands[0], _layout(operands[0]))
        shape = {name: step["shape"][name].integer() for name in ("m", "n", "k")}
        current = self.current
        if (shape["m"], shape["k"]) != (current.rows, current.columns):
            raise step["shape"].error(
                f"found m, k = {shape['m']}, {shape['k']}, but {current.name} has shape "
                f"{current.rows} x {current.columns}"
            )
        weight = f"w{len(self.inputs)}"
        self.inputs.append(
            _value(weight, weight, shape["k"], shape["n"], operands[1], Origin.PARAMETER)
        )
        name = _name(step)
        output = step["output"]
        self.results.append(_value(name, name, shape["m"], shape["n"], output, Origin.COMPUTED))
        self._check_shape(output)
        dispatch = step["dispatch"]
        dispatch["kind"].choice({"blocked_gemm": None})
        grid, block = dispatch["compute_grid"], dispatch["block"]
        self._step(
            MatMulStep(
                name=name,
                left=-1,
                right=len(self.inputs) - 1,
                result=-1,
                orientation=dispatch["orientation"].choice({o.value: o for o in Orientation}),
                rows=grid["rows"].integer(),
                columns=grid["columns"].integer(),
                inner=grid["inner"].integer(),
                block_inner=block["inner"].integer(),
                block_columns=block["output_columns"].integer(),
                epochs=dispatch["partial_staging"].choice({e.value: e for e in Epochs}),
            )
        )

    def _pointwise(self, step: Entry) -> None:
        for operand in step["inputs"]:
            self._expect_layout(operand, _layout(operand))
        name, current = _name(step), self.current
        self.results.append(
            _value(name, name, current.rows, current.columns, step["output"], Origin.COMPUTED)
        )
        self._check_shape(step["output"])
        self._step(PointwiseStep(name=name, kind="Gelu", inputs=(-1,), result=-1))

    def _step(self, step: PlanStep) -> None:
        """Note a step; -1 stands for the value before it and the result that it makes."""
        self.steps.append(step)

    def _expect_layout(self, entry: Entry, found: Layout) -> None:
        if found != self.current.layout:
            raise entry.error(f"its layout is not that of {self.current.name}, which it reads")

    def _check_shape(self, entry: Entry) -> None:
        """Refuse a layout that cannot hold the newest result."""
        _check_layout(entry, self.results[-1])

    def plan(self) -> Plan:
        """The plan, with all values numbered and the parameters rotated."""
        if not self.results:
            raise self.document["steps"].error("found no step, expected at least one")
        first = len(self.inputs)
        steps: list[PlanStep] = []
        for index, step in enumerate(self.steps):
            before = 0 if index == 0 else first + index - 1
            result = first + index
            match step:
                case ConversionStep():
                    steps.append(replace(step, value=before, result=result))
                case MatMulStep():
                    steps.append(replace(step, left=before, result=result))
                case PointwiseStep():
                    steps.append(replace(step, inputs=(before,), result=result))
        self.results[-1] = replace(self.results[-1], is_output=True)
        values = rotate_parameters(tuple(self.inputs + self.results), self.tiles)
        return Plan(tiles=self.tiles, values=values, steps=tuple(steps), joins_phases=True)


def _name(step: Entry) -> str:
    name = step["name"].data
    if not isinstance(name, str) or not name:
        raise step["name"].wrong("a name")
    return name


def _value(
    name: str, tensor: str, rows: int, columns: int, entry: Entry, origin: Origin
) -> PlannedValue:
    dtype = entry["precision"].choice(_PRECISIONS)
    value = PlannedValue(name, tensor, rows, columns, dtype, _layout(entry), origin)
    _check_layout(entry, value)
    return value


def _check_layout(entry: Entry, value: PlannedValue) -> None:
    try:
        rectangles(value.layout, value.rows, value.columns)
    except LayoutError as error:
        raise entry.error(str(error)) from error


def _layout(entry: Entry) -> Layout:
    return Layout(
        order=_order(entry["order"]),
        tiles=entry["tile_count"].integer(1, TILES),
        replicas=entry["replicas"].integer(),
        axes=tuple(_axis(axis) for axis in entry["axes"]),
        memory_class=entry["memory_class"].choice({c.value: c for c in MemoryClass}),
    )


def _order(entry: Entry) -> Order:
    match entry["kind"].choice({word: word for word in ("row_major", "amp", "block_major")}):
        case "row_major":
            return Order(OrderKind.ROW_MAJOR)
        case "amp":
            return Order(entry["operand"].choice(_AMP))
        case _:
            entry["column_block"].integer(16, 16)
            return Order(entry["form"].choice(_BLOCK_MAJOR), entry["row_block"].integer(16))


def _axis(entry: Entry) -> AxisTiling:
    return AxisTiling(
        axis=entry["axis"].choice({"from_end_1": COLUMNS, "from_end_2": ROWS, "linear": LINEAR}),
        partitions=entry["partitions"].integer(),
        block=entry["block_size"].integer(),
        padding_multiple=entry["padding_multiple"].integer(),
        pads=entry["padding"].choice({"zero": True, "reject": False}),
        stride=entry["tile_stride"].optional_integer(1),
        groups=entry["padding_groups"].integer(),
        shard_multiple=entry["shard_padding_multiple"].integer(),
    )


def rotate_parameters(values: tuple[PlannedValue, ...], tiles: int) -> tuple[PlannedValue, ...]:
    """Give every parameter the tile offset that levels the parameter bytes of the tiles.

    In order of the values: the offset that makes the largest sum of parameter bytes over tiles
    least, the smallest such offset on ties (lowering.md 1).
    """
    load = np.zeros(tiles, dtype=np.int64)
    rotated = []
    for value in values:
        if value.origin is Origin.PARAMETER:
            size = _bytes_by_tile(value, tiles)
            peaks = [int((load + np.roll(size, offset)).max()) for offset in range(tiles)]
            offset = peaks.index(min(peaks))
            load += np.roll(size, offset)
            value = replace(value, tile_offset=offset)
        rotated.append(value)
    return tuple(rotated)


def _bytes_by_tile(value: PlannedValue, tiles: int) -> IntArray:
    """Physical bytes that each tile holds of a value before rotation."""
    shards = rectangles(value.layout, value.rows, value.columns)
    size = np.zeros(tiles, dtype=np.int64)
    np.add.at(size, shards.tile, shards.elements * value.element_bytes)
    return size
