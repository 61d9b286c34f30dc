"""What a program with repeats means: the program that has their steps as often as they are executed.

A shard that only one repeat uses is another one in each iteration, of a rectangle that may move on:
what is in it is there for that iteration. Value shards, and what is used outside too, are carried
from iteration to iteration.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from ipuopt.program import (
    CopyTable,
    IntArray,
    Program,
    Repeat,
    Role,
    RunTable,
    ShardTable,
    TransferTable,
)
from ipuopt.program_tables import uses
from ipuopt.ranges import ranges

BoolArray = npt.NDArray[np.bool_]


def unrolled(program: Program) -> tuple[Program, IntArray]:
    """The program without repeats, and the shard of ``program`` that each of its shards is one of."""
    step, iteration = program.executed
    shards = _Shards.of(program)
    runs, copies, transfers = program.runs, program.copies, program.transfers
    steps = tuple(program.steps[number] for number in step.tolist())
    at, when = _entries(runs.step, step)
    new_runs = _moved(runs, at, when, iteration, shards, ("output", "input0", "input1"))
    at, when = _entries(copies.step, step)
    new_copies = _moved(copies, at, when, iteration, shards, ("source", "destination"))
    at, when = _entries(transfers.step, step)
    return Program(
        tiles=program.tiles,
        steps=steps,
        shards=shards.table(program, step),
        runs=RunTable(**new_runs),
        copies=CopyTable(**new_copies),
        transfers=_transfers(transfers, at, when, iteration, shards),
        distinct=shards.distinct(program),
    ), shards.origin


def renewed(program: Program) -> IntArray:
    """Repeat in which each shard is another one in each iteration, -1 for none; shape ``(shards,)``."""
    first, last = uses(
        len(program.shards), len(program.steps), program.runs, program.copies, program.transfers
    )
    result = np.full(len(program.shards), -1)
    for place, repeat in enumerate(program.repeats):
        own = (program.shards.role != Role.VALUE) & (last >= 0)
        result[own & (repeat.first <= first) & (last < repeat.stop)] = place
    return result


@dataclass(frozen=True, slots=True)
class _Shards:
    """Numbers of the shards of all iterations.

    Attributes
    ----------
    origin, iteration
        Shard of the program with repeats, and iteration, of each one.
    base, stride
        A shard's number in iteration i is ``base + i stride`` from the second one on; stride 0 for
        one that is carried.
    """

    origin: IntArray
    iteration: IntArray
    base: IntArray
    stride: IntArray
    repeat: tuple[tuple[Repeat, IntArray], ...]

    @classmethod
    def of(cls, program: Program) -> _Shards:
        """Look for shards that one repeat alone uses."""
        count, repeat_of = len(program.shards), renewed(program)
        origin, iteration = [np.arange(count)], [np.zeros(count, np.int64)]
        base, stride = np.arange(count), np.zeros(count, np.int64)
        known = []
        for place, repeat in enumerate(program.repeats):
            fresh = np.flatnonzero(repeat_of == place)
            more = repeat.count - 1
            base[fresh] = count + np.arange(len(fresh)) - len(fresh)
            stride[fresh] = len(fresh)
            origin.append(np.tile(fresh, more))
            iteration.append(np.repeat(np.arange(1, repeat.count), len(fresh)))
            count += len(fresh) * more
            known.append((repeat, fresh))
        return cls(np.concatenate(origin), np.concatenate(iteration), base, stride, tuple(known))

    def number(self, shard: IntArray, iteration: IntArray) -> IntArray:
        """Numbers of shards in iterations; negative ones stay."""
        later = (shard >= 0) & (iteration > 0) & (self.stride[shard] > 0)
        moved = self.base[shard] + iteration * self.stride[shard]
        result: IntArray = np.where(later, moved, shard)
        return result

    def table(self, program: Program, executed: IntArray) -> ShardTable:
        """Rectangles move on; lifetimes are those of the executed steps."""
        old, steps = program.shards, len(program.steps)
        columns = {c.name: getattr(old, c.name)[self.origin] for c in fields(ShardTable)}
        for axis in ("row", "column"):
            advance = columns.pop(f"{axis}_advance")
            for side in ("start", "end", "stop"):
                columns[f"{axis}_{side}"] += advance * self.iteration
        begin, end = np.full((2, steps + 1), len(executed))
        begin[executed[::-1]] = np.arange(len(executed))[::-1]
        end[executed + 1] = np.arange(len(executed)) + 1
        columns["live_start"] = begin[np.clip(columns["live_start"], 0, steps)]
        columns["live_stop"] = end[np.clip(columns["live_stop"], 1, steps)]
        for repeat, fresh in self.repeat:
            length = repeat.stop - repeat.first
            own = np.isin(self.origin, fresh)
            columns["live_start"][own] = begin[repeat.first] + self.iteration[own] * length
            columns["live_stop"][own] = columns["live_start"][own] + length
        return ShardTable(**columns)

    def distinct(self, program: Program) -> IntArray:
        """Pairs that are kept apart, in each iteration."""
        pairs = [program.distinct]
        for repeat, fresh in self.repeat:
            mine = program.distinct[np.isin(program.distinct, fresh).any(axis=1)]
            for turn in range(1, repeat.count):
                pairs.append(self.number(mine, np.full_like(mine, turn)))
        return np.concatenate(pairs)


def _entries(step: IntArray, executed: IntArray) -> tuple[IntArray, IntArray]:
    """Entries of a table in the order of execution, and the executed step of each."""
    first, stop = np.searchsorted(step, executed), np.searchsorted(step, executed + 1)
    when = np.repeat(np.arange(len(executed)), stop - first)
    return ranges(first, stop - first), when


def _moved(
    table: RunTable | CopyTable,
    at: IntArray,
    when: IntArray,
    iteration: IntArray,
    shards: _Shards,
    operands: tuple[str, ...],
) -> dict[str, IntArray]:
    columns = {column.name: getattr(table, column.name)[at] for column in fields(table)}
    columns["step"] = when
    for name in operands:
        columns[f"{name}_offset"] += columns.pop(f"{name}_advance") * iteration[when]
        columns[name] = shards.number(columns[name], iteration[when])
    return columns


def _transfers(
    table: TransferTable, at: IntArray, when: IntArray, iteration: IntArray, shards: _Shards
) -> TransferTable:
    count = np.diff(table.destination_start)[at]
    receiver = ranges(table.destination_start[:-1][at], count)
    turn = iteration[when]
    return replace(
        table,
        step=when,
        source=shards.number(table.source[at], turn),
        source_offset=table.source_offset[at] + table.source_advance[at] * turn,
        words=table.words[at],
        destination_start=np.concatenate(([0], np.cumsum(count))),
        destination=shards.number(table.destination[receiver], np.repeat(turn, count)),
        destination_offset=table.destination_offset[receiver],
        source_advance=np.zeros(len(at), np.int64),
    )
