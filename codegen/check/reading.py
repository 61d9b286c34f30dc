"""What all rules read: the program, and sizes of its shards worked out once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ipuopt.layout import IntArray, OrderKind
from ipuopt.plan import Plan
from ipuopt.program import Program

Violations = tuple[tuple[str, str], ...]
BoolArray = npt.NDArray[np.bool_]

KINDS = tuple(OrderKind)
"""Order kinds by their number in the shard table."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A program with columns that the tables imply.

    Attributes
    ----------
    element_bytes, rows, columns
        Of each shard; physical extents.
    matrix_bytes
        Bytes of one matrix of the shard's extents, without tails and further copies.
    receiver_step, receiver_transfer
        Of each entry of the transfers' receivers.
    """

    plan: Plan
    program: Program
    element_bytes: IntArray
    rows: IntArray
    columns: IntArray
    matrix_bytes: IntArray
    receiver_step: IntArray
    receiver_transfer: IntArray

    def name(self, shard: int) -> str:
        """A shard for people."""
        table = self.program.shards
        value = self.plan.values[int(table.value[shard])].name
        return f"shard {shard} ({value}, tile {table.tile[shard]}, role {table.role[shard]})"


def read(plan: Plan, program: Program) -> Reading:
    """Work out what the rules need."""
    shards, transfers = program.shards, program.transfers
    sizes = np.array([value.element_bytes for value in plan.values], dtype=np.int64)
    element_bytes = sizes[np.clip(shards.value, 0, len(sizes) - 1)]
    rows = shards.row_stop - shards.row_start
    columns = shards.column_stop - shards.column_start
    count = np.diff(transfers.destination_start)
    transfer = np.repeat(np.arange(len(count)), np.maximum(count, 0))
    return Reading(
        plan=plan,
        program=program,
        element_bytes=element_bytes,
        rows=rows,
        columns=columns,
        matrix_bytes=rows * columns * element_bytes,
        receiver_step=transfers.step[transfer],
        receiver_transfer=transfer,
    )


def first_of(label: str, bad: BoolArray | IntArray, message: Callable[[int], str]) -> Violations:
    """One violation for all true entries of ``bad``, with the message of the first."""
    at = np.flatnonzero(bad)
    if not len(at):
        return ()
    more = f" (and {len(at) - 1} more)" if len(at) > 1 else ""
    return ((label, message(int(at[0])) + more),)
