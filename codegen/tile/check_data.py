"""Tensors of a package: their slices are the shards of their values, in their order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ipuopt.codegen.package import Package, Slices
from ipuopt.plan import Origin
from ipuopt.program import Role
from ipuopt.result import Built
from ipuopt.target.constants import WORD_BYTES
from ipuopt.target.fabric import PHYSICAL

Violation = tuple[str, str]


def check_data(built: Built, package: Package) -> Iterator[Violation]:
    """Inputs, weights and outputs (label ``data``)."""
    groups = (
        ("input", package.inputs, lambda value: value.origin is Origin.INPUT),
        ("weight", package.weights, lambda value: value.origin is Origin.PARAMETER),
        ("output", package.outputs, lambda value: value.is_output),
    )
    for kind, bindings, wanted in groups:
        held = {binding.name: binding.slices for binding in bindings}
        for number, value in enumerate(built.plan.values):
            if not wanted(value):
                continue
            where = f"{kind} {value.name!r}"
            if value.name not in held:
                yield "data", f"{where}: found no such tensor, expected it"
                continue
            wrong = _misplaced(built, number, value.element_bytes, held[value.name])
            if wrong is not None:
                yield "data", f"{where}: {wrong}"


def _misplaced(built: Built, number: int, element_bytes: int, slices: Slices) -> str | None:
    shards = built.program.shards
    at = np.flatnonzero((shards.value == number) & (shards.role == Role.VALUE))
    if len(slices) != len(at):
        return f"found {len(slices)} slices, expected {len(at)}"
    rows = shards.row_stop[at] - shards.row_start[at]
    least = rows * (shards.column_stop[at] - shards.column_start[at]) * element_bytes
    size = slices.size.astype(np.int64)
    expected = (PHYSICAL[shards.tile[at]], built.address[at], np.cumsum(size) - size)
    found = (slices.tile, slices.address, slices.file_offset)
    for name, one, other in zip(("tile", "address", "file offset"), found, expected, strict=True):
        differs = one.astype(np.int64) != other
        if differs.any():
            place = int(np.argmax(differs))
            return f"found slice {place} with {name} {one[place]}, expected {other[place]}"
    short = (size < least) | (size >= least + WORD_BYTES)
    if short.any():
        place = int(np.argmax(short))
        return f"found slice {place} of {size[place]} bytes, expected {least[place]} in whole words"
    return None
