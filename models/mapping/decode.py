"""Read a solution of the mapping problem back as a plan."""

from __future__ import annotations

from collections.abc import Sequence

from ipuopt.layout import Layout
from ipuopt.models.mapping.candidates import KINDS
from ipuopt.models.mapping.candidates.labels import Choice
from ipuopt.models.mapping.candidates.request import Source
from ipuopt.models.mapping.edges import matrix_of
from ipuopt.models.mapping.graph import Key
from ipuopt.models.mapping.parts import HOST, ORIGINAL, Part
from ipuopt.models.mapping.prices import conversions, method_of
from ipuopt.models.mapping.problem import Solution
from ipuopt.plan import ConversionStep, Origin, Plan, PlannedValue, PlanStep
from ipuopt.workload.model import TensorKind, Workload

_ORIGINS = {
    TensorKind.INPUT: Origin.INPUT,
    TensorKind.PARAMETER: Origin.PARAMETER,
    TensorKind.RESULT: Origin.COMPUTED,
}


class _Builder:
    """Values and steps of the plan so far."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.values: list[PlannedValue] = []
        self.steps: list[PlanStep] = []
        self.buffers: dict[Key, list[int]] = {}
        """Numbers of a value, and of what its readers read, in their order."""

    def add(
        self, tensor: str, name: str, layout: Layout, origin: Origin, *, is_output: bool = False
    ) -> int:
        """Number of a new value of ``tensor``."""
        facts = self.workload.tensors[tensor]
        taken = {value.name for value in self.values}
        self.values.append(
            PlannedValue(
                name=name if name not in taken else f"{name} ({len(self.values)})",
                tensor=tensor,
                rows=facts.rows,
                columns=facts.columns,
                dtype=facts.dtype,
                layout=layout,
                origin=origin,
                is_output=is_output,
            )
        )
        return len(self.values) - 1


def decode(workload: Workload, parts: Sequence[Part], solution: Solution) -> Plan:
    """The plan of ``solution``, with the cycles of every step by name."""
    plan = _Builder(workload)
    for part, label in zip(parts, solution.labels, strict=True):
        tensor = part.key[0]
        if part.visit is None or part.request is None or part.labels is None:
            origin = _ORIGINS[workload.tensors[tensor].kind]
            number = plan.add(tensor, tensor, _layout(part.value, label), origin)
            plan.buffers[part.key] = [number]
            continue
        operation = part.visit.operation
        operands: dict[tuple[str, int], int] = {}
        for position, operand in enumerate(part.visit.operands):
            operands[operand.tensor, position] = _operand(plan, part, position, label)
        result = plan.add(
            tensor,
            tensor,
            _layout(part.value, label),
            Origin.COMPUTED,
            is_output=tensor in workload.outputs,
        )
        plan.buffers[part.key] = [result]
        values = tuple(operands.values())
        if len(values) < len(operation.inputs):  # an operand that is read twice
            by_tensor = {name: number for (name, _), number in operands.items()}
            values = tuple(by_tensor[name] for name in operation.inputs)
        step = KINDS[operation.kind].step(part.request, part.labels, label, values, result)
        plan.steps.append(step)
    return Plan(tiles=workload.target.tiles, values=tuple(plan.values), steps=tuple(plan.steps))


def _operand(plan: _Builder, part: Part, position: int, label: int) -> int:
    """The value that the kernel reads: loaded for it, or read from a buffer."""
    assert part.visit is not None and part.labels is not None
    operand, choice = part.visit.operands[position], part.labels.operands[position]
    reading = part.reading(position)
    source = ORIGINAL if reading is None else int(reading.source[label])
    if operand.source is Source.LOADED or source == HOST:
        origin = _ORIGINS[plan.workload.tensors[operand.tensor].kind]
        number = plan.add(operand.tensor, operand.tensor, _layout(choice, label), origin)
    else:
        buffer = plan.buffers[operand.key][source + 1]
        number = _converted(plan, part, position, label, buffer)
    plan.buffers.setdefault(operand.key, []).append(number)
    return number


def _converted(plan: _Builder, part: Part, position: int, label: int, source: int) -> int:
    """The operand in the layout that the kernel reads; ``source`` where it lies so already."""
    assert part.visit is not None and part.labels is not None and part.request is not None
    operand, choice = part.visit.operands[position], part.labels.operands[position]
    layout = _layout(choice, label)
    held = plan.values[source].layout
    if held == layout:
        return source
    name = f"{operand.tensor} for {part.request.operation.name}"
    result = plan.add(operand.tensor, name, layout, Origin.COMPUTED)
    table = conversions(
        matrix_of(part.request, operand),
        (held,),
        (layout,),
        plan.workload.target.tiles,
        choice.sum_axis,
    )
    method = method_of(held.order, layout.order)
    assert method is not None, f"{name}: the solution uses a forbidden pair"
    terms = {term: int(cycles[0, 0]) for term, cycles in table.terms.items() if cycles[0, 0]}
    plan.steps.append(
        ConversionStep(name=name, value=source, result=result, method=method, terms=terms)
    )
    return result


def _layout(choice: Choice, label: int) -> Layout:
    return choice.layouts[int(choice.index[label])]
