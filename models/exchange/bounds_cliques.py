"""Cliques of sends and receives of one tile that exclude each other by shared elements (E6).

Sends exclude each other, so do receives. A set of sends and a set of receives of which every pair
shares an element is one machine. The heaviest such sets leave out, of the graph of pairs that share
none, a least vertex cover, which is a least cut (Koenig); spans with equal elements are one node.
By the same duality no preemptive schedule without heads and tails overlaps them more.
"""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import kernel
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
    tiles = np.arange(problem.tiles + 1)
    first = np.full(problem.tiles, np.iinfo(np.int64).max)
    owner = np.repeat(problem.source, np.diff(hot.send_start))
    np.minimum.at(first, owner, hot.send_element)
    chosen = _choose(
        np.searchsorted(problem.source[sends], tiles),
        np.searchsorted(problem.destination_tile[receives], tiles),
        _masks(hot.send_start, hot.send_element, first[owner])[sends],
        _masks(
            hot.receive_start,
            hot.receive_element,
            first[np.repeat(problem.destination_tile, np.diff(hot.receive_start))],
        )[receives],
        send[sends],
        receive[receives],
    )
    return sends[chosen[0]], receives[chosen[1]]


def _masks(start: IntArray, element: IntArray, first: IntArray) -> IntArray:
    """Elements of each span as bits, counted from the first of the tile; -1 where too many."""
    place = element - first
    span = np.repeat(np.arange(len(start) - 1), np.diff(start))
    masks = np.zeros(len(start) - 1, np.int64)
    np.bitwise_or.at(masks, span, np.left_shift(1, np.minimum(place, ELEMENTS - 1)))
    masks[span[place >= ELEMENTS]] = -1
    return masks


@kernel
def _choose(
    send_bounds: IntArray,
    receive_bounds: IntArray,
    send_mask: IntArray,
    receive_mask: IntArray,
    send: IntArray,
    receive: IntArray,
) -> tuple[BoolArray, BoolArray]:
    """Members of the cliques, all spans sorted by tile."""
    in_send = np.zeros(len(send), np.bool_)
    in_receive = np.zeros(len(receive), np.bool_)
    for tile in range(len(send_bounds) - 1):
        ours = slice(send_bounds[tile], send_bounds[tile + 1])
        theirs = slice(receive_bounds[tile], receive_bounds[tile + 1])
        out, into = np.unique(send_mask[ours]), np.unique(receive_mask[theirs])
        if not len(out) or not len(into) or out[-1] <= 0 or out[0] < 0 or into[0] < 0:
            continue
        give = np.zeros(len(out), np.int64)
        take = np.zeros(len(into), np.int64)
        for k in range(send_bounds[tile], send_bounds[tile + 1]):
            give[np.searchsorted(out, send_mask[k])] += send[k]
        for k in range(receive_bounds[tile], receive_bounds[tile + 1]):
            take[np.searchsorted(into, receive_mask[k])] += receive[k]
        from_left, from_right = _least_cut(out, into, give, take)
        if not from_left.any() or from_right.all():
            continue
        for k in range(send_bounds[tile], send_bounds[tile + 1]):
            in_send[k] = from_left[np.searchsorted(out, send_mask[k])]
        for k in range(receive_bounds[tile], receive_bounds[tile + 1]):
            in_receive[k] = not from_right[np.searchsorted(into, receive_mask[k])]
    return in_send, in_receive


@kernel
def _least_cut(
    out: IntArray, into: IntArray, give: IntArray, take: IntArray
) -> tuple[BoolArray, BoolArray]:
    """Nodes on the source's side of a least cut; arcs join masks without a common bit.

    Augmenting paths; ``give`` and ``take`` are used up.
    """
    flow = np.zeros((len(out), len(into)), np.int64)
    while True:
        left = give > 0
        right = np.zeros(len(into), np.bool_)
        to_left = np.full(len(out), -1, np.int64)
        to_right = np.full(len(into), -1, np.int64)
        queue = [0]
        queue.clear()
        for one in range(len(out)):
            if left[one]:
                queue.append(one)
        end = -1
        while queue and end < 0:
            one = queue.pop()
            for other in range(len(into)):
                if right[other] or out[one] & into[other]:
                    continue
                right[other] = True
                to_right[other] = one
                if take[other] > 0:
                    end = other
                    break
                for back in range(len(out)):
                    if not left[back] and flow[back, other] > 0:
                        left[back] = True
                        to_left[back] = other
                        queue.append(back)
        if end < 0:
            return left, right
        amount, other = take[end], end
        while True:
            one = to_right[other]
            other = to_left[one]
            if other < 0:
                amount = min(amount, give[one])
                break
            amount = min(amount, flow[one, other])
        take[end] -= amount
        other = end
        while other >= 0:
            one = to_right[other]
            flow[one, other] += amount
            other = to_left[one]
            if other >= 0:
                flow[one, other] -= amount
            else:
                give[one] -= amount
