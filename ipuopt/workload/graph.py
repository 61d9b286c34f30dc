"""Names to tensors, topological order, shapes, and what must not be left over."""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from ipuopt.workload.document import shown
from ipuopt.workload.field import Field, nearest
from ipuopt.workload.model import Operation, Tensor, TensorKind, Workload
from ipuopt.workload.operators import OPERATORS, OperandError
from ipuopt.workload.reading import Draft, check_elements


def resolve(draft: Draft) -> Workload:
    """Check the graph of a draft and infer every result.

    Raises
    ------
    InputError
        For unknown names, cycles, operands an operator does not take, and unused declarations.
    """
    _check_names(draft)
    ordered = _ordered(draft)
    tensors = {name: draft.tensors[name] for name in _declared(draft.tensors)}
    for operation in ordered:
        tensors[operation.name] = _result(operation, tensors, draft.fields[operation.name])
    _check_used(draft)
    return Workload(
        name=draft.name,
        target=draft.target,
        tensors=tensors,
        operations=ordered,
        outputs=draft.outputs,
        solve=draft.solve,
    )


def _declared(tensors: Mapping[str, Tensor]) -> list[str]:
    """Inputs, then parameters, each by name: the file's order does not show."""
    return sorted(tensors, key=lambda name: (tensors[name].kind is TensorKind.PARAMETER, name))


def _input_field(field: Field, position: int) -> Field:
    return field.entries("")["inputs"].items("")[position]


def _check_names(draft: Draft) -> None:
    for operation in draft.operations:
        for position, name in enumerate(operation.inputs):
            if name not in draft.fields:
                expected = "an input, parameter or operation" + nearest(name, draft.fields)
                field = _input_field(draft.fields[operation.name], position)
                raise field.error(f"the unknown name {shown(name)}", expected)
    results = {operation.name for operation in draft.operations}
    for position, (name, field) in enumerate(zip(draft.outputs, draft.output_fields, strict=True)):
        if name in draft.tensors:
            found = f"the {draft.tensors[name].kind} {shown(name)}"
            raise field.error(found, "the name of an operation")
        if name not in results:
            expected = "the name of an operation" + nearest(name, results)
            raise field.error(f"the unknown name {shown(name)}", expected)
        if name in draft.outputs[:position]:
            raise field.error(f"{shown(name)} a second time", "each output once")


def _ordered(draft: Draft) -> tuple[Operation, ...]:
    """Kahn's order; of the operations that are ready, the first by name."""
    by_name = {operation.name: operation for operation in draft.operations}
    waiting = {
        name: {source for source in operation.inputs if source in by_name}
        for name, operation in by_name.items()
    }
    readers: dict[str, list[str]] = {name: [] for name in by_name}
    for name, sources in waiting.items():
        for source in sources:
            readers[source].append(name)
    ready = [name for name, sources in waiting.items() if not sources]
    heapq.heapify(ready)
    ordered: list[Operation] = []
    while ready:
        name = heapq.heappop(ready)
        ordered.append(by_name[name])
        for reader in readers[name]:
            waiting[reader].discard(name)
            if not waiting[reader]:
                heapq.heappush(ready, reader)
    if len(ordered) < len(by_name):
        cycle = _cycle({name: sources for name, sources in waiting.items() if sources})
        field = draft.fields[cycle[0]]
        raise field.key_error(f"the cycle {' <- '.join(cycle)}", "a graph without cycles")
    return tuple(ordered)


def _cycle(waiting: Mapping[str, set[str]]) -> list[str]:
    """A cycle among operations that wait for each other, first operation repeated at the end."""
    path = [min(waiting)]
    while (source := min(s for s in waiting[path[-1]] if s in waiting)) not in path:
        path.append(source)
    cycle = path[path.index(source) :]
    first = cycle.index(min(cycle))
    return [*cycle[first:], *cycle[:first], cycle[first]]


def _result(operation: Operation, tensors: Mapping[str, Tensor], field: Field) -> Tensor:
    operands = tuple(tensors[name] for name in operation.inputs)
    try:
        signature = OPERATORS[operation.kind].infer(operands, operation.attributes)
    except OperandError as error:
        at = field if error.operand is None else _input_field(field, error.operand)
        raise at.error(error.found, f"{error.expected} in {operation.kind}") from None
    check_elements(signature.shape, field)
    return Tensor(operation.name, signature.shape, signature.dtype, TensorKind.RESULT)


def _check_used(draft: Draft) -> None:
    used = {name for operation in draft.operations for name in operation.inputs}
    for name, tensor in draft.tensors.items():
        if name not in used:
            field = draft.fields[name]
            raise field.key_error(f"an unused {tensor.kind}", "an operation that reads it")
    for operation in draft.operations:
        if operation.name not in used and operation.name not in draft.outputs:
            field = draft.fields[operation.name]
            found = "an operation whose result is neither read nor an output"
            raise field.key_error(found, "a reader, or its name in outputs")
