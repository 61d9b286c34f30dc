"""MatMul: ``[..., M, K] x [K, N] -> [..., M, N]``, leading axes folded into rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ipuopt.workload.model import Tensor, TensorKind
from ipuopt.workload.operators.operator import OperandError, Operator, Signature, described


def _infer(inputs: tuple[Tensor, ...], attributes: Mapping[str, Any]) -> Signature:
    del attributes
    left, right = inputs
    for position, tensor in enumerate(inputs):
        # The AMP kernels of the target multiply float16 and accumulate in float32.
        if tensor.dtype != "float16":
            expected = "float16 (there is no float32 kernel; Cast it first)"
            raise OperandError(position, described(tensor), expected)
    if len(left.shape) < 2:
        raise OperandError(0, described(left), "a left operand [..., M, K] of rank 2 to 4")
    inner = left.shape[-1]
    if len(right.shape) != 2:
        raise OperandError(1, described(right), f"a right operand [{inner}, N] of rank 2")
    if right.shape[0] != inner:
        expected = f"[{inner}, N], as the last axis of {described(left)}"
        raise OperandError(1, described(right), expected)
    if right.kind is TensorKind.RESULT:
        # The kernel loads this operand block by block, an order that only the host makes
        # (cost-model.md 1.6).
        found = f"the result {described(right)}"
        raise OperandError(1, found, "an input or a parameter as right operand")
    return Signature((*left.shape[:-1], right.shape[1]), "float16")


OPERATOR = Operator(kind="MatMul", operands=("left", "right"), infer=_infer)
