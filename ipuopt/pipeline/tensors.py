"""Tensors of a program as the host sends and gets them: shards in their own element order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ipuopt.codegen.package import Binding
from ipuopt.layout import IntArray, Order, OrderKind
from ipuopt.orders import element_index
from ipuopt.program import Role
from ipuopt.result import Built

Tensor = npt.NDArray[Any]
_KINDS = tuple(OrderKind)


def packed(built: Built, bindings: Sequence[Binding], tensors: Mapping[str, Tensor]) -> bytes:
    """Content of a call for some bindings; padding is zero.

    Parameters
    ----------
    tensors
        By the name of the binding, of the value's type.
    """
    parts = []
    for binding in bindings:
        tensor = tensors[binding.name]
        tensor = tensor.reshape(-1, tensor.shape[-1])
        content = np.zeros(binding.slices.file_bytes // tensor.itemsize, tensor.dtype)
        for start, rows, columns, places in _shards(built, binding, tensor.itemsize):
            content[start + places] = tensor[rows, columns]
        parts.append(content.tobytes())
    return b"".join(parts)


def unpacked(built: Built, bindings: Sequence[Binding], content: bytes) -> dict[str, Tensor]:
    """Tensors of some bindings as matrices, from the content of a call."""
    dtypes = {value.name: value.dtype for value in built.plan.values}
    result: dict[str, Tensor] = {}
    at = 0
    for binding in bindings:
        dtype = np.dtype(dtypes[binding.name])
        size = binding.slices.file_bytes
        numbers = np.frombuffer(content[at : at + size], dtype)
        at += size
        tensor = np.full(binding.shape, np.nan, dtype)
        for start, rows, columns, places in _shards(built, binding, dtype.itemsize):
            tensor[rows, columns] = numbers[start + places]
        result[binding.name] = tensor
    return result


def _shards(
    built: Built, binding: Binding, element_bytes: int
) -> Iterator[tuple[int, slice, slice, IntArray]]:
    """First element in the file, logical ranges, and places of their elements, of each shard."""
    names = [value.name for value in built.plan.values]
    shards = built.program.shards
    chosen = np.flatnonzero(
        (shards.value == names.index(binding.name)) & (shards.role == Role.VALUE)
    )
    starts = binding.slices.file_offset.astype(np.int64) // element_bytes
    for shard, start in zip(chosen.tolist(), starts.tolist(), strict=True):
        order = Order(_KINDS[shards.order[shard]], int(shards.order_block[shard]))
        first_row, first_column = int(shards.row_start[shard]), int(shards.column_start[shard])
        rows = slice(first_row, int(shards.row_end[shard]))
        columns = slice(first_column, int(shards.column_end[shard]))
        places = element_index(
            order,
            np.arange(rows.stop - rows.start)[:, None],
            np.arange(columns.stop - columns.start)[None, :],
            int(shards.row_stop[shard]) - first_row,
            int(shards.column_stop[shard]) - first_column,
            element_bytes,
        )
        yield start, rows, columns, places
