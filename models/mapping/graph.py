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

    def place_of(self, key: Key) -> int:
        """Position of the operand that reads a value."""
        return [operand.key for operand in self.operands].index(key)


@dataclass(frozen=True, slots=True)
class Reader:
    """An operation that reads a value: its name, the step of the conversion, that of its kernel."""

    operation: str
    step: int
    run: int


@dataclass(frozen=True, slots=True)
class Graph:
    """Operations in order, the steps of the program, and who reads each value.

    Attributes
    ----------
    visits
        One an operation.
    steps
        Names of the steps.
    outputs
        Tensors that stay to the end.
    readers
        Readers of each value that is not loaded for one operation alone, in order.
    """

    visits: tuple[Visit, ...]
    steps: tuple[str, ...]
    outputs: frozenset[str] = frozenset()
    readers: Mapping[Key, tuple[Reader, ...]] = field(default_factory=dict)

    @property
    def shared(self) -> Mapping[Key, tuple[Reader, ...]]:
        """Readers of each value that has several, or that is an output besides."""
        return {
            key: readers
            for key, readers in self.readers.items()
            if len(readers) > 1 or key[0] in self.outputs
        }

    def number_of(self, visit: Visit, key: Key) -> int:
        """Number of an operation among the readers of a value."""
        return [reader.operation for reader in self.readers[key]].index(visit.operation.name)


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
    readers: dict[Key, list[Reader]] = {}
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
                step = len(steps)
                steps.append(f"{tensor} for {operation.name}")
            operands.append(Operand(tensor, source, key, step))
        for operand in operands:
            if operand.step >= 0:
                reader = Reader(operation.name, operand.step, len(steps))
                readers.setdefault(operand.key, []).append(reader)
        visits.append(Visit(operation, tuple(operands), len(steps)))
        steps.append(operation.name)
        if is_product(operation):
            steps.append(f"{operation.name} reduction")
    ordered = {key: tuple(found) for key, found in readers.items()}
    return Graph(tuple(visits), tuple(steps), frozenset(workload.outputs), ordered)


def _keys(workload: Workload, operation: Operation) -> tuple[Key, ...]:
    """Distinct operands; a tensor in both roles of a product is two of them."""
    keys = []
    for position, tensor in enumerate(operation.inputs):
        loaded = workload.tensors[tensor].kind is not TensorKind.RESULT
        keys.append((tensor, loaded and is_product(operation) and position == 1))
    if is_product(operation):
        return tuple(keys)
    return tuple(dict.fromkeys(keys))
