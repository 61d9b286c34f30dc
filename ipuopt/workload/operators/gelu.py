"""Gelu, element by element, in float16."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ipuopt.workload.model import Tensor
from ipuopt.workload.operators.operator import OperandError, Operator, Signature, described


def _infer(inputs: tuple[Tensor, ...], attributes: Mapping[str, Any]) -> Signature:
    del attributes
    (tensor,) = inputs
    if tensor.dtype != "float16":
        expected = "float16 (there is no float32 kernel; Cast it first)"
        raise OperandError(0, described(tensor), expected)
    return Signature(tensor.shape, tensor.dtype)


OPERATOR = Operator(kind="Gelu", operands=("input",), infer=_infer)
