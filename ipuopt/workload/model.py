"""The workload as a typed graph: tensors, operations in topological order, outputs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class TensorKind(StrEnum):
    """Where a tensor comes from."""

    INPUT = "input"
    PARAMETER = "parameter"
    RESULT = "result"


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of the graph.

    Attributes
    ----------
    shape
        Extents, each at least 1.
    dtype
        ``"float16"`` or ``"float32"``.
    data
        ``file.npz#name`` with the values of a parameter; None for seeded random ones.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    kind: TensorKind
    data: str | None = None

    @property
    def rows(self) -> int:
        """All axes but the last, folded."""
        return math.prod(self.shape[:-1])

    @property
    def columns(self) -> int:
        """Extent of the last axis."""
        return self.shape[-1]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation; its result is the tensor of the same name.

    Attributes
    ----------
    kind
        ONNX name: ``"MatMul"``, ``"Gelu"``, ``"Add"``, ``"Cast"``.
    inputs
        Names of tensors.
    attributes
        Further keys of the operation: ``{"to": "float32"}`` for Cast.
    """

    name: str
    kind: str
    inputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Target:
    """Chip and number of logical tiles, 1..1472."""

    chip: str = "ipu21"
    tiles: int = 1472


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A checked graph.

    Attributes
    ----------
    tensors
        Every tensor by name, results included.
    operations
        In topological order.
    outputs
        Names of result tensors.
    solve
        Options of the file's ``solve:`` section, normalised; the command line overrides them.
    """

    name: str
    target: Target
    tensors: Mapping[str, Tensor]
    operations: tuple[Operation, ...]
    outputs: tuple[str, ...]
    solve: Mapping[str, Any] = field(default_factory=dict)

    def consumers(self, tensor: str) -> tuple[Operation, ...]:
        """Operations that read ``tensor``, in order, each once."""
        return tuple(op for op in self.operations if tensor in op.inputs)
