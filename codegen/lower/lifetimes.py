"""Lifetimes: the program steps in which the content of each shard must be kept (lowering.md 5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ipuopt.plan import Origin, Plan
from ipuopt.program import CopyTable, Repeat, RunTable, ShardTable, TransferTable
from ipuopt.program_tables import uses


def lifetimes(
    plan: Plan,
    steps: int,
    shards: ShardTable,
    runs: RunTable,
    copies: CopyTable,
    transfers: TransferTable,
    repeats: Sequence[Repeat] = (),
) -> ShardTable:
    """The shards with ``live_start`` and ``live_stop``.

    A shard lives from its first to its last use, and from entry to exit of a repeat that uses it.
    Inputs and parameters live from the first step, outputs to the last; a shard that nothing
    touches occupies the first step only.
    """
    first, last = uses(len(shards), steps, runs, copies, transfers)
    for repeat in repeats:
        used = (first < repeat.stop) & (last >= repeat.first)
        first[used & (first > repeat.first)] = repeat.first
        last[used & (last < repeat.stop - 1)] = repeat.stop - 1
    loaded = np.array([value.origin is not Origin.COMPUTED for value in plan.values])
    kept = np.array([value.is_output for value in plan.values])
    is_value = shards.role == 0
    first[(is_value & loaded[shards.value]) | (last < 0)] = 0
    stop = np.maximum(last, 0) + 1
    stop[is_value & kept[shards.value]] = max(steps, 1)
    return replace(shards, live_start=first, live_stop=stop)
