"""Tensors of a program and where their shards lie."""

from __future__ import annotations

import numpy as np

from ipuopt.codegen.kernels.names import TYPES
from ipuopt.codegen.package import Binding, Slices
from ipuopt.codegen.runtime import COMPLETION
from ipuopt.layout import IntArray
from ipuopt.plan import Origin
from ipuopt.program import Role
from ipuopt.result import Built
from ipuopt.target.constants import WORD_BYTES
from ipuopt.target.fabric import PHYSICAL

Tensors = tuple[tuple[Binding, ...], tuple[Binding, ...], tuple[Binding, ...]]
"""Inputs, weights and outputs."""


def bindings_of(built: Built, more: tuple[Binding, ...] = ()) -> Tensors:
    """Tensors in the order of the plan's values; ``more`` are outputs behind them."""
    groups: tuple[list[Binding], list[Binding], list[Binding]] = ([], [], [])
    for index, value in enumerate(built.plan.values):
        if value.origin is Origin.INPUT:
            groups[0].append(_binding(built, index))
        if value.origin is Origin.PARAMETER:
            groups[1].append(_binding(built, index))
        if value.is_output:
            groups[2].append(_binding(built, index))
    inputs, weights, outputs = map(tuple, groups)
    return inputs, weights, (*outputs, *more)


def completion() -> Binding:
    """The word that says whether the program has ended; the host does not fetch it."""
    one = np.ones(1, np.uint64)
    return Binding(
        "completion", "u32", (1,), Slices(0 * one, COMPLETION * one, 0 * one, WORD_BYTES * one)
    )


def _binding(built: Built, index: int) -> Binding:
    """All shards of a value, with their padding, as they lie in memory."""
    value, shards = built.plan.values[index], built.program.shards
    at = np.flatnonzero((shards.value == index) & (shards.role == Role.VALUE))
    rows = shards.row_stop[at] - shards.row_start[at]
    columns = shards.column_stop[at] - shards.column_start[at]
    size = _whole_words(rows * columns * value.element_bytes)
    parts = (PHYSICAL[shards.tile[at]], built.address[at], np.cumsum(size) - size, size)
    slices = Slices(*(part.astype(np.uint64) for part in parts))
    shape = (value.rows, value.columns)
    return Binding(value.name, TYPES[value.element_bytes], shape, slices)


def _whole_words(size: IntArray) -> IntArray:
    """Shards are aligned to words, so the rest of the last one belongs to no other shard."""
    return -(-size // WORD_BYTES) * WORD_BYTES
