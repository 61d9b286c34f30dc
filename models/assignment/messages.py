r"""Message passing: costs are moved between nodes and tables until the sum of minima settles.

Every edge has one message to each end: what was taken from its table and added to the node. With
messages :math:`m` every solution costs what the moved costs say, so

.. math:: \sum_i \min_x \Big(c_i(x) + \sum_{e \ni i} m_{e,i}(x)\Big)
          + \sum_{e=(i,j)} \min_{x,y} \big(T_e(x,y) - m_{e,i}(x) - m_{e,j}(y)\big)

bounds all of them from below. A pass visits the nodes in order: each takes over what the tables
behind it offer and leaves equal shares with the tables ahead (sequential tree-reweighted message
passing, Kolmogorov 2006, doi:10.1109/TPAMI.2006.200). Passes use floating point; no claim rests on
them, see :mod:`ipuopt.models.assignment.bounds`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ipuopt.compiled import kernel
from ipuopt.models.assignment.graph import Graph, offsets
from ipuopt.models.assignment.problem import FORBIDDEN, IntArray

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Passing:
    """Tables and messages of a graph, laid out for passes.

    Attributes
    ----------
    first, tail, head, table_first
        As in the graph.
    link_first, link
        Edges of every node, by the number of the other end.
    table, turned
        Costs of the pairs with the tail's label as row, and with the head's; infinite if forbidden.
    to_tail_first, to_head_first
        Where the messages of an edge begin.
    to_tail, to_head
        Messages; changed by every pass.
    """

    first: IntArray
    tail: IntArray
    head: IntArray
    table_first: IntArray
    link_first: IntArray
    link: IntArray
    table: FloatArray
    turned: FloatArray
    to_tail_first: IntArray
    to_head_first: IntArray
    to_tail: FloatArray
    to_head: FloatArray

    @classmethod
    def of(cls, graph: Graph) -> Passing:
        """No message yet."""
        sizes = graph.sizes
        to_tail_first, to_head_first = offsets(sizes[graph.tail]), offsets(sizes[graph.head])
        link_first, link = graph.links()
        table = np.where(graph.table < FORBIDDEN, graph.table, np.inf)
        turned = np.empty_like(table)
        _turn(graph.table_first, sizes[graph.tail], sizes[graph.head], table, turned)
        return cls(
            graph.first,
            graph.tail,
            graph.head,
            graph.table_first,
            link_first,
            _by_other_end(graph, link_first, link),
            table,
            turned,
            to_tail_first,
            to_head_first,
            np.zeros(to_tail_first[-1]),
            np.zeros(to_head_first[-1]),
        )

    def sweep(self, cost: FloatArray, moved: FloatArray) -> float:
        """One pass backwards and one forwards; returns the bound in floating point.

        Parameters
        ----------
        cost
            Of the labels, with what memory adds to them.
        moved
            Set to the costs that the labels of every node had when it was visited, least 0.
        """
        columns = (
            self.first,
            self.tail,
            self.head,
            self.table_first,
            self.link_first,
            self.link,
            self.to_tail_first,
            self.to_head_first,
        )
        messages = (self.table, self.turned, self.to_tail, self.to_head)
        _pass(columns, messages, cost, moved, False)
        return _pass(columns, messages, cost, moved, True)


def _by_other_end(graph: Graph, link_first: IntArray, link: IntArray) -> IntArray:
    owner = np.repeat(np.arange(len(link_first) - 1), np.diff(link_first))
    other = graph.tail[link] + graph.head[link] - owner
    return link[np.lexsort((other, owner))]


@kernel
def _turn(
    first: IntArray, rows: IntArray, columns: IntArray, table: FloatArray, turned: FloatArray
) -> None:
    for edge in range(len(rows)):
        begin = first[edge]
        for row in range(rows[edge]):
            for column in range(columns[edge]):
                value = table[begin + row * columns[edge] + column]
                turned[begin + column * rows[edge] + row] = value


@kernel
def _offer(cells: FloatArray, given: FloatArray, taken: FloatArray) -> None:
    """``taken[y] = min over x of cells[x, y] - given[x]``, cells row by row."""
    grid = cells.reshape(len(given), len(taken))
    less = given[0]
    for column in range(len(taken)):
        taken[column] = grid[0, column] - less
    for row in range(1, len(given)):
        less = given[row]
        for column in range(len(taken)):
            value = grid[row, column] - less
            # Not min(): its care for NaN keeps the compiler from using vectors.
            taken[column] = value if value < taken[column] else taken[column]  # noqa: FURB136


@kernel
def _pass(
    columns: tuple[IntArray, ...],
    messages: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    cost: FloatArray,
    moved: FloatArray,
    forwards: bool,
) -> float:
    first, tail, _, table_first, link_first, link, to_tail_first, to_head_first = columns
    table, turned, to_tail, to_head = messages
    bound = 0.0
    nodes = len(first) - 1
    for step in range(nodes):
        node = step if forwards else nodes - 1 - step
        begin, stop = first[node], first[node + 1]
        for label in range(begin, stop):
            moved[label] = cost[label]
        ahead = 0
        for place in range(link_first[node], link_first[node + 1]):
            edge = link[place]
            of_tail = to_tail_first[edge], to_tail_first[edge + 1]
            of_head = to_head_first[edge], to_head_first[edge + 1]
            if tail[edge] == node:
                if forwards:
                    ahead += 1
                else:
                    _offer(
                        turned[table_first[edge] : table_first[edge + 1]],
                        to_head[of_head[0] : of_head[1]],
                        to_tail[of_tail[0] : of_tail[1]],
                    )
                for label in range(begin, stop):
                    moved[label] += to_tail[of_tail[0] + label - begin]
            else:
                if forwards:
                    _offer(
                        table[table_first[edge] : table_first[edge + 1]],
                        to_tail[of_tail[0] : of_tail[1]],
                        to_head[of_head[0] : of_head[1]],
                    )
                else:
                    ahead += 1
                for label in range(begin, stop):
                    moved[label] += to_head[of_head[0] + label - begin]
        least = moved[begin]
        for label in range(begin, stop):
            least = min(least, moved[label])
        bound += least
        for label in range(begin, stop):
            moved[label] -= least
        if ahead == 0:
            continue
        share = 1.0 / max(ahead, link_first[node + 1] - link_first[node] - ahead)
        for place in range(link_first[node], link_first[node + 1]):
            edge = link[place]
            if (tail[edge] == node) != forwards:
                continue
            if forwards:
                at = to_tail_first[edge] - begin
                for label in range(begin, stop):
                    to_tail[at + label] -= share * moved[label]
            else:
                at = to_head_first[edge] - begin
                for label in range(begin, stop):
                    to_head[at + label] -= share * moved[label]
    return bound
