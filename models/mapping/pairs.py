"""Compiled loop over pairs of layouts: endpoint bound of the exchange, cycles of the local copies."""

from __future__ import annotations

from ipuopt.compiled import inner_kernel, kernel
from ipuopt.layout import IntArray
from ipuopt.models.mapping.footprint import Int32Array
from ipuopt.target.kernels import COPY_CALL_CYCLES, STANDARD_BYTES_PER_CYCLE

PANEL_BYTES = 32
"""Bytes of one row of a micro-panel (cost-model.md 1.6)."""
STRIDED_BYTES = 512
"""Most bytes of one strided copy call (lowering.md 2.4)."""
GRAIN_BYTES = 8
"""Only pieces of a multiple of this are merged (lowering.md 2.4)."""

ALONG_COLUMNS, ALONG_ROWS, ROW_MAJOR_PIECES = 0, 1, 2
"""How the pieces of a rectangle lie in memory: micro-panels of columns or of rows, or whole rows."""
SQUARES_ALONG_COLUMNS, SQUARES_ALONG_ROWS = 3, 4
"""The same micro-panels, cut in squares: from one order to another that walks them alike."""
SQUARE = 16
"""Lines of a square (cost-model.md 1.6)."""


@inner_kernel
def calls_of(lines: int, line_bytes: int, joined: bool) -> int:
    """Copy calls for ``lines`` pieces of equal length at equal distances (lowering.md 2.4).

    ``joined``: the pieces touch on both sides and are one.
    """
    if joined or (line_bytes % GRAIN_BYTES == 0 and lines * line_bytes <= STRIDED_BYTES):
        return 1
    return lines


@inner_kernel
def copy_price(calls: int, size_bytes: int) -> int:
    """At least the sum of ``copy_cycles`` over the calls: their bytes are rounded up once."""
    return calls * COPY_CALL_CYCLES + -(-size_bytes // STANDARD_BYTES_PER_CYCLE)


@inner_kernel
def grid_copies(
    rows: int,
    width: int,
    all_rows: bool,
    all_columns: bool,
    pieces: int,
    element_bytes: int,
) -> int:
    """Cycles of the copies of ``rows x width`` elements between two grid shards on one tile.

    ``all_rows``, ``all_columns``: the rectangle takes all rows (columns) of both shards.
    """
    if pieces == ALONG_COLUMNS:
        lines, line_bytes = -(-width * element_bytes // PANEL_BYTES), rows * PANEL_BYTES
        joined = all_rows
    elif pieces == ALONG_ROWS:
        lines, line_bytes = -(-rows * element_bytes // PANEL_BYTES), width * PANEL_BYTES
        joined = all_columns
    else:
        lines, line_bytes, joined = rows, width * element_bytes, all_columns
    return copy_price(calls_of(lines, line_bytes, joined), rows * width * element_bytes)


@inner_kernel
def square_copies(begin: int, end: int, width: int, lines: int, element_bytes: int) -> int:
    """At least the cycles of copies that turn micro-panels into squares on one tile.

    Parameters
    ----------
    begin, end
        Lines of the panels that are copied, in coordinates of the value: squares end at multiples
        of 16.
    width
        Elements along a line.
    lines
        Of the source shard. Where it has no more than a square, several may be one call.
    """
    calls = 0
    panels = -(-width * element_bytes // PANEL_BYTES)
    at = begin
    while at < end:
        stop = min(end, (at // SQUARE + 1) * SQUARE)
        calls += calls_of(panels, (stop - at) * PANEL_BYTES, lines <= SQUARE)
        at = stop
    return copy_price(calls, (end - begin) * width * element_bytes)


@kernel
def price_grids(
    tail: Int32Array,
    tail_owner: Int32Array,
    tail_replicas: IntArray,
    head: Int32Array,
    head_replicas: IntArray,
    pairs: IntArray,
    element_bytes: int,
    arrive: IntArray,
    depart: IntArray,
    local: IntArray,
    out: IntArray,
) -> None:
    """Price conversions between grid layouts.

    Parameters
    ----------
    tail, tail_owner, tail_replicas, head, head_replicas
        Columns of the two :class:`ipuopt.models.mapping.footprint.Footprints`.
    pairs
        Tail layout, head layout and kind of pieces of each pair, shape ``(pairs, 3)``.
    element_bytes
        Of the value.
    arrive, depart
        See :class:`ipuopt.models.mapping.endpoint.Latency`.
    local
        Scratch, shape ``(tiles,)``.
    out
        Written, shape ``(pairs, 2)``: endpoint bound of the exchange without sync, 0 where nothing
        is remote; most cycles of local copies on one tile.

    Notes
    -----
    A source sends each distinct intersection once if a receiver does not hold it itself. An
    intersection stays at home only if all replicas of the destination lie on owners of the
    source, so what owners share with their own destinations, divided by the replicas of the
    destination, bounds the elements that stay.
    """
    tiles = tail.shape[2]
    half_words = element_bytes // 2
    for index in range(len(pairs)):
        a, b, pieces = pairs[index]
        top, bottom, left, right = tail[a, 0], tail[a, 1], tail[a, 2], tail[a, 3]
        first, last, begin, end = head[b, 0], head[b, 1], head[b, 2], head[b, 3]
        bound = 0
        for tile in range(tiles):
            rows = max(min(bottom[tile], last[tile]) - max(top[tile], first[tile]), 0)
            width = max(min(right[tile], end[tile]) - max(left[tile], begin[tile]), 0)
            local[tile] = rows * width
            missing = (last[tile] - first[tile]) * (end[tile] - begin[tile]) - rows * width
            words = (missing * half_words + 1) >> 1
            bound = max(bound, words + arrive[tile] if missing > 0 else 0)
        copies = 0
        for tile in range(tiles):
            if local[tile] == 0:
                continue
            rows = min(bottom[tile], last[tile]) - max(top[tile], first[tile])
            width = min(right[tile], end[tile]) - max(left[tile], begin[tile])
            here = max(top[tile], first[tile]), max(left[tile], begin[tile])
            high, wide = bottom[tile] - top[tile], right[tile] - left[tile]
            if pieces == SQUARES_ALONG_COLUMNS:
                cycles = square_copies(here[0], here[0] + rows, width, high, element_bytes)
            elif pieces == SQUARES_ALONG_ROWS:
                cycles = square_copies(here[1], here[1] + width, rows, wide, element_bytes)
            else:
                all_rows = rows == high and rows == last[tile] - first[tile]
                all_columns = width == wide and width == end[tile] - begin[tile]
                cycles = grid_copies(rows, width, all_rows, all_columns, pieces, element_bytes)
            copies = max(copies, cycles)
        if bound > 0:
            replicas = head_replicas[b]
            if replicas > tail_replicas[a]:
                local[:] = 0
            elif tail_replicas[a] > 1:
                owner = tail_owner[a]
                for tile in range(tiles):
                    if owner[tile] != tile:
                        local[owner[tile]] += local[tile]
            for tile in range(tiles):
                sent = (bottom[tile] - top[tile]) * (right[tile] - left[tile])
                sent -= local[tile] // replicas if local[tile] > 0 else 0
                sent = sent if tail_owner[a, tile] == tile else 0
                words = (sent * half_words + 1) >> 1
                bound = max(bound, words + depart[tile] if sent > 0 else 0)
        out[index, 0] = bound
        out[index, 1] = copies
