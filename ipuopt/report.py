"""Outcome of a solve: what is proven is kept apart from why it stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class SolveStatus(StrEnum):
    """What is proven about the problem."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


class Limit(StrEnum):
    """Why a solve stopped before its search was complete."""

    TIME = "time"
    GAP = "gap"
    MEMORY = "memory"
    INTERRUPT = "interrupt"
    SOLVER = "solver"  # the back end crashed, or its answer was refused


@dataclass(frozen=True, slots=True)
class TracePoint:
    """One point of the convergence plot: incumbent and bound after ``wall_time_s``."""

    wall_time_s: float
    objective: int | None
    bound: int | None


NO_SOLVER = "none"
"""Name in place of the back end where none was started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """How a result came about.

    Attributes
    ----------
    solver
        Name and version, ``"ortools 9.15"``; ``"none"`` when no solver was started.
    seed, threads, deterministic
        As in :class:`ipuopt.limits.Limits`.
    note
        What a reader should know: a refused answer, a hint that was not accepted; or empty.
    """

    solver: str = NO_SOLVER
    seed: int = 0
    threads: int = 1
    deterministic: bool = False
    note: str = ""


def gap_of(objective: int | None, bound: int | None) -> float | None:
    """Relative gap ``(objective - bound) / max(1, |objective|)``; None without both."""
    if objective is None or bound is None:
        return None
    return (objective - bound) / max(1, abs(objective))


def status_of(objective: int | None, bound: int | None) -> SolveStatus:
    """Status that the two numbers support; infeasibility needs an argument of its own."""
    if objective is None:
        return SolveStatus.UNKNOWN
    return SolveStatus.OPTIMAL if objective == bound else SolveStatus.FEASIBLE


def name_of(stage: str, model: str) -> str:
    """Name of a solve in tables: stage and model, but the stage only once."""
    return model if model.startswith(stage) else f"{stage} {model}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveReport:
    """Outcome of one solve of a minimisation model.

    Attributes
    ----------
    stage
        ``"mapping"``, ``"placement"`` or ``"exchange"``.
    model
        What was solved, for people: ``"exchange 3 gather a"``.
    status
        OPTIMAL, FEASIBLE, INFEASIBLE, UNKNOWN: what is proven.
    limit
        Why it stopped early; None when the search was complete.
    heuristic
        Objective of the stage's built-in heuristic on the same input; None if it found nothing.
    objective
        Cost of the incumbent; None without one.
    bound
        Best proven dual bound, same unit; None if nothing is proven.
    bound_source
        What proved ``bound``: ``"cp-sat"``, ``"head + words + tail"``.
    unit
        ``"cycles"`` or ``"bytes"``.
    terms
        Cost terms of the incumbent; they sum to ``objective`` when there are any.
    build_time_s, wall_time_s
        Building models; the whole solve, building included.

    Raises
    ------
    ValueError
        For a bound above the objective, OPTIMAL without equality, or terms with another sum.
    """

    stage: str
    model: str
    status: SolveStatus
    objective: int | None
    bound: int | None
    bound_source: str
    unit: str
    limit: Limit | None = None
    heuristic: int | None = None
    terms: Mapping[str, int] = field(default_factory=dict)
    build_time_s: float = 0.0
    wall_time_s: float = 0.0
    run: RunInfo = RunInfo()
    trace: tuple[TracePoint, ...] = ()

    def __post_init__(self) -> None:
        if self.objective is not None and self.bound is not None and self.bound > self.objective:
            raise ValueError(f"{self.model}: bound {self.bound} above objective {self.objective}")
        if self.status is SolveStatus.OPTIMAL and self.objective != self.bound:
            raise ValueError(f"{self.model}: optimal, but {self.objective} != {self.bound}")
        if self.terms and sum(self.terms.values()) != self.objective:
            raise ValueError(f"{self.model}: terms sum to {sum(self.terms.values())}")

    @property
    def gap(self) -> float | None:
        """Relative optimality gap, CP-SAT's definition; None without objective and bound."""
        return gap_of(self.objective, self.bound)

    def to_json(self) -> dict[str, Any]:
        """Plain values for ``report.json``."""
        data = asdict(self)
        data["terms"] = dict(self.terms)
        data["gap"] = self.gap
        return data
