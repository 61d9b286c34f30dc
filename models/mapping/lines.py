"""Compiled loop over pairs of layouts of which at least one is linear (cost-model.md 1.4)."""

from __future__ import annotations

from ipuopt.compiled import inner_kernel, kernel
from ipuopt.layout import IntArray
from ipuopt.models.mapping.endpoint import shared_elements
from ipuopt.models.mapping.footprint import Int32Array
from ipuopt.models.mapping.pairs import (
    ALONG_COLUMNS,
    PANEL_BYTES,
    SQUARES_ALONG_COLUMNS,
    calls_of,
    copy_price,
)
from ipuopt.target.constants import WORD_BYTES


@inner_kernel
def line_copies(
    line: Int32Array,
    other: Int32Array,
    other_linear: int,
    pieces: int,
    columns: int,
    element_bytes: int,
) -> int:
    """Cycles of the copies between a linear shard and another one on the same tile.

    A linear layout holds one shard a row, so pieces of different rows never become one call.
    """
    cycles = 0
    for row in range(line[0] // columns, -(-line[1] // columns)):
        start, stop = max(line[0] - row * columns, 0), min(line[1] - row * columns, columns)
        if other_linear:
            start = max(start, other[0] - row * columns)
            stop = min(stop, other[1] - row * columns)
        else:
            start, stop = max(start, other[2]), min(stop, other[3])
            if row < other[0] or row >= other[1]:
                continue
        if start >= stop:
            continue
        size_bytes = (stop - start) * element_bytes
        calls = 1
        if pieces in (ALONG_COLUMNS, SQUARES_ALONG_COLUMNS) and not other_linear:
            joined = other[1] - other[0] == 1 and pieces == ALONG_COLUMNS
            calls = calls_of(-(-size_bytes // PANEL_BYTES), PANEL_BYTES, joined)
        cycles += copy_price(calls, size_bytes)
    return cycles


@inner_kernel
def shard_elements(bounds: Int32Array, linear: int) -> int:
    """Logical elements of a shard."""
    rows: int = bounds[1] - bounds[0]
    width: int = 1 if linear else bounds[3] - bounds[2]
    return rows * width


@kernel
def price_lines(
    tail: Int32Array,
    tail_owner: Int32Array,
    tail_linear: IntArray,
    tail_replicas: IntArray,
    head: Int32Array,
    head_linear: IntArray,
    head_replicas: IntArray,
    pairs: IntArray,
    columns: int,
    element_bytes: int,
    arrive: IntArray,
    depart: IntArray,
    local: IntArray,
    out: IntArray,
) -> None:
    """Price conversions as :func:`ipuopt.models.mapping.pairs.price_grids` does.

    ``columns`` is the extent of the value's last axis; ``tail_linear`` and ``head_linear`` are
    columns of the :class:`ipuopt.models.mapping.footprint.Footprints`.
    """
    for index in range(len(pairs)):
        a, b, pieces = pairs[index]
        a_linear, b_linear = tail_linear[a], head_linear[b]
        local[:] = 0
        bound = 0
        copies = 0
        for tile in range(tail.shape[2]):
            source, target = tail[a, :, tile], head[b, :, tile]
            shared = shared_elements(source, a_linear, target, b_linear, columns)
            missing = shard_elements(target, b_linear) - shared
            if missing > 0:
                words = -(-missing * element_bytes // WORD_BYTES)
                bound = max(bound, words + arrive[tile])
            if shared > 0:
                local[tail_owner[a, tile]] += shared
                if a_linear:
                    cycles = line_copies(source, target, b_linear, pieces, columns, element_bytes)
                else:
                    cycles = line_copies(target, source, a_linear, pieces, columns, element_bytes)
                copies = max(copies, cycles)
        replicas = head_replicas[b]
        for tile in range(tail.shape[2]):
            if bound == 0 or tail_owner[a, tile] != tile:
                continue
            kept = 0 if replicas > tail_replicas[a] else local[tile] // replicas
            sent = shard_elements(tail[a, :, tile], a_linear) - kept
            if sent > 0:
                words = -(-sent * element_bytes // WORD_BYTES)
                bound = max(bound, words + depart[tile])
        out[index, 0] = bound
        out[index, 1] = copies
