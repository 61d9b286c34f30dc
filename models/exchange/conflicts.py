"""What memory addresses forbid: order of overlapping spans (E5), shared elements (E6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ipuopt.compiled import small_kernel
from ipuopt.models.exchange.problem import IntArray, Problem
from ipuopt.target.memory import element_range

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Precedence:
    """Pairs (E5): ``after`` starts once the payload of ``before`` is complete.

    Pairs implied by a chain of others are left out. Sorted by ``after``; listed order is a
    topological order.
    """

    before: IntArray
    after: IntArray


@dataclass(frozen=True, slots=True)
class Hot:
    """Elements of a tile that both its sends and its receives touch, numbered over all tiles.

    A span touches the consecutive hot elements ``[first, first + count)``; the columns are by
    transfer for sends, by receiver for receives.
    """

    elements: int
    send_first: IntArray
    send_count: IntArray
    receive_first: IntArray
    receive_count: IntArray


_ADDRESS_BITS = 32
"""Addresses are below 2^32: (tile, address) fits one integer."""


def precedence(problem: Problem) -> Precedence:
    """Pairs of (E5), without those that a chain of others implies."""
    receivers = np.diff(problem.destination_start)
    index = np.arange(len(problem), dtype=np.int64)
    tile = np.concatenate((problem.source, problem.destination_tile))
    transfer = np.concatenate((index, np.repeat(index, receivers)))
    low = np.concatenate((problem.source_address, problem.destination_address))
    high = low + 4 * problem.words[transfer]
    writes = np.zeros(len(tile), np.bool_)
    writes[len(problem) :] = True
    # Only tiles where some spans overlap at all need the replay; most phases have none.
    order = np.argsort((tile << _ADDRESS_BITS) + low, kind="stable")
    starts = ((tile << _ADDRESS_BITS) + low)[order]
    stops = np.maximum.accumulate(((tile << _ADDRESS_BITS) + high)[order])
    touched = np.zeros(problem.tiles, np.bool_)
    touched[tile[order][1:][starts[1:] < stops[:-1]]] = True
    keep = np.flatnonzero(touched[tile])
    if not len(keep):
        return Precedence(keep, keep)
    keep = keep[np.lexsort((transfer[keep], tile[keep]))]
    pairs = _chain_pairs(tile[keep], low[keep], high[keep], writes[keep], transfer[keep])
    unique = np.unique(pairs, axis=1) if pairs.shape[1] else pairs
    return Precedence(*unique[:, np.argsort(unique[1], kind="stable")])


@small_kernel
def _chain_pairs(
    tile: IntArray, low: IntArray, high: IntArray, writes: BoolArray, transfer: IntArray
) -> IntArray:
    """Replay accesses in listed order; each segment knows its last writer and readers since.

    Arrays are sorted by (tile, transfer). Returns ``(before, after)`` as two rows.
    """
    capacity = 1024
    count = 0
    pairs = np.empty((2, capacity), np.int64)
    begin = 0
    while begin < len(tile):
        end = begin
        while end < len(tile) and tile[end] == tile[begin]:
            end += 1
        cuts = np.unique(np.concatenate((low[begin:end], high[begin:end])))
        covered = 0
        for access in range(begin, end):
            covered += np.searchsorted(cuts, high[access]) - np.searchsorted(cuts, low[access])
        writer = np.full(len(cuts), -1, np.int64)
        newest = np.full(len(cuts), -1, np.int64)  # readers of a segment: a linked list
        reader = np.empty(covered, np.int64)
        older = np.empty(covered, np.int64)
        links = 0
        for access in range(begin, end):
            first = np.searchsorted(cuts, low[access])
            for segment in range(first, np.searchsorted(cuts, high[access])):
                link = newest[segment] if writes[access] else -1
                while link >= 0 or (link == -1 and writer[segment] >= 0):
                    if link >= 0:
                        found = reader[link]
                        # Readers came after the writer, so they imply it: -2 ends the loop.
                        link = older[link] if older[link] >= 0 else -2
                    else:
                        found = writer[segment]
                        link = -2
                    if count == capacity:
                        capacity *= 2
                        wider = np.empty((2, capacity), np.int64)
                        wider[:, :count] = pairs
                        pairs = wider
                    pairs[0, count] = found
                    pairs[1, count] = transfer[access]
                    count += 1
                if writes[access]:
                    writer[segment] = transfer[access]
                    newest[segment] = -1
                else:
                    reader[links] = transfer[access]
                    older[links] = newest[segment]
                    newest[segment] = links
                    links += 1
        begin = end
    return pairs[:, :count].copy()


def hot_elements(problem: Problem) -> Hot:
    """Elements that a send and a receive of one tile share (E6)."""
    words = problem.words
    spread = np.repeat(words, np.diff(problem.destination_start))
    source, receiver = problem.source, problem.destination_tile
    send = element_range(problem.source_address, 4 * words)
    receive = element_range(problem.destination_address, 4 * spread)
    width = int(max(send[1].max(initial=0), receive[1].max(initial=0))) + 2
    sends = np.zeros((problem.tiles, width), np.bool_)
    receives = np.zeros((problem.tiles, width), np.bool_)
    for mask, tile, (low, high) in ((sends, source, send), (receives, receiver, receive)):
        for step in range(int((high - low).max(initial=0)) + 1):
            mask[tile, np.minimum(low + step, high)] = True
    shared = sends & receives
    # rank[tile, e]: hot elements before element e of the tile, over all tiles before it too
    rank: IntArray = (np.cumsum(shared.ravel()) - shared.ravel()).reshape(shared.shape)
    send_first = rank[source, send[0]]
    receive_first = rank[receiver, receive[0]]
    return Hot(
        int(shared.sum()),
        send_first,
        rank[source, send[1] + 1] - send_first,
        receive_first,
        rank[receiver, receive[1] + 1] - receive_first,
    )
