"""Read a plan of the public compiler (format "ipuopt seed plan 1") into our plan record.

The file describes a chain: every operator consumes the result of the one before, and a conversion
stands where the layouts differ. Values are numbered as the compiler numbers them: the activation,
the weights in the order of their use, then the results.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ipuopt.errors import InputError
from ipuopt.layout import Layout, LayoutError
from ipuopt.models.mapping.peer.document import Entry, read_document
from ipuopt.models.mapping.peer.price import price_plan
from ipuopt.models.mapping.peer.read_layout import read_layout
from ipuopt.models.mapping.peer.rotation import rotate_parameters
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
from ipuopt.rectangles import rectangles
from ipuopt.target.constants import TILES

FORMAT = "ipuopt seed plan 1"
"""First key of the files that this module reads."""

_PRECISIONS = {"f16": "float16", "f32": "float32"}


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
    try:
        report = price_plan(plan)
    except LayoutError as error:
        raise InputError(f"{path}: a grid does not fit its layouts: {error}") from error
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
        operand = _operands(step, 2)[0]
        rows, columns = step["shape"]["m"].integer(), step["shape"]["k"].integer()
        self.inputs.append(self._value("x", rows, columns, operand, Origin.INPUT))

    def _conversion(self, step: Entry) -> None:
        source, target = self._expect_layout(step["from"]), self._layout(step["to"])
        made, name = self.current, self._name(step)
        method = ConversionMethod.RETILE if source.order == target.order else ConversionMethod.STAGE
        self.results.append(replace(made, name=name, layout=target, origin=Origin.COMPUTED))
        _check_layout(step["to"], self.results[-1])
        self._step(ConversionStep(name=name, value=-1, result=-1, method=method))

    def _matmul(self, step: Entry) -> None:
        activation, parameter = _operands(step, 2)
        self._expect_layout(activation)
        shape = {name: step["shape"][name].integer() for name in ("m", "n", "k")}
        current = self.current
        if (shape["m"], shape["k"]) != (current.rows, current.columns):
            raise step["shape"].error(
                f"found m, k = {shape['m']}, {shape['k']}, but {current.name} has shape "
                f"{current.rows} x {current.columns}"
            )
        weight = f"w{len(self.inputs)}"
        self.inputs.append(self._value(weight, shape["k"], shape["n"], parameter, Origin.PARAMETER))
        name = self._name(step)
        output = step["output"]
        self.results.append(self._value(name, shape["m"], shape["n"], output, Origin.COMPUTED))
        dispatch = step["dispatch"]
        dispatch["kind"].choice({"blocked_gemm": None})
        grid, block = dispatch["compute_grid"], dispatch["block"]
        product = MatMulStep(
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
        normal = product.orientation is Orientation.NORMAL
        used = (current if normal else self.inputs[-1]).layout.tiles
        if product.rows * product.columns * product.inner != used:
            raise grid.error(
                f"found {product.rows} x {product.columns} x {product.inner}, but the physical left "
                f"operand lies on {used} tiles, one for each part of the grid"
            )
        self._step(product)

    def _pointwise(self, step: Entry) -> None:
        self._expect_layout(_operands(step, 1)[0])
        name, current = self._name(step), self.current
        self.results.append(
            self._value(name, current.rows, current.columns, step["output"], Origin.COMPUTED)
        )
        self._step(PointwiseStep(name=name, kind="Gelu", inputs=(-1,), result=-1))

    def _name(self, step: Entry) -> str:
        """Name of a step, which becomes the name of its result."""
        name = step["name"].data
        if not isinstance(name, str) or not name:
            raise step["name"].wrong("a name")
        if any(name == value.name for value in self.inputs + self.results):
            raise step["name"].error(f"{name!r} is taken already")
        return name

    def _step(self, step: PlanStep) -> None:
        """Note a step; -1 stands for the value before it and the result that it makes."""
        self.steps.append(step)

    def _layout(self, entry: Entry) -> Layout:
        return read_layout(entry, self.tiles)

    def _value(
        self, name: str, rows: int, columns: int, entry: Entry, origin: Origin
    ) -> PlannedValue:
        dtype = entry["precision"].choice(_PRECISIONS)
        value = PlannedValue(name, name, rows, columns, dtype, self._layout(entry), origin)
        _check_layout(entry, value)
        return value

    def _expect_layout(self, entry: Entry) -> Layout:
        """The layout at ``entry``, which must be that of the value that the step reads."""
        found = self._layout(entry)
        if found != self.current.layout:
            raise entry.error(f"its layout is not that of {self.current.name}, which it reads")
        return found

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


def _operands(step: Entry, count: int) -> list[Entry]:
    """The operands of an operator."""
    operands = list(step["inputs"])
    if len(operands) != count:
        raise step["inputs"].error(f"found {len(operands)} operands, expected {count}")
    return operands


def _check_layout(entry: Entry, value: PlannedValue) -> None:
    """Refuse a layout that cannot hold a value."""
    try:
        rectangles(value.layout, value.rows, value.columns)
    except LayoutError as error:
        raise entry.error(str(error)) from error
