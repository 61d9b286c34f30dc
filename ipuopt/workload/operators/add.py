"""Add of two tensors of equal shape and dtype."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ipuopt.workload.model import Tensor
from ipuopt.workload.operators.operator import OperandError, Operator, Signature, described


def _infer(inputs: tuple[Tensor, ...], attributes: Mapping[str, Any]) -> Signature:
    del attributes
    left, right = inputs
    if right.shape != left.shape:
        expected = f"{list(left.shape)} as {left.name!r} (Add does not broadcast)"
        raise OperandError(1, described(right), expected)
    if right.dtype != left.dtype:
        raise OperandError(1, described(right), f"{left.dtype} as {left.name!r} (Cast one of them)")
    return Signature(left.shape, left.dtype)


OPERATOR = Operator(kind="Add", operands=("left", "right"), infer=_infer)
