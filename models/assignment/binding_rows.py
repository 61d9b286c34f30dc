"""Rows of memory that can bind: the others hold for every choice, or follow from a row before."""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.models.assignment.contract import select_pieces
from ipuopt.models.assignment.graph import Graph, Memory, offsets
from ipuopt.models.assignment.problem import BoolArray, IntArray


def binding_memory(graph: Graph) -> Memory:
    """The memory of ``graph`` without the rows that do not matter, and what lies in them alone.

    A row does not matter if all nodes fit at their most, or if it holds whenever one near it does:
    the most that any choice uses in it beyond the other one is no more than the room it has beyond.
    """
    memory = graph.memory
    if not len(memory.node):
        return memory
    most = np.maximum.reduceat(memory.usage, memory.first[:-1])
    memory = _within(memory, memory.totals(most) > memory.room)
    if not len(memory.room):
        return memory
    keep = np.ones(len(memory.room), dtype=np.bool_)
    starts, stops = (np.argsort(ends, kind="stable") for ends in (memory.start, memory.stop))
    pieces = (memory.node, memory.start, memory.stop, memory.first, memory.usage)
    _follow(graph.first, pieces, starts, stops, memory.room, keep)
    return _within(memory, keep)


def _within(memory: Memory, keep: BoolArray) -> Memory:
    """The marked rows."""
    if keep.all():
        return memory
    place = offsets(keep.astype(np.int64))
    start, stop = place[memory.start], place[memory.stop]
    left = Memory(memory.node, start, stop, memory.first, memory.usage, memory.room[keep])
    return select_pieces(left, start < stop)


@kernel
def _follow(
    first: IntArray,
    pieces: tuple[IntArray, IntArray, IntArray, IntArray, IntArray],
    starts: IntArray,
    stops: IntArray,
    room: IntArray,
    keep: BoolArray,
) -> None:
    """Unmark rows that follow from the last marked one, and marked ones that follow from the next."""
    node, start, stop, usage_first, usage = pieces
    # Use of every label in this row beyond that in the last marked one; largest and least by node.
    beyond = np.zeros(first[-1], dtype=np.int64)
    largest, least = np.zeros((2, len(first) - 1), dtype=np.int64)
    changed = np.empty(len(first) - 1, dtype=np.int64)
    marked = np.zeros(len(first) - 1, dtype=np.bool_)
    count, last = 0, 0
    more = less = 0
    begins = ends = 0
    while begins < len(starts) and start[starts[begins]] == 0:
        begins += 1
    for row in range(1, len(room)):
        while True:
            if ends < len(stops) and stop[stops[ends]] == row:
                piece, sign = stops[ends], -1
                ends += 1
            elif begins < len(starts) and start[starts[begins]] == row:
                piece, sign = starts[begins], 1
                begins += 1
            else:
                break
            owner = node[piece]
            if not marked[owner]:
                marked[owner] = True
                changed[count] = owner
                count += 1
            more -= largest[owner]
            less -= least[owner]
            high = low = beyond[first[owner]] + sign * usage[usage_first[piece]]
            for label in range(first[owner + 1] - first[owner]):
                value = beyond[first[owner] + label] + sign * usage[usage_first[piece] + label]
                beyond[first[owner] + label] = value
                high, low = max(high, value), min(low, value)
            largest[owner], least[owner] = high, low
            more += high
            less += low
        if more <= room[row] - room[last]:
            keep[row] = False
            continue
        if -less <= room[last] - room[row]:
            keep[last] = False
        for at in range(count):
            owner = changed[at]
            beyond[first[owner] : first[owner + 1]] = 0
            largest[owner] = least[owner] = 0
            marked[owner] = False
        count = more = less = 0
        last = row
