"""A mapping plan: which kernel and grid each operation uses, and the layout of every value.

A plan is what the mapping model decides and what the lowering reads. Values are numbered; the
results of conversions are values of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ipuopt.layout import Layout

PLAN_SCHEMA = 1
"""Version of ``plan.json``."""


class Origin(StrEnum):
    """Where the elements of a value come from."""

    INPUT = "input"
    PARAMETER = "parameter"
    COMPUTED = "computed"


class Orientation(StrEnum):
    """Physical orientation of a matrix product.

    NORMAL: the physical left is the activation, its rows are the result's rows. SWAPPED: the
    transposed product; the physical left is the weight, its rows are the result's columns.
    """

    NORMAL = "normal"
    SWAPPED = "swapped"


class Epochs(StrEnum):
    """How partial sums travel: all in one phase, or one contributor a phase."""

    COMPLETE = "complete"
    STREAMED = "streamed"


class ConversionMethod(StrEnum):
    """How a value gets into another layout.

    RETILE: equal element orders, pieces move as they are. PANELS: orders that walk a micro-panel
    alike, which moves as it is (cost-model.md 1.6). STAGE: through row-major staging.
    """

    RETILE = "retile"
    PANELS = "panels"
    STAGE = "stage"


@dataclass(frozen=True, slots=True)
class PlannedValue:
    """A value of the planned program.

    Attributes
    ----------
    name
        Unique in the plan: ``"h"``, ``"a for y"``.
    tensor
        Tensor of the workload whose elements it holds.
    rows, columns
        Logical shape, leading axes folded into rows.
    dtype
        ``"float16"`` or ``"float32"``.
    layout
        Where its elements lie.
    origin
        Input and parameter values are loaded by the host in their layout, replicas included.
    tile_offset
        The shard of layout tile ``t`` lies on logical tile ``(t + tile_offset) mod tiles``.
    is_output
        Lives until the end of the program.
    """

    name: str
    tensor: str
    rows: int
    columns: int
    dtype: str
    layout: Layout
    origin: Origin
    tile_offset: int = 0
    is_output: bool = False

    @property
    def element_bytes(self) -> int:
        """Bytes of one element."""
        return {"float16": 2, "float32": 4}[self.dtype]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionStep:
    """Rearranges ``value`` into the layout of ``result``; both are indices of plan values."""

    name: str
    value: int
    result: int
    method: ConversionMethod
    terms: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatMulStep:
    """One blocked matrix product over a grid of tiles.

    Attributes
    ----------
    left, right, result
        Indices of plan values: activation, weight, product (in the workload's orientation).
    orientation
        Which operand is the physical left.
    rows, columns, inner
        Compute grid in the physical orientation; ``inner`` > 1 needs a reduction.
    block_inner, block_columns
        Kernel block ``K_b``, ``N_b`` in elements.
    epochs
        Staging of partial sums; irrelevant for ``inner`` = 1.
    stages_weights
        Whether a tile copies weights that it holds itself into interleaved staging, as it stages
        those that it receives.
    """

    name: str
    left: int
    right: int
    result: int
    orientation: Orientation
    rows: int
    columns: int
    inner: int
    block_inner: int
    block_columns: int
    epochs: Epochs
    stages_weights: bool = False
    terms: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PointwiseStep:
    """Gelu, Add or Cast on shards that all lie in one layout; ``kind`` is the operator's name."""

    name: str
    kind: str
    inputs: tuple[int, ...]
    result: int
    terms: Mapping[str, int] = field(default_factory=dict)


PlanStep = ConversionStep | MatMulStep | PointwiseStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Values and the steps that make them, in order.

    Attributes
    ----------
    tiles
        Tiles of the target that the program may use.
    values, steps
        See :class:`PlannedValue`, :data:`PlanStep`. ``terms`` of a step are the cycles that the
        mapping model charged for it, by name.
    joins_phases
        Whether the lowering may join an operand phase to the phase before it, as the public
        compiler does. Plans of the mapping model do not: their price is a sum over phases.
    """

    tiles: int
    values: tuple[PlannedValue, ...]
    steps: tuple[PlanStep, ...]
    joins_phases: bool = False

    @property
    def cost(self) -> int:
        """Cycles that the mapping model charges for the whole plan."""
        return sum(sum(step.terms.values()) for step in self.steps)

    def to_json(self) -> dict[str, Any]:
        """Plain values for ``plan.json``."""
        names = {ConversionStep: "conversion", MatMulStep: "matmul", PointwiseStep: "pointwise"}
        values = [
            {n: getattr(v, n) for n in PlannedValue.__slots__} | {"layout": v.layout.to_json()}
            for v in self.values
        ]
        steps = []
        for step in self.steps:
            fields = {n: getattr(step, n) for n in type(step).__slots__}
            steps.append({"step": names[type(step)]} | fields | {"terms": dict(step.terms)})
        return {
            "schema_version": PLAN_SCHEMA,
            "tiles": self.tiles,
            "joins_phases": self.joins_phases,
            "values": values,
            "steps": steps,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Plan:
        """Read what :meth:`to_json` wrote."""
        if data.get("schema_version") != PLAN_SCHEMA:
            raise ValueError(f"plan schema {data.get('schema_version')}, expected {PLAN_SCHEMA}")
        values = tuple(
            PlannedValue(
                **dict(v) | {"layout": Layout.from_json(v["layout"]), "origin": Origin(v["origin"])}
            )
            for v in data["values"]
        )
        return cls(
            tiles=data["tiles"],
            values=values,
            steps=tuple(_step_from_json(step) for step in data["steps"]),
            joins_phases=data["joins_phases"],
        )


def _step_from_json(data: Mapping[str, Any]) -> PlanStep:
    fields = {name: value for name, value in data.items() if name != "step"}
    match data["step"]:
        case "conversion":
            fields["method"] = ConversionMethod(fields["method"])
            return ConversionStep(**fields)
        case "matmul":
            fields["orientation"] = Orientation(fields["orientation"])
            fields["epochs"] = Epochs(fields["epochs"])
            return MatMulStep(**fields)
        case "pointwise":
            fields["inputs"] = tuple(fields["inputs"])
            return PointwiseStep(**fields)
        case other:
            raise ValueError(f"plan step {other!r}, expected conversion, matmul or pointwise")
