"""Give the values of a seed plan the names of a workload: the plan file knows no tensor names."""

from __future__ import annotations

from dataclasses import replace

from ipuopt.errors import InputError
from ipuopt.plan import ConversionStep, MatMulStep, Plan
from ipuopt.workload.model import Workload


def adopt(plan: Plan, workload: Workload) -> Plan:
    """Rename the tensors of ``plan`` to those of ``workload``, operation by operation.

    Steps that are no conversions stand for the operations of the workload, in order. Plan values
    whose tensor no operation reads or makes keep their name; the plan's check then names them.

    Raises
    ------
    InputError
        If the plan has another number of operations than the workload.
    """
    steps = [step for step in plan.steps if not isinstance(step, ConversionStep)]
    if len(steps) != len(workload.operations):
        raise InputError(
            f"plan: found {len(steps)} operations, expected the {len(workload.operations)} of "
            f"workload {workload.name}"
        )
    names: dict[str, str] = {}
    for step, operation in zip(steps, workload.operations, strict=True):
        operands = (step.left, step.right) if isinstance(step, MatMulStep) else step.inputs
        for operand, tensor in zip(operands, operation.inputs, strict=False):
            names.setdefault(plan.values[operand].tensor, tensor)
        names[plan.values[step.result].tensor] = operation.name
    values = tuple(
        replace(
            value,
            tensor=names.get(value.tensor, value.tensor),
            is_output=names.get(value.tensor) in workload.outputs,
        )
        for value in plan.values
    )
    return replace(plan, values=values)
