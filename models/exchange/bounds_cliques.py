"""Cliques of sends and receives of one tile that exclude each other by shared elements (E6).

Sends exclude each other, so do receives. A set of sends and a set of receives of which every pair
shares an element is one machine. The heaviest such sets leave out, of the graph of pairs that share
none, a least vertex cover, which is a least cut (Koenig); spans with equal elements are one node.
By the same duality no preemptive schedule without heads and tails overlaps them more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipuopt.compiled import small_kernel
from ipuopt.models.exchange.conflicts import Hot
from ipuopt.models.exchange.problem import BoolArray, IntArray, Problem

ELEMENTS = 63
"""Most shared elements of a tile that are looked at: the bits of a mask. C600 tiles have 45."""


def heaviest(
    problem: Problem, hot: Hot, send: IntArray, receive: IntArray
) -> tuple[IntArray, IntArray]:
    """Transfers and receivers in the heaviest clique of their tile that has both.

    Parameters
    ----------
    problem, hot
        The phase and its shared elements.
    send, receive
        Weights, by transfer and by receiver.
    """
    sends = np.argsort(problem.source, kind="stable")
    receives = np.argsort(problem.destination_tile, kind="stable")
    first = np.full(problem.tiles, np.iinfo(np.int64).max)
    owner = np.repeat(problem.source, np.diff(hot.send_start))
    np.minimum.at(first, owner, hot.send_element)
    theirs = first[np.repeat(problem.destination_tile, np.diff(hot.receive_start))]
    out = _nodes(problem.source, _masks(hot.send_start, hot.send_element, first[owner]), send)
    into = _nodes(
        problem.destination_tile, _masks(hot.receive_start, hot.receive_element, theirs), receive
    )
    left = np.zeros(len(out.mask), np.bool_)
    right = np.zeros(len(into.mask), np.bool_)
    searched = _searched(problem.tiles, out, into)
    ours, them = (np.searchsorted(side.tile, (searched, searched + 1)) for side in (out, into))
    sizes = (ours[1] - ours[0]).max(initial=0), (them[1] - them[0]).max(initial=0)
    _cut_all(
        (ours[0], ours[1], them[0], them[1]),
        (out.mask, into.mask, out.weight, into.weight),
        (left, right),
        np.empty(sizes, np.int64),
        np.empty((3, max(sizes, default=0)), np.int64),
    )
    # A cut with nothing on one side leaves no clique that has both.
    good = np.zeros(problem.tiles, np.bool_)
    good[out.tile[left]] = True
    both = np.zeros(problem.tiles, np.bool_)
    both[into.tile[~right]] = True
    good &= both
    return (
        sends[(left & good[out.tile])[out.node[sends]]],
        receives[(~right & good[into.tile])[into.node[receives]]],
    )


def _masks(start: IntArray, element: IntArray, first: IntArray) -> IntArray:
    """Elements of each span as bits, counted from the first of the tile; -1 where too many."""
    place = element - first
    span = np.repeat(np.arange(len(start) - 1), np.diff(start))
    masks = np.zeros(len(start) - 1, np.int64)
    np.bitwise_or.at(masks, span, np.left_shift(1, np.minimum(place, ELEMENTS - 1)))
    masks[span[place >= ELEMENTS]] = -1
    return masks


class _Nodes(NamedTuple):
    """Spans of a tile that touch the same elements, sorted by (tile, mask), and that of each span."""

    tile: IntArray
    mask: IntArray
    weight: IntArray
    node: IntArray


def _nodes(tile: IntArray, mask: IntArray, weight: IntArray) -> _Nodes:
    order = np.lexsort((mask, tile))
    fresh = (np.diff(tile[order], prepend=-1) != 0) | (np.diff(mask[order], prepend=-2) != 0)
    begin = np.flatnonzero(fresh)
    node = np.empty_like(order)
    node[order] = np.cumsum(fresh) - 1
    total = np.add.reduceat(weight[order], begin) if len(begin) else weight
    return _Nodes(tile[order][begin], mask[order][begin], total, node)


def _searched(tiles: int, out: _Nodes, into: _Nodes) -> IntArray:
    """Tiles that send from shared elements, and have no span of too many elements."""
    sends, receives, bad = np.zeros((3, tiles), np.bool_)
    sends[out.tile[out.mask > 0]] = True
    receives[into.tile] = True
    for side in (out, into):
        bad[side.tile[side.mask < 0]] = True
    return np.flatnonzero(sends & receives & ~bad)


@small_kernel
def _cut_all(
    bounds: tuple[IntArray, IntArray, IntArray, IntArray],
    nodes: tuple[IntArray, IntArray, IntArray, IntArray],
    sides: tuple[BoolArray, BoolArray],
    flow: IntArray,
    scratch: IntArray,
) -> None:
    """Nodes on the source's side of a least cut of each tile; weights are used up.

    Arcs join masks without a common bit: augmenting paths. ``flow`` and ``scratch`` have room for
    the nodes of any tile.
    """
    for tile in range(len(bounds[0])):
        ours, theirs = bounds[0][tile], bounds[2][tile]
        count, other_count = bounds[1][tile] - ours, bounds[3][tile] - theirs
        out, into, give, take = nodes
        left, right = sides
        to_left, to_right, queue = scratch
        for one in range(count):
            for other in range(other_count):
                flow[one, other] = 0
        while True:
            size = 0
            for one in range(count):
                left[ours + one] = give[ours + one] > 0
                to_left[one] = -1
                if left[ours + one]:
                    queue[size] = one
                    size += 1
            for other in range(other_count):
                right[theirs + other] = False
                to_right[other] = -1
            end = -1
            while size and end < 0:
                size -= 1
                one = queue[size]
                for other in range(other_count):
                    if right[theirs + other] or out[ours + one] & into[theirs + other]:
                        continue
                    right[theirs + other] = True
                    to_right[other] = one
                    if take[theirs + other] > 0:
                        end = other
                        break
                    for back in range(count):
                        if not left[ours + back] and flow[back, other] > 0:
                            left[ours + back] = True
                            to_left[back] = other
                            queue[size] = back
                            size += 1
            if end < 0:
                break
            amount, other = take[theirs + end], end
            while other >= 0:
                one = to_right[other]
                other = to_left[one]
                amount = min(amount, flow[one, other] if other >= 0 else give[ours + one])
            take[theirs + end] -= amount
            other = end
            while other >= 0:
                one = to_right[other]
                flow[one, other] += amount
                other = to_left[one]
                if other >= 0:
                    flow[one, other] -= amount
                else:
                    give[ours + one] -= amount
