"""Who sends what to whom: rectangles that shards need, and the shards that hold them."""

from __future__ import annotations

import numpy as np

from ipuopt.codegen.lower.boxes import Box, distinct, logical, meeting, select, take
from ipuopt.codegen.lower.moves import Moves, bounds_of, single
from ipuopt.codegen.lower.shapes import traversal
from ipuopt.codegen.lower.values import Shards
from ipuopt.layout import IntArray, Order
from ipuopt.ranges import ranges
from ipuopt.rectangles import Rectangles
from ipuopt.target.constants import WORD_BYTES


def panels_along_rows(order: Order) -> bool:
    """Whether neighbours in a micro-panel are of one column."""
    return traversal(order, WORD_BYTES).along_rows


def panel_width(order: Order, element_bytes: int) -> int:
    """Elements along that axis which are exchanged together: a micro-panel, or a word."""
    return traversal(order, element_bytes).micro or max(1, WORD_BYTES // element_bytes)


def _widened(
    here: Rectangles, there: Rectangles, shared: Box, order: Order, element_bytes: int
) -> Box:
    """Shared rectangles up to the end of the last panel, where both sides hold it.

    Logical ends inside a panel would cut it into one piece a row; the padding behind them is zero
    on the side that sends.
    """
    width = panel_width(order, element_bytes)
    if panels_along_rows(order):
        starts = (here.row_start, there.row_start)
        stops = (here.row_stop, there.row_stop)
        stop = shared[1]
    else:
        starts = (here.column_start, there.column_start)
        stops = (here.column_stop, there.column_stop)
        stop = shared[3]
    wide = stop + (starts[0] - stop) % width
    held = (wide <= np.minimum(*stops)) & ((wide - starts[1]) % width == 0)
    stop = np.where(held, wide, stop)
    if panels_along_rows(order):
        return shared[0], stop, shared[2], shared[3]
    return shared[0], shared[1], shared[2], stop


def fetch(
    needed: Shards, held: Shards, order: Order, element_bytes: int, tiles: int
) -> tuple[Moves, Moves]:
    """Fill shards from the shards of another value in the same element order.

    Each rectangle comes from the shard on the own tile that holds it, else from the first one;
    what several tiles need is sent to all of them at once (lowering.md 2.1).

    Returns
    -------
    tuple
        Moves between tiles, and moves inside a tile with one destination each.
    """
    wanted, owned = distinct(needed.boxes), distinct(held.boxes)
    here, there = take(needed.boxes, wanted.first), take(held.boxes, owned.first)
    want, own, shared = meeting(logical(here), logical(there))
    shared = _widened(take(here, want), take(there, own), shared, order, element_bytes)

    copies = np.diff(wanted.start)[want]
    pair = np.repeat(np.arange(len(want)), copies)
    receiver = wanted.holder[ranges(wanted.start[want], copies)]
    local = _on_tile(held.boxes.tile, owned.of, needed.boxes.tile[receiver], own[pair], tiles)
    is_local = local >= 0

    inside = single(
        held.number[local[is_local]],
        needed.number[receiver[is_local]],
        select(shared, pair[is_local]),
    )
    count = np.bincount(pair[~is_local], minlength=len(want))
    sent = np.flatnonzero(count)
    destination = needed.number[receiver[~is_local]]
    between = Moves(
        held.number[owned.first[own[sent]]],
        select(shared, sent),
        bounds_of(count[sent]),
        destination,
        np.zeros_like(destination),
    )
    return between, inside


def _on_tile(
    holder_tile: IntArray, holder_box: IntArray, tile: IntArray, box: IntArray, tiles: int
) -> IntArray:
    """Shard that holds rectangle ``box`` on ``tile``, or -1."""
    if not len(holder_tile) or not len(tile):
        return np.full(len(tile), -1, dtype=np.int64)
    key = holder_box * tiles + holder_tile
    order = np.argsort(key, kind="stable")
    asked = box * tiles + tile
    at = np.minimum(np.searchsorted(key[order], asked), len(order) - 1)
    return np.where(key[order][at] == asked, order[at], -1)
