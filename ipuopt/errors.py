"""Exceptions of ipuopt: one line each, with the exit code that the command line returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ipuopt.figures import thousands


class Error(Exception):
    """Base of every exception that ipuopt raises on purpose.

    ``str(error)`` is one line: where, what was found, what would be right.
    """

    exit_code = 1


class InputError(Error):
    """Bad usage or bad input: names file, line, key, what was found and what would be right."""

    exit_code = 2


MOST_OWNERS = 5
"""Most owners that an :class:`Infeasibility` names."""


@dataclass(frozen=True, slots=True)
class Infeasibility:
    """Why no plan fits, in numbers.

    Attributes
    ----------
    where
        Tile and step, or the constraint, for people.
    demand, capacity
        In ``unit``; ``demand > capacity``.
    unit
        ``"bytes"`` or ``"cycles"``.
    owners
        Largest contributors, at most :data:`MOST_OWNERS`, as ``(name, amount)``, largest first.
    levers
        What would make it fit.
    parts
        Amount of each kind in the demand, as ``(kind, amount)``: data, exchange buffers, ...
    """

    where: str
    demand: int
    capacity: int
    unit: str
    owners: tuple[tuple[str, int], ...]
    levers: tuple[str, ...] = ()
    parts: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        parts, owners = _amounts(self.parts), _amounts(self.owners)
        levers = "; ".join(self.levers)
        text = f"{self.where}: needs {self.demand} {self.unit} of {self.capacity}"
        if parts:
            text += f", {parts}"
        if owners:
            text += f" (largest: {owners})"
        return f"{text}; would fit with: {levers}" if levers else text


def memory_parts(demand: int, data: int, exchanged: int) -> tuple[tuple[str, int], ...]:
    """Parts of a demand in bytes: values, what only phases fill and drain, and what is left."""
    parts = {
        "data": data,
        "exchange buffers": exchanged,
        "lost by rounding": demand - data - exchanged,
    }
    return tuple((kind, size) for kind, size in parts.items() if size)


def _amounts(named: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{name} {thousands(amount)}" for name, amount in named)


class InfeasibleError(Error):
    """Proven infeasible; ``explanation`` holds demand, capacity and owners."""

    exit_code = 3

    def __init__(self, explanation: Infeasibility) -> None:
        super().__init__(str(explanation))
        self.explanation = explanation


class LimitError(Error):
    """A limit was reached and there is no plan at all."""

    exit_code = 5


class CheckError(Error):
    """A checker rejected a plan: a solver or a lowering contradicts the formulation.

    Attributes
    ----------
    what
        What was checked.
    violations
        Every ``(label, message)``.
    artifacts
        JSON values worth keeping, by name: the plan, the model.
    """

    exit_code = 6

    def __init__(
        self,
        what: str,
        violations: tuple[tuple[str, str], ...],
        artifacts: Mapping[str, Any] | None = None,
    ) -> None:
        first = "; ".join(f"{label}: {message}" for label, message in violations[:3])
        more = f" (and {len(violations) - 3} more)" if len(violations) > 3 else ""
        super().__init__(f"{what}: {first}{more}")
        self.what = what
        self.violations = violations
        self.artifacts = dict(artifacts or {})

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with all arguments: exceptions keep their message only."""
        return type(self), (self.what, self.violations, self.artifacts)


class DeviceError(Error):
    """A device failed, did not answer in time, or stopped a program.

    Attributes
    ----------
    details
        Lines about the state in which the device was found, for people; perhaps none.
    """

    exit_code = 6

    def __init__(self, message: str, details: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.details = details


class MissingPartError(Error):
    """An optional part is missing: which, and how to install it."""

    exit_code = 7
