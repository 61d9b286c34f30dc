"""What a run of CP-SAT needs to know of a model: prices, domains, hints, and rows to refuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from ortools.sat.python import cp_model

IntArray = npt.NDArray[np.int64]

MAX_COEFFICIENTS = 1 << 30
"""Sums of |coefficients| of a row must stay below this: presolve adds 64-bit coefficients of
Booleans into 32-bit variables, and rows vanish past 2^31 (google/or-tools #5293, open in 9.15)."""


@dataclass(frozen=True, slots=True)
class Objective:
    """Linear integer objective, to price solutions without trusting the solver."""

    index: IntArray
    coefficient: IntArray
    offset: int

    @classmethod
    def of(cls, model: cp_model.CpModel) -> Objective:
        """Read the objective of ``model``; ValueError unless it is integral and minimised."""
        proto = model.proto
        if proto.has_floating_point_objective():
            raise ValueError("the objective has coefficients that are not integers")
        target = proto.objective
        offset = float(target.offset) if proto.has_objective() else 0.0
        if not offset.is_integer() or target.scaling_factor not in (0.0, 1.0):
            raise ValueError("only integral objectives to minimise are supported")
        variables = list(target.vars) if proto.has_objective() else []
        coefficients = list(target.coeffs) if proto.has_objective() else []
        return cls(
            np.array(variables, dtype=np.int64), np.array(coefficients, np.int64), int(offset)
        )

    def value(self, values: IntArray) -> int:
        """Cost of a solution."""
        negated = self.index < 0
        chosen = values[np.where(negated, -self.index - 1, self.index)]
        return int((np.where(negated, -chosen, chosen) * self.coefficient).sum()) + self.offset


def too_large_row(model: cp_model.CpModel) -> str:
    """Say which row's coefficients sum to 2^30 or more; empty if none does.

    Parameters
    ----------
    model
        Linear constraints and the objective are looked at.
    """
    proto = model.proto
    if proto.has_objective() and sum(map(abs, proto.objective.coeffs)) >= MAX_COEFFICIENTS:
        return f"refused: coefficients of the objective sum to {MAX_COEFFICIENTS} or more"
    for number, constraint in enumerate(proto.constraints):
        if not constraint.has_linear():
            continue
        total = sum(map(abs, constraint.linear.coeffs))
        if total >= MAX_COEFFICIENTS:
            label = constraint.name or f"constraint {number}"
            return f"refused: coefficients of {label} sum to {total}, 2^30 or more"
    return ""


def domains(model: cp_model.CpModel) -> IntArray:
    """Least and greatest value of every variable, shape ``(2, variables)``."""
    ends = [(v.domain[0], v.domain[len(v.domain) - 1]) for v in model.proto.variables]
    return np.array(ends, dtype=np.int64).reshape(-1, 2).T


def set_hint(model: cp_model.CpModel, hint: Mapping[int, int] | Sequence[int]) -> str:
    """Replace the model's hint; say how many variables it leaves out."""
    pairs = dict(hint) if isinstance(hint, Mapping) else dict(enumerate(hint))
    count = len(model.proto.variables)
    model.proto.clear_solution_hint()  # a variable hinted twice makes the model invalid (or-tools #4693)
    for index in sorted(pairs):
        if not 0 <= index < count:
            raise ValueError(f"the hint names variable {index} of {count}")
        model.proto.solution_hint.vars.append(index)
        model.proto.solution_hint.values.append(int(pairs[index]))
    missing = count - len(pairs)
    return f"the hint leaves out {missing} of {count} variables" if missing else ""
