"""What an operator kind declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ipuopt.workload.model import Tensor


class OperandError(ValueError):
    """Operands that an operator does not take.

    Attributes
    ----------
    operand
        Position of the input at fault; None for the operation as a whole.
    found, expected
        Halves of the message.
    """

    def __init__(self, operand: int | None, found: str, expected: str) -> None:
        super().__init__(f"found {found}, expected {expected}")
        self.operand = operand
        self.found = found
        self.expected = expected


@dataclass(frozen=True, slots=True)
class Signature:
    """Shape and dtype of a result."""

    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One operator kind.

    Attributes
    ----------
    kind
        ONNX name.
    operands
        What each input is, for people; their number is the arity.
    infer
        Signature of the result from the inputs and the attributes; raises :class:`OperandError`.
    attributes
        Required further keys: each with the values that it may have.
    """

    kind: str
    operands: tuple[str, ...]
    infer: Callable[[tuple[Tensor, ...], Mapping[str, Any]], Signature]
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def described(tensor: Tensor) -> str:
    """``"'x' float16 [729, 1152]"``."""
    return f"{tensor.name!r} {tensor.dtype} {list(tensor.shape)}"
