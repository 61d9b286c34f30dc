"""What memory addresses forbid: order of overlapping spans (E5), shared elements (E6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.models.exchange.problem import BoolArray, IntArray, Problem
from ipuopt.target.memory import element_range


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

    Attributes
    ----------
    elements
        Number of hot elements.
    send_start, send_element
        Hot elements of transfer ``j``, over all its source addresses:
        ``send_element[send_start[j]:send_start[j + 1]]``, ascending.
    receive_start, receive_element
        The same for the spans written, by receiver.
    """

    elements: int
    send_start: IntArray
    send_element: IntArray
    receive_start: IntArray
    receive_element: IntArray


_ADDRESS_BITS = 32
"""Addresses are below 2^32: (tile, address) fits one integer."""


def precedence(problem: Problem) -> Precedence:
    """Pairs of (E5), without those that a chain of others implies."""
    receivers = np.diff(problem.destination_start)
    index = np.arange(len(problem), dtype=np.int64)
    iterations = problem.source_address.shape[1]
    tile = np.concatenate((np.repeat(problem.source, iterations), problem.destination_tile))
    transfer = np.concatenate((np.repeat(index, iterations), np.repeat(index, receivers)))
    low = np.concatenate((problem.source_address.ravel(), problem.destination_address))
    high = low + 4 * problem.words[transfer]
    writes = np.zeros(len(tile), np.bool_)
    writes[len(problem) * iterations :] = True
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


@kernel
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
    iterations = problem.source_address.shape[1]
    words = np.repeat(problem.words, np.diff(problem.destination_start))
    sender, sent = _touched(problem.source_address.ravel(), np.repeat(problem.words, iterations))
    sender //= iterations
    receiver, received = _touched(problem.destination_address, words)
    width = int(max(sent.max(initial=0), received.max(initial=0))) + 1
    if iterations > 1:
        sender, sent = np.divmod(np.unique(sender * width + sent), width)
    send_place = problem.source[sender] * width + sent
    receive_place = problem.destination_tile[receiver] * width + received
    shared, other = np.zeros((2, problem.tiles * width), np.bool_)
    shared[send_place] = True
    other[receive_place] = True
    shared &= other
    number: IntArray = np.cumsum(shared) - shared
    sends, receives = shared[send_place], shared[receive_place]
    return Hot(
        int(shared.sum()),
        np.searchsorted(sender[sends], np.arange(len(problem) + 1)),
        number[send_place[sends]],
        np.searchsorted(receiver[receives], np.arange(len(words) + 1)),
        number[receive_place[receives]],
    )


def _touched(address: IntArray, words: IntArray) -> tuple[IntArray, IntArray]:
    """Pairs of a span's index and an element that it touches, in order."""
    low, high = element_range(address, 4 * words)
    count = high - low + 1
    span = np.repeat(np.arange(len(low)), count)
    before = np.cumsum(count) - count
    return span, low[span] + np.arange(len(span)) - before[span]
