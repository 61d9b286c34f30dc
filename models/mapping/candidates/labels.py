"""What the mapping space keeps of the candidates of one operation: columns, one entry a label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ipuopt.layout import IntArray, Layout


@dataclass(frozen=True, slots=True)
class Choice:
    """Layout of one operand, or of the result, under every label.

    Attributes
    ----------
    layouts
        Distinct layouts.
    index
        Position of each label's layout, shape ``(labels,)``.
    standard, interleaved
        Bytes on the fullest tile, access tail included, shape ``(labels,)``.
    piece
        Largest standard buffer, shape ``(labels,)``; a linear layout has several a tile.
    sum_axis
        Axis along which the operation sums over this operand, so that padding must be zero; 0 for
        none.
    """

    layouts: tuple[Layout, ...]
    index: IntArray
    standard: IntArray
    interleaved: IntArray
    piece: IntArray
    sum_axis: int = 0

    def select(self, labels: IntArray) -> Choice:
        """The given labels; all layouts stay, so that their positions do not change."""
        return replace(
            self,
            index=self.index[labels],
            standard=self.standard[labels],
            interleaved=self.interleaved[labels],
            piece=self.piece[labels],
        )

    def compact(self) -> Choice:
        """Without layouts that no label has."""
        used, index = np.unique(self.index, return_inverse=True)
        layouts = tuple(self.layouts[i] for i in used.tolist())
        return replace(self, layouts=layouts, index=index.reshape(-1).astype(np.int64))


@dataclass(frozen=True, slots=True)
class Buffers:
    """Temporaries of one step beside operands and result, bytes on the fullest tile.

    Attributes
    ----------
    standard, interleaved
        All of them together, shape ``(labels,)``.
    large
        Those of the standard ones that are larger than ``Capacity.low`` each, shape ``(labels,)``.
    """

    standard: IntArray
    interleaved: IntArray
    large: IntArray

    def take(self, labels: IntArray) -> Buffers:
        """The given labels, in that order."""
        return Buffers(self.standard[labels], self.interleaved[labels], self.large[labels])


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """Candidates of one operation.

    Attributes
    ----------
    operands
        One choice for each distinct operand.
    result
        Layout of the result.
    terms
        Cycles by name, shape ``(labels,)`` each, zero where a term does not occur.
    run
        Temporaries while the kernel runs.
    finish
        Temporaries of a second step, in which the operands are gone and the result is there; None
        where no label has one.
    late
        Whether the result appears in the second step only, shape ``(labels,)``.
    parameters
        What the kind needs to decode a label, one row a label.
    least
        Cycles that no candidate is below, those that were left out included.
    """

    operands: tuple[Choice, ...]
    result: Choice
    terms: Mapping[str, IntArray]
    run: Buffers
    finish: Buffers | None
    late: np.typing.NDArray[np.bool_]
    parameters: IntArray
    least: int

    def __len__(self) -> int:
        return len(self.late)

    @property
    def cost(self) -> IntArray:
        """Cycles of each label."""
        total = np.zeros(len(self), dtype=np.int64)
        for cycles in self.terms.values():
            total += cycles
        return total

    def terms_of(self, label: int) -> dict[str, int]:
        """Cycles of one label by name, those that occur."""
        return {name: int(cycles[label]) for name, cycles in self.terms.items() if cycles[label]}

    def select(self, labels: IntArray) -> Labels:
        """The given labels, in that order; layouts keep their positions."""
        return Labels(
            operands=tuple(operand.select(labels) for operand in self.operands),
            result=self.result.select(labels),
            terms={name: cycles[labels] for name, cycles in self.terms.items()},
            run=self.run.take(labels),
            finish=None if self.finish is None else self.finish.take(labels),
            late=self.late[labels],
            parameters=self.parameters[labels],
            least=self.least,
        )

    def compact(self) -> Labels:
        """Without layouts that no label has."""
        operands = tuple(operand.compact() for operand in self.operands)
        return replace(self, operands=operands, result=self.result.compact())
