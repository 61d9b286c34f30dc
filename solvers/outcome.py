"""What a back end hands back, and the recorder that every run of one fills."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from ipuopt.limits import Limits
from ipuopt.report import Limit, SolveStatus, TracePoint, status_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Result of one run of a back end on a minimisation model; never an exception.

    Attributes
    ----------
    status
        What the back end proves by its two numbers; INFEASIBLE only if it says so itself.
    objective
        Cost of ``values``; None without a solution. Zero for a model without objective.
    bound
        Dual bound, rounded up to an integer; None if nothing is proven.
    values
        Value of every variable by index; None without a solution.
    reason
        Why the run stopped early; None when its search was complete.
    solver
        Name and version.
    trace
        Incumbent and bound over time.
    wall_time_s
        From the call to the return.
    note
        What was refused or went wrong; or empty.
    """

    status: SolveStatus
    objective: int | None
    bound: int | None
    values: npt.NDArray[Any] | None
    reason: Limit | None
    solver: str
    trace: tuple[TracePoint, ...] = ()
    wall_time_s: float = 0.0
    note: str = ""


class Recorder:
    """Incumbent, bound and trace of a run in progress; passes news on to the limits' callbacks."""

    def __init__(self, name: str, limits: Limits) -> None:
        self.name = name
        self.limits = limits
        self.begin = time.monotonic()
        self.objective: int | None = None
        self.bound: int | None = None
        self.values: npt.NDArray[Any] | None = None
        self.trace: list[TracePoint] = []

    @property
    def wall_time_s(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.begin

    def solution(self, objective: int, values: npt.NDArray[Any]) -> None:
        """Keep a solution that is better than the incumbent."""
        if self.objective is not None and objective >= self.objective:
            return
        self.objective, self.values = objective, values
        self._point()
        self.limits.on_solution(self.name, objective)

    def improve_bound(self, bound: int) -> None:
        """Keep a bound that is better than the one before."""
        if self.bound is not None and bound <= self.bound:
            return
        self.bound = bound
        self._point()
        self.limits.on_bound(self.name, bound)

    def _point(self) -> None:
        self.trace.append(TracePoint(self.wall_time_s, self.objective, self.bound))

    @property
    def status(self) -> SolveStatus:
        """What incumbent and bound prove together."""
        return status_of(self.objective, self.bound)
