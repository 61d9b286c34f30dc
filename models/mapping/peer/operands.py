"""Traffic that brings the operands of a matrix product to its tiles (cost-model.md 3.3)."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from ipuopt.layout import (
    COLUMNS,
    ROWS,
    IntArray,
    Layout,
    LayoutError,
    MemoryClass,
    cut_axis,
    whole_axis,
)
from ipuopt.models.mapping.peer.parts import distinct_parts
from ipuopt.models.mapping.peer.traffic import MAX_BYTES, Traffic, collect, nothing
from ipuopt.plan import PlannedValue
from ipuopt.rectangles import max_shard_elements, tile_coordinate

GRID_OPERANDS = 16
"""Operands whose traffic is remembered: those of a few grids at a time."""


def replication_traffic(value: PlannedValue, replicas: int, tiles: int) -> Traffic:
    """Traffic that raises the replicas of an operand of a product with a reduction.

    The layout is compared with the same layout with ``replicas`` replicas and tiles in proportion,
    at the same tile numbers. A rectangle with a receiver that does not hold it is sent once by its
    first owner.
    """
    layout = value.layout
    if layout.replicas >= replicas:
        return nothing(tiles)
    needs = layout.tiles // layout.replicas * replicas
    if needs > tiles:
        raise LayoutError(
            f"{value.name}: {replicas} replicas need {needs} tiles, but there are {tiles}"
        )
    anywhere = replace(layout, memory_class=MemoryClass.STANDARD)
    return _raised(anywhere, value.rows, value.columns, value.element_bytes, replicas, tiles)


@lru_cache(maxsize=GRID_OPERANDS)
def _raised(
    layout: Layout, rows: int, columns: int, element_bytes: int, replicas: int, tiles: int
) -> Traffic:
    """Traffic of an operand with too few replicas; variants of a grid ask for the same."""
    grown = replace(layout, replicas=replicas, tiles=layout.tiles // layout.replicas * replicas)
    held = distinct_parts(layout, rows, columns)
    needed = distinct_parts(grown, rows, columns)
    part = np.repeat(np.arange(len(needed)), needed.owners)
    home = np.full(tiles, -1, dtype=np.int64)
    home[held.owner] = np.repeat(np.arange(len(held)), held.owners)
    remote = home[needed.owner] != part
    sent = np.unique(part[remote])
    height, width = needed.row_end - needed.row_start, needed.column_end - needed.column_start
    size = height * width * element_bytes
    return collect(
        tiles,
        held.first_owner[sent],
        size[sent],
        np.ones_like(sent),
        needed.owner[remote],
        size[part[remote]],
        np.ones(int(remote.sum()), dtype=np.int64),
    )


def stationary_traffic(
    operand: PlannedValue, operand_axis: int, result: PlannedValue, result_axis: int, tiles: int
) -> Traffic:
    """Traffic of one operand of a product without a reduction.

    Every result tile needs its range of ``result_axis`` over all of the inner axis, less what the
    operand's shard of the same tile number holds. If any tile lacks something, every tile of the
    operand sends one largest shard.
    """
    layout = operand.layout
    low, high = _ranges(result.layout, result_axis, _extent(result, result_axis), tiles)
    inner_axis = ROWS if operand_axis == COLUMNS else COLUMNS
    inner = _extent(operand, inner_axis)
    held_low, held_high = _ranges(layout, operand_axis, _extent(operand, operand_axis), tiles)
    inner_low, inner_high = _ranges(layout, inner_axis, inner, tiles)
    overlap = np.maximum(np.minimum(high, held_high) - np.maximum(low, held_low), 0)
    lacking = ((high - low) * inner - overlap * (inner_high - inner_low)) * operand.element_bytes
    receiver = np.flatnonzero(lacking)
    if not len(receiver):
        return nothing(tiles)
    largest = max_shard_elements(layout, operand.rows, operand.columns) * operand.element_bytes
    size = np.full(layout.tiles, largest, dtype=np.int64)
    return collect(
        tiles,
        np.arange(layout.tiles, dtype=np.int64),
        size,
        -(-size // MAX_BYTES),
        receiver,
        lacking[receiver],
        -(-lacking[receiver] // MAX_BYTES),
    )


def _extent(value: PlannedValue, axis: int) -> int:
    return value.columns if axis == COLUMNS else value.rows


def _ranges(layout: Layout, axis: int, extent: int, tiles: int) -> tuple[IntArray, IntArray]:
    """Logical range of ``axis`` on every tile; empty on tiles that the layout does not use.

    A linear layout answers with the whole axis (cost-model.md 1.4).
    """
    low, high = np.zeros(tiles, dtype=np.int64), np.zeros(tiles, dtype=np.int64)
    tiling = layout.tiling(axis)
    cut = whole_axis(extent) if tiling is None else cut_axis(extent, tiling)
    part = np.zeros(layout.tiles, dtype=np.int64)
    if tiling is not None:
        part = tile_coordinate(layout, axis)
    low[: layout.tiles], high[: layout.tiles] = cut.start[part], cut.end[part]
    return low, high
