"""What a finished solve hands back: plan, tables, addresses, start events, reports, total."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ipuopt.options import OPTIONS, SolveOptions
from ipuopt.plan import Plan
from ipuopt.program import IntArray, Program
from ipuopt.report import Limit, SolveReport, gap_of
from ipuopt.settings import Setting
from ipuopt.workload.model import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """Cycles of the whole program.

    Attributes
    ----------
    heuristic
        Total of the program built from the built-in heuristics alone; None if it was not built.
    objective
        Total of the program in the result, recomputed by the checker.
    bound
        Mapping bound: valid for every program made of the same candidates under the cost model;
        None where a plan was given instead of searched.
    unit
        Always ``"cycles"``.
    """

    heuristic: int | None
    objective: int
    bound: int | None
    unit: str = "cycles"

    @property
    def gap(self) -> float | None:
        """Relative gap; None without a bound."""
        return gap_of(self.objective, self.bound)


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A plan with everything a loader needs.

    Attributes
    ----------
    plan, program
        Mapping plan and its lowered tables.
    address
        Byte address of every shard, shape ``(shards,)``.
    boundary
        Boundary between interleaved and standard memory of every tile, shape ``(tiles,)``.
    start
        Event at which the first word of every transfer leaves, shape ``(transfers,)``.
    horizon
        Events of every phase, in the order of ``program.phases``.
    """

    plan: Plan
    program: Program
    address: IntArray
    boundary: IntArray
    start: IntArray
    horizon: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Outcome of :func:`ipuopt.solve`.

    Attributes
    ----------
    workload, options
        What was solved, and with which limits.
    built
        The checked program.
    reports
        One a stage and phase, in order.
    total
        Cycles of the whole program.
    limit
        Why the run stopped early; None when every stage was complete.
    repeatable
        Whether the same input and options give the same plan: a deterministic run whose counters
        ended every search, not the clock, an interrupt, memory or a crash.
    wall_time_s
        Of the whole solve, in seconds.
    """

    workload: Workload
    options: SolveOptions
    built: Built
    reports: tuple[SolveReport, ...]
    total: Total
    limit: Limit | None = None
    repeatable: bool = False
    wall_time_s: float = 0.0

    @property
    def plan(self) -> Plan:
        """The mapping plan."""
        return self.built.plan

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the run directory; ``force`` replaces a finished run in it.

        Raises
        ------
        InputError
            If the directory holds something already, or cannot be written.
        """
        from ipuopt.rundir import write_run  # reads this record

        settings = {
            option.key: Setting(getattr(self.options, option.field), "library")
            for option in OPTIONS
        }
        write_run(Path(path), self, settings, wall_time_s=self.wall_time_s, force=force)
