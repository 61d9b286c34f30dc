"""Operator kinds: one file a kind, one line here.

An operator says how many inputs it has, which further keys, and what its result is. How it runs on
tiles is the business of the mapping candidates and the lowering.
"""

from __future__ import annotations

from ipuopt.workload.operators import add, cast, gelu, matmul
from ipuopt.workload.operators.operator import OperandError, Operator, Signature

OPERATORS: dict[str, Operator] = {
    operator.kind: operator
    for operator in (
        matmul.OPERATOR,
        gelu.OPERATOR,
        add.OPERATOR,
        cast.OPERATOR,
    )
}
"""Every kind by its ONNX name."""

__all__ = ["OPERATORS", "OperandError", "Operator", "Signature"]
