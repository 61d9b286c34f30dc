"""A mixed-integer linear program as arrays, and the checks that need no solver."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

TOLERANCE = 1e-6
"""Relative violation of a row that is taken for rounding."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows ``lower <= A x <= upper``.

    Attributes
    ----------
    start, index, value
        Rows of ``A`` one after the other: bounds of each row in the next two arrays, columns,
        coefficients.
    lower, upper
        Shape ``(rows,)``; infinities where a side is free.
    """

    start: IntArray
    index: IntArray
    value: FloatArray
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Milp:
    """Minimise ``cost . x + offset`` subject to bounds and rows; costs are integers.

    Attributes
    ----------
    cost, lower, upper, integer
        Of every column, shape ``(columns,)``; ``integer`` holds truth values. Columns with a cost
        take integer values in some optimum, so that the optimum is an integer.
    rows
        Constraints.
    offset
        Constant of the objective.
    """

    cost: IntArray
    lower: FloatArray
    upper: FloatArray
    integer: npt.NDArray[np.bool_]
    rows: Rows
    offset: int = 0

    def rounded(self, values: FloatArray) -> FloatArray:
        """Integer columns rounded to the nearest integer."""
        return np.where(self.integer, np.round(values), values)

    def objective(self, values: FloatArray) -> int:
        """Cost of a rounded solution, rounded."""
        return round(math.fsum(self.cost * values)) + self.offset

    def violation(self, values: FloatArray) -> str:
        """Say which bound or row ``values`` break; empty if none."""
        if len(values) != len(self.cost) or not np.all(np.isfinite(values)):
            return f"{len(values)} values, or some not finite, for {len(self.cost)} columns"
        outside = np.maximum(self.lower - values, values - self.upper)
        if len(outside) and outside.max() > TOLERANCE:
            column = int(outside.argmax())
            return f"column {column} is {outside[column]:g} outside its bounds"
        rows, count = self.rows, len(self.rows.lower)
        row = np.repeat(np.arange(count), np.diff(rows.start))
        terms = rows.value * values[rows.index]
        activity = np.bincount(row, terms, minlength=count)
        size = 1.0 + np.bincount(row, np.abs(terms), minlength=count)
        outside = np.maximum(rows.lower - activity, activity - rows.upper) / size
        if len(outside) and outside.max() > TOLERANCE:
            worst = int(outside.argmax())
            return f"row {worst} is violated: {activity[worst]:g}"
        return ""


class RowBuilder:
    """Collects rows."""

    def __init__(self) -> None:
        self._index: list[IntArray] = []
        self._value: list[FloatArray] = []
        self._lower: list[float] = []
        self._upper: list[float] = []

    def add(
        self,
        index: npt.ArrayLike,
        value: npt.ArrayLike,
        *,
        lower: float = -math.inf,
        upper: float = math.inf,
    ) -> None:
        """Add ``lower <= sum(value * x[index]) <= upper``; a scalar value stands for all."""
        columns = np.asarray(index, dtype=np.int64)
        coefficients = np.broadcast_to(np.asarray(value, dtype=np.float64), columns.shape)
        kept = coefficients != 0
        self._index.append(columns[kept])
        self._value.append(coefficients[kept])
        self._lower.append(lower)
        self._upper.append(upper)

    def rows(self) -> Rows:
        """All rows added so far."""
        lengths = [len(columns) for columns in self._index]
        return Rows(
            np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64),
            np.concatenate([np.empty(0, np.int64), *self._index]),
            np.concatenate([np.empty(0), *self._value]),
            np.array(self._lower, dtype=np.float64),
            np.array(self._upper, dtype=np.float64),
        )
