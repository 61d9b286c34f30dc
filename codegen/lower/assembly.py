"""Assembly of a program: shards and steps are collected while plan steps are lowered, tables at the end."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from ipuopt.codegen.lower.copies import Pricing, copy_columns
from ipuopt.codegen.lower.lifetimes import lifetimes
from ipuopt.codegen.lower.moves import Moves, bounds_of, concatenate
from ipuopt.codegen.lower.pieces import cut, receivers
from ipuopt.codegen.lower.shapes import KINDS, shapes
from ipuopt.layout import IntArray, MemoryClass, Order
from ipuopt.plan import Plan
from ipuopt.program import (
    CopyTable,
    Kernel,
    Program,
    ProgramStep,
    Role,
    RunTable,
    ShardTable,
    StepKind,
    TransferTable,
)
from ipuopt.program_columns import none
from ipuopt.rectangles import Rectangles
from ipuopt.target.constants import MAX_WORDS, WORD_BYTES

BOX = ("row_start", "row_end", "row_stop", "column_start", "column_end", "column_stop")
"""Columns that a shard shares with :class:`ipuopt.rectangles.Rectangles`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Columns of :class:`ipuopt.program.RunTable` for one step; single numbers hold for all runs."""

    tile: IntArray
    kernel: Kernel
    output: IntArray
    input0: IntArray | int = -1
    input1: IntArray | int = -1
    output_offset: IntArray | int = 0
    input0_offset: IntArray | int = 0
    input1_offset: IntArray | int = 0
    rows: IntArray
    columns: IntArray | int = 0
    inner: IntArray | int = 0
    accumulate: IntArray | int = 0
    cycles: IntArray


class Assembler:
    """Collects shards, steps and their work in order; :meth:`program` makes the tables."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._steps: list[ProgramStep] = []
        self._shards: list[dict[str, IntArray]] = []
        self._shard_count = 0
        self._runs: list[tuple[int, Runs]] = []
        self._copies: list[tuple[int, Moves, Pricing]] = []
        self._moves: dict[int, list[Moves]] = {}
        self._distinct: list[IntArray] = []

    def shards(
        self,
        box: Rectangles,
        *,
        value: int,
        role: Role,
        order: Order,
        memory_class: MemoryClass,
        size_bytes: IntArray,
        alignment: int,
    ) -> IntArray:
        """Add one shard a rectangle; their numbers, consecutive, are returned."""
        count = len(box)
        same = {
            "value": value,
            "role": int(role),
            "order": KINDS.index(order.kind),
            "order_block": order.block,
            "interleaved": int(memory_class is MemoryClass.INTERLEAVED),
            "alignment": alignment,
        }
        columns = {name: np.full(count, number) for name, number in same.items()}
        columns |= {name: getattr(box, name) for name in ("tile", *BOX)}
        columns["size_bytes"] = np.maximum(1, size_bytes)
        self._shards.append(columns)
        self._shard_count += count
        return np.arange(self._shard_count - count, self._shard_count, dtype=np.int64)

    def run(self, runs: Runs, plan_step: int, name: str) -> None:
        """Add a step of kernel runs, executed on each tile in the order given; none adds none."""
        if len(runs.tile):
            self._runs.append((self._step(StepKind.RUN, plan_step, name), runs))

    def copy(self, moves: Moves, pricing: Pricing, plan_step: int, name: str) -> None:
        """Add a step of local copies, one destination a move; none adds none."""
        if len(moves):
            self._copies.append((self._step(StepKind.COPY, plan_step, name), moves, pricing))

    def phase(self, moves: Moves, plan_step: int, name: str) -> None:
        """Add an exchange phase; without moves there is none."""
        if len(moves):
            self._moves[self._step(StepKind.PHASE, plan_step, name)] = [moves]

    def join(self, moves: Moves, plan_step: int) -> bool:
        """Let ``moves`` travel in the last phase if it may (lowering.md 3).

        It may when that phase belongs to ``plan_step`` and only local copies follow it. The new
        moves fill new staging from parameters, so neither the phase nor the copies touch them.
        """
        for number in range(len(self._steps) - 1, -1, -1):
            step = self._steps[number]
            if step.kind is StepKind.COPY:
                continue
            if step.kind is StepKind.RUN or step.plan_step != plan_step:
                return False
            self._moves[number].append(moves)
            return True
        return False

    def keep_apart(self, first: IntArray, second: IntArray) -> None:
        """Pairs of shards that may not share a memory element; pairs of two classes cannot."""
        self._distinct.append(np.stack((first, second), axis=1))

    def program(self) -> Program:
        """All tables."""
        shards, element_bytes = self._shard_columns()
        shape = shapes(shards, element_bytes)
        runs, copies = self._run_table(), self._copy_table(shape)
        transfers = self._transfer_table(shape)
        live = lifetimes(self.plan, len(self._steps), shards, runs, copies, transfers)
        distinct = np.concatenate([np.zeros((0, 2), dtype=np.int64), *self._distinct])
        same_class = shards.interleaved[distinct[:, 0]] == shards.interleaved[distinct[:, 1]]
        return Program(
            tiles=self.plan.tiles,
            steps=tuple(self._steps),
            shards=live,
            runs=runs,
            copies=copies,
            transfers=transfers,
            distinct=distinct[same_class],
        )

    def _step(self, kind: StepKind, plan_step: int, name: str) -> int:
        self._steps.append(ProgramStep(kind, plan_step, name))
        return len(self._steps) - 1

    def _shard_columns(self) -> tuple[ShardTable, IntArray]:
        unset = {"live_start", "live_stop"}
        columns = {
            name: np.concatenate([part[name] for part in self._shards]) for name in self._shards[0]
        }
        columns |= {name: np.zeros(self._shard_count, dtype=np.int64) for name in unset}
        sizes = np.array([value.element_bytes for value in self.plan.values], dtype=np.int64)
        return ShardTable(**columns), sizes[columns["value"]]

    def _run_table(self) -> RunTable:
        names = ("step", *(column.name for column in fields(Runs)))
        columns: dict[str, list[IntArray]] = {name: [] for name in names}
        for step, runs in self._runs:
            for name, parts in columns.items():
                number = step if name == "step" else getattr(runs, name)
                parts.append(np.broadcast_to(np.asarray(number, np.int64), runs.tile.shape))
        return RunTable(**{name: _joined(parts) for name, parts in columns.items()})

    def _copy_table(self, shape: IntArray) -> CopyTable:
        names = [column.name for column in fields(CopyTable) if column.default_factory is not none]
        tiles = np.concatenate([part["tile"] for part in self._shards])
        parts: list[tuple[IntArray, ...]] = []
        for step, moves, pricing in self._copies:
            columns = copy_columns(shape, moves, pricing, self._steps[step].name)
            source = columns[0]
            parts.append((np.full(len(source), step), tiles[source], *columns))
        return CopyTable(**{n: _joined([p[i] for p in parts]) for i, n in enumerate(names)})

    def _transfer_table(self, shape: IntArray) -> TransferTable:
        limit = MAX_WORDS * WORD_BYTES
        steps, sources, offsets, words = [], [], [], []
        counts, destinations, destination_offsets = [], [], []
        for step, parts in sorted(self._moves.items()):
            moves = concatenate(parts).in_order()
            pieces = cut(shape, moves, limit, self._steps[step].name)
            count, destination, offset = receivers(moves, pieces)
            steps.append(np.full(len(pieces), step))
            sources.append(moves.source[pieces.move])
            offsets.append(pieces.source_offset)
            words.append(pieces.size_bytes // WORD_BYTES)
            counts.append(count)
            destinations.append(destination)
            destination_offsets.append(offset)
        return TransferTable(
            _joined(steps),
            _joined(sources),
            _joined(offsets),
            _joined(words),
            bounds_of(_joined(counts)),
            _joined(destinations),
            _joined(destination_offsets),
        )


def _joined(parts: list[IntArray]) -> IntArray:
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])
