"""Lifetimes: the program steps in which the content of each shard must be kept (lowering.md 5.2)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ipuopt.layout import IntArray
from ipuopt.plan import Origin, Plan
from ipuopt.program import CopyTable, RunTable, ShardTable, TransferTable


def lifetimes(
    plan: Plan,
    steps: int,
    shards: ShardTable,
    runs: RunTable,
    copies: CopyTable,
    transfers: TransferTable,
) -> ShardTable:
    """The shards with ``live_start`` and ``live_stop``.

    A shard lives from its first to its last use. Inputs and parameters live from the first step,
    outputs to the last; a shard that nothing touches occupies the first step only.
    """
    first = np.full(len(shards), steps, dtype=np.int64)
    last = np.full(len(shards), -1, dtype=np.int64)

    def use(shard: IntArray, step: IntArray) -> None:
        used = shard >= 0
        np.minimum.at(first, shard[used], step[used])
        np.maximum.at(last, shard[used], step[used])

    for operand in (runs.output, runs.input0, runs.input1):
        use(operand, runs.step)
    use(copies.source, copies.step)
    use(copies.destination, copies.step)
    use(transfers.source, transfers.step)
    use(transfers.destination, np.repeat(transfers.step, np.diff(transfers.destination_start)))
    loaded = np.array([value.origin is not Origin.COMPUTED for value in plan.values])
    kept = np.array([value.is_output for value in plan.values])
    is_value = shards.role == 0
    first[(is_value & loaded[shards.value]) | (last < 0)] = 0
    stop = np.maximum(last, 0) + 1
    stop[is_value & kept[shards.value]] = max(steps, 1)
    return replace(shards, live_start=first, live_stop=stop)
