"""Cast between float16 and float32; the key ``to`` names the result's dtype."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ipuopt.workload.model import Tensor
from ipuopt.workload.operators.operator import OperandError, Operator, Signature, described


def _infer(inputs: tuple[Tensor, ...], attributes: Mapping[str, Any]) -> Signature:
    (tensor,) = inputs
    dtype = str(attributes["to"])
    if dtype == tensor.dtype:
        raise OperandError(0, described(tensor), f"another dtype than the Cast's {dtype}")
    return Signature(tensor.shape, dtype)


OPERATOR = Operator(
    kind="Cast",
    operands=("input",),
    infer=_infer,
    attributes={"to": ("float16", "float32")},
)
