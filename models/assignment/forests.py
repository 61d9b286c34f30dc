"""Forests for the search: nodes of which each has one neighbour at most before it."""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.models.assignment.moves import Columns
from ipuopt.models.assignment.problem import IntArray


@kernel
def _random(state: IntArray, below: int) -> int:
    """A number from 0 to ``below - 1`` (xorshift of 64 bits, Marsaglia 2003)."""
    value = np.uint64(state[0])
    value ^= value << np.uint64(13)
    value ^= value >> np.uint64(7)
    value ^= value << np.uint64(17)
    state[0] = np.int64(value)
    return int(np.int64((value >> np.uint64(11)) % np.uint64(below)))


@kernel
def grow_forest(
    edges: Columns,
    memory: Columns,
    size: int,
    state: IntArray,
    touched: IntArray,
    nodes: IntArray,
    parent: IntArray,
    link_of: IntArray,
    waiting: IntArray,
) -> int:
    """Grow an induced forest; returns the number of its nodes.

    ``touched`` counts the neighbours in the forest, negative for its own nodes; it is reset by the
    caller. A new tree begins at a node that shares rows of memory with the forest, if one is found.
    """
    first, tail, head, _, link_first, link = edges
    piece_first, start, stop, _, _ = memory
    total = len(first) - 1
    pieces = len(start)
    count, waits = 0, 0
    root = _random(state, total)
    tree = 1 + _random(state, size)
    while count < size:
        # A new root, or a neighbour of the forest that has no other neighbour in it.
        node, of, by = root, -1, -1
        if root < 0:
            if waits == 0 or tree == 0:
                for _ in range(16):
                    if count == 0 or pieces == 0:
                        break
                    owner = nodes[_random(state, count)]
                    span = piece_first[owner + 1] - piece_first[owner]
                    if span == 0:
                        continue
                    piece = piece_first[owner] + _random(state, span)
                    row = start[piece] + _random(state, stop[piece] - start[piece])
                    other = _random(state, pieces)
                    if start[other] <= row < stop[other]:
                        found = int(np.searchsorted(piece_first, other, side="right")) - 1
                        if touched[found] == 0:
                            root = found
                            break
                if root < 0:
                    return count
                tree = 1 + _random(state, size)
                waits = 0
                continue
            pick = _random(state, waits)
            of, by = waiting[pick, 0], waiting[pick, 1]
            waits -= 1
            waiting[pick, 0], waiting[pick, 1] = waiting[waits, 0], waiting[waits, 1]
            node = tail[by] + head[by] - nodes[of]
            if touched[node] != 1:
                continue
        root = -1
        tree -= 1
        nodes[count], parent[count], link_of[count] = node, of, by
        touched[node] -= 1 << 40
        for place in range(link_first[node], link_first[node + 1]):
            edge = link[place]
            other = tail[edge] + head[edge] - node
            touched[other] += 1
            if touched[other] == 1 and waits < len(waiting):
                waiting[waits, 0], waiting[waits, 1] = count, edge
                waits += 1
        count += 1
    return count
