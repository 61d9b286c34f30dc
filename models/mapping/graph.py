"""The workload as the mapping space sees it: who makes and who reads each value, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ipuopt.models.mapping.candidates.request import Source
from ipuopt.workload.model import Operation, TensorKind, Workload

Key = tuple[str, bool]
"""A loaded value: its tensor, and whether it is loaded as the right operand of products."""


@dataclass(frozen=True, slots=True)
class Operand:
    """One distinct operand of an operation.

    Attributes
    ----------
    tensor
        Its name.
    source
        Where it comes from.
    key
        Names the value where it is shared: loaded values of one tensor are one value only among
        operations that could read the same layout.
    step
        Step in which it is converted; -1 for a value that the host loads for this operation.
    """

    tensor: str
    source: Source
    key: Key
    step: int


@dataclass(frozen=True, slots=True)
class Visit:
    """One operation and its steps.

    Attributes
    ----------
    operation
        The operation.
    operands
        Distinct operands in the order of the operation's inputs.
    run
        Step in which the kernel runs; ``run + 1`` is the second one of a matrix product.
    """

    operation: Operation
    operands: tuple[Operand, ...]
    run: int


@dataclass(frozen=True, slots=True)
class Graph:
    """Operations in order, the steps of the program, and the last step that reads each value.

    Attributes
    ----------
    visits
        One an operation.
    steps
        Names of the steps.
    last_read
        Last conversion step that may read a shared or computed value, by key.
    """

    visits: tuple[Visit, ...]
    steps: tuple[str, ...]
    last_read: Mapping[Key, int] = field(default_factory=dict)


def is_product(operation: Operation) -> bool:
    """Whether the operation is a matrix product: two roles, and a second step."""
    return operation.kind == "MatMul"


def read_graph(workload: Workload) -> Graph:
    """Steps of the workload: for each operation its conversions, then its kernel."""
    users: dict[Key, int] = {}
    for operation in workload.operations:
        for key in _keys(workload, operation):
            users[key] = users.get(key, 0) + 1
    visits: list[Visit] = []
    steps: list[str] = []
    last_read: dict[Key, int] = {}
    for operation in workload.operations:
        operands = []
        for key in _keys(workload, operation):
            tensor = key[0]
            if workload.tensors[tensor].kind is TensorKind.RESULT:
                source = Source.COMPUTED
            else:
                source = Source.SHARED if users[key] > 1 else Source.LOADED
            step = -1
            if source is not Source.LOADED:
                step = last_read[key] = len(steps)
                steps.append(f"{tensor} for {operation.name}")
            operands.append(Operand(tensor, source, key, step))
        visits.append(Visit(operation, tuple(operands), len(steps)))
        steps.append(operation.name)
        if is_product(operation):
            steps.append(f"{operation.name} reduction")
    return Graph(tuple(visits), tuple(steps), last_read)


def _keys(workload: Workload, operation: Operation) -> tuple[Key, ...]:
    """Distinct operands; a tensor in both roles of a product is two of them."""
    keys = []
    for position, tensor in enumerate(operation.inputs):
        loaded = workload.tensors[tensor].kind is not TensorKind.RESULT
        keys.append((tensor, loaded and is_product(operation) and position == 1))
    if is_product(operation):
        return tuple(keys)
    return tuple(dict.fromkeys(keys))
