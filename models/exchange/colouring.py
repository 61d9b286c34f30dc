"""An order for phases of single receivers: matchings of senders and receivers one after another."""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import small_kernel
from ipuopt.models.exchange.claims import Int32Array
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.orders import topological
from ipuopt.models.exchange.problem import IntArray

MOST_CELLS = 1 << 26
"""Tiles times colours up to which the tables are made (256 MiB each)."""


def by_matching(phase: Instance) -> IntArray | None:
    """Order by the colours of an edge colouring; None if a transfer has several receivers.

    Transfers of one colour form a matching: no tile sends or receives two of them, so they can
    pass at a time. A bipartite graph needs no more colours than the most transfers of a tile
    (König 1916), so with transfers of equal length nothing waits in vain. Long transfers are
    coloured first, and so share colours with long ones.
    """
    count = len(phase.words)
    if len(phase.receiver) != count:
        return None
    degree = np.concatenate((np.bincount(phase.source), np.bincount(phase.receiver)))
    colours = int(degree.max(initial=0))
    if colours * phase.tiles > MOST_CELLS:
        return None
    order = np.argsort(-phase.words, kind="stable")
    at = np.full((2, phase.tiles, colours), -1, np.int32)
    colour = np.full(count, -1, np.int64)
    _colour(phase.source, phase.receiver, order, at, colour)
    return topological(phase, colour)


@small_kernel
def _colour(
    sources: IntArray, receivers: IntArray, order: IntArray, at: Int32Array, colour: IntArray
) -> None:
    """Colour each transfer; conflicts are mended by swapping two colours along a path.

    ``at`` is the transfer of each sender, and of each receiver, in each colour.
    """
    for transfer in order:
        source, receiver = sources[transfer], receivers[transfer]
        one, other = 0, 0
        while at[0, source, one] >= 0:
            one += 1
        while at[1, receiver, other] >= 0:
            other += 1
        if at[1, receiver, one] >= 0:
            # ``other`` is free at the receiver, ``one`` at the source: along the path that leaves
            # the receiver with colour ``one`` both are swapped; it cannot reach the source.
            side, tile, now, then = 1, receiver, one, other
            moved = at[side, tile, now]
            at[side, tile, now] = -1
            while moved >= 0:
                side = 1 - side
                far = receivers[moved] if side else sources[moved]
                near = sources[moved] if side else receivers[moved]
                following = at[side, far, then]
                at[1 - side, near, then] = moved
                at[side, far, then] = moved
                if at[side, far, now] == moved:
                    at[side, far, now] = -1
                colour[moved] = then
                moved = following
                now, then = then, now
        colour[transfer] = one
        at[0, source, one] = transfer
        at[1, receiver, one] = transfer
