"""The problem while it is made smaller: nodes, tables, and memory in pieces over rows of time.

Choices that cost 10^18 or more are left out here. A solution without them costs less than 10^18 or
does not exist, so bounds of the graph hold for the problem up to that cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.models.assignment.problem import FORBIDDEN, IntArray, Problem


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of the nodes over rows of time; a node may have several pieces or none.

    Attributes
    ----------
    node
        Node of every piece, ascending.
    start, stop
        Rows ``start <= row < stop`` in which the piece lies.
    first
        Usages of piece ``p`` are ``first[p]..first[p + 1] - 1`` of ``usage``, one a label.
    usage
        Non-negative; the least of a piece is 0, since ``room`` has been lessened by it.
    room
        Most memory of all pieces together in each row.
    """

    node: IntArray
    start: IntArray
    stop: IntArray
    first: IntArray
    usage: IntArray
    room: IntArray

    def totals(self, used: IntArray) -> IntArray:
        """Sum in every row, for pieces that use ``used`` in each of theirs."""
        change = np.zeros(len(self.room) + 1, dtype=np.int64)
        np.add.at(change, self.start, used)
        np.add.at(change, self.stop, -used)
        return np.cumsum(change)[:-1]


@dataclass(frozen=True, slots=True)
class Graph:
    """Costs of labels and of pairs, without forbidden strategies.

    Attributes
    ----------
    first, cost
        Labels of node ``i`` are ``first[i]..first[i + 1] - 1`` of ``cost``.
    tail, head, table_first, table
        Edges and their tables as in :class:`~ipuopt.models.assignment.problem.Problem`, one edge
        at most between two nodes, ``tail < head``; ``FORBIDDEN`` for pairs that are left out.
    memory
        Pieces and rows.
    constant
        Cost that every solution has besides.
    """

    first: IntArray
    cost: IntArray
    tail: IntArray
    head: IntArray
    table_first: IntArray
    table: IntArray
    memory: Memory
    constant: int = 0

    @property
    def sizes(self) -> IntArray:
        """Labels of every node."""
        return np.diff(self.first)

    @property
    def widest(self) -> int:
        """Most labels of a node, at least 1."""
        return int(self.sizes.max(initial=1))

    def links(self) -> tuple[IntArray, IntArray]:
        """Edges of every node, ascending: node ``i`` has those from ``first[i]`` to ``first[i + 1]``."""
        ends = np.concatenate((self.tail, self.head))
        edges = np.tile(np.arange(len(self.tail)), 2)
        order = np.lexsort((edges, ends))
        return offsets(np.bincount(ends, minlength=len(self.first) - 1)), edges[order]

    def pieces(self) -> IntArray:
        """First piece of memory of every node, and the end of the last."""
        return np.searchsorted(self.memory.node, np.arange(len(self.first)))

    def cells(self, labels: IntArray) -> IntArray:
        """Place in ``table`` of the pair that ``labels`` choose on every edge."""
        row = labels[self.tail] * self.sizes[self.head]
        return self.table_first[:-1] + row + labels[self.head]


def offsets(sizes: IntArray) -> IntArray:
    """Begin of every part in a row of parts of these sizes, and the end of the last."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))


def graph_of(problem: Problem) -> Graph:
    """The problem as it is; parallel edges are still apart, tails may come after heads.

    Rows are the times after which something ends: memory in use is largest just before an end.
    """
    rows, start, stop = _rows(problem)
    pieces = np.flatnonzero(start < stop)
    sizes = np.diff(problem.first)[pieces]
    first = offsets(sizes)
    entries = np.repeat(problem.first[pieces] - first[:-1], sizes) + np.arange(first[-1])
    # Without a limit there are no rows: nothing can bind.
    room = np.full(rows, problem.limit or 0, dtype=np.int64)
    memory = Memory(pieces, start[pieces], stop[pieces], first, problem.usage[entries], room)
    return Graph(
        problem.first,
        np.minimum(problem.cost, FORBIDDEN),
        problem.tail,
        problem.head,
        problem.table_first,
        np.minimum(problem.table, FORBIDDEN),
        memory,
    )


def _rows(problem: Problem) -> tuple[int, IntArray, IntArray]:
    """Number of rows, and the rows of every node; none without a limit."""
    live = problem.start < problem.stop
    if problem.limit is None or not live.any():
        nothing = np.zeros(len(problem), dtype=np.int64)
        return 0, nothing, nothing
    starts, stops = np.unique(problem.start[live]), np.unique(problem.stop[live])
    following = np.append(starts[1:], np.iinfo(np.int64).max)
    # Of the starts up to the next end only the last counts: nothing ends before it.
    times = starts[stops[np.searchsorted(stops, starts, side="right")] <= following]
    start, stop = np.searchsorted(times, problem.start), np.searchsorted(times, problem.stop)
    return len(times), start, np.where(live, stop, start)
