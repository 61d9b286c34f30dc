"""Lowering: from a mapping plan to the tables of a program.

Every plan step becomes program steps: kernel runs (RUN), local copies (COPY) and exchanges (PHASE).

- Conversion, :mod:`conversion`: clear padding, exchange, copy; or unpack, exchange, copy, pack.
- Matrix product, :mod:`matmul`: gather weight panels (:mod:`operands`), multiply, and where the
  inner axis is cut reduce the partial sums (:mod:`reduction`).
- Pointwise kernel, :mod:`pointwise`.

While steps are lowered, data moves as rectangles between shards (:mod:`moves`); at the end
:mod:`pieces` cuts these into contiguous bytes, which are the physical transfers and copy calls.
"""

from __future__ import annotations

from ipuopt.codegen.lower.assembly import Assembler
from ipuopt.codegen.lower.conversion import lower_conversion
from ipuopt.codegen.lower.matmul import lower_matmul
from ipuopt.codegen.lower.pointwise import lower_pointwise
from ipuopt.codegen.lower.values import physical_right, value_shards
from ipuopt.plan import ConversionStep, MatMulStep, Plan
from ipuopt.program import Program

__all__ = ["lower"]


def lower(plan: Plan) -> Program:
    """Tables of the program that carries out ``plan``.

    Raises
    ------
    LayoutError
        If a step and the layouts of its values do not belong together; the message names it.
    """
    assembler = Assembler(plan)
    shards = value_shards(plan, assembler)
    for number, step in enumerate(plan.steps):
        match step:
            case ConversionStep():
                lower_conversion(assembler, number, step, shards)
            case MatMulStep():
                lower_matmul(assembler, number, step, shards, _joined_step(plan, number, step))
            case _:
                lower_pointwise(assembler, number, step, shards)
    return assembler.program()


def _joined_step(plan: Plan, number: int, step: MatMulStep) -> int | None:
    """The conversion of an operand just before, whose phase the weights may join (lowering.md 3).

    Not where it makes the weights themselves: they would be sent before they have arrived.
    """
    before = plan.steps[number - 1] if number else None
    if not plan.joins_phases or not isinstance(before, ConversionStep):
        return None
    used = before.result in (step.left, step.right) and before.result != physical_right(step)
    return number - 1 if used else None
