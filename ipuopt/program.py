"""Tile programs: steps that every tile meets, and the tables of what it does in them.

The lowering makes the tables, placement gives their shards addresses, the exchange scheduler gives
their transfers start events. There is no Python object a shard or transfer.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from ipuopt.program_tables import (
    CopyTable,
    IntArray,
    Kernel,
    Role,
    RunTable,
    ShardTable,
    TransferTable,
)
from ipuopt.repeats import Repeat, check_advance, check_repeats, executed_steps
from ipuopt.target.constants import SYNC_CYCLES

__all__ = [
    "CopyTable",
    "IntArray",
    "Kernel",
    "Program",
    "ProgramStep",
    "Repeat",
    "Role",
    "RunTable",
    "ShardTable",
    "StepKind",
    "TransferTable",
]


class StepKind(IntEnum):
    """A program step is one of these on every tile."""

    PHASE = 0
    COPY = 1
    RUN = 2


@dataclass(frozen=True, slots=True)
class ProgramStep:
    """One step of the program: kind, index of the plan step it belongs to, name for people."""

    kind: StepKind
    plan_step: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The lowered program.

    Attributes
    ----------
    tiles
        Logical tiles.
    steps
        In order of execution; every tile meets every step.
    shards, runs, copies, transfers
        See the tables.
    distinct
        Pairs of shards of one tile that may not share a memory element, shape ``(pairs, 2)``.
    repeats
        Steps that are executed several times, ascending; one level only (package.md 3.3).

    Raises
    ------
    ValueError
        For repeats that do not fit the steps or each other, and operands that move in a step that
        no repeat holds, or by no whole words; with step and tile.
    """

    tiles: int
    steps: tuple[ProgramStep, ...]
    shards: ShardTable
    runs: RunTable
    copies: CopyTable
    transfers: TransferTable
    distinct: IntArray
    repeats: tuple[Repeat, ...] = ()

    def __post_init__(self) -> None:
        check_repeats(self.repeats, len(self.steps))
        moving = (
            ("run", self.runs, ("output", "input0", "input1")),
            ("copy", self.copies, ("source", "destination")),
            ("transfer", self.transfers, ("source",)),
        )
        for what, table, operands in moving:
            for operand in operands:
                shard, advance = getattr(table, operand), getattr(table, f"{operand}_advance")
                at = check_advance(shard, advance, table.step, self.repeats)
                if at < 0:
                    continue
                on = f", tile {self.shards.tile[shard[at]]}" if shard[at] >= 0 else ""
                where = f"step {table.step[at]}{on}: {operand} of {what} {at}"
                found = f"found it moving by {advance[at]} bytes an iteration"
                raise ValueError(f"{where}: {found}, expected whole words, and only in a repeat")

    @property
    def phases(self) -> tuple[int, ...]:
        """Step indices of the exchange phases."""
        return tuple(i for i, step in enumerate(self.steps) if step.kind is StepKind.PHASE)

    @property
    def times(self) -> IntArray:
        """How often each step is executed, shape ``(steps,)``."""
        times = np.ones(len(self.steps), dtype=np.int64)
        for repeat in self.repeats:
            times[repeat.first : repeat.stop] = repeat.count
        return times

    @property
    def executed(self) -> tuple[IntArray, IntArray]:
        """Steps in the order of execution, those of a repeat once an iteration; and the iterations."""
        return executed_steps(self.repeats, len(self.steps))

    def repeat_of(self, step: int) -> Repeat | None:
        """The repeat that holds a step."""
        return next((r for r in self.repeats if r.first <= step < r.stop), None)

    def step_cycles(self) -> IntArray:
        """Most cycles that one tile spends in each step, shape ``(steps,)``; 0 for phases.

        Those of a step in a repeat count all its iterations.
        """
        cycles = np.zeros((len(self.steps), self.tiles), dtype=np.int64)
        for table in (self.runs, self.copies):
            np.add.at(cycles, (table.step, table.tile), table.cycles)
        result: IntArray = cycles.max(axis=1, initial=0) * self.times
        return result

    def cycles_with(self, horizon: IntArray) -> IntArray:
        """Cycles of every step, phases with their synchronisation, shape ``(steps,)``.

        Parameters
        ----------
        horizon
            Events of every phase, in the order of :attr:`phases`; of one iteration.
        """
        cycles = self.step_cycles()
        phases = list(self.phases)
        cycles[phases] = (horizon + SYNC_CYCLES) * self.times[phases]
        return cycles
