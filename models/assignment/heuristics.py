"""Large-neighbourhood search: a forest of nodes is chosen anew at a time, the others stay.

How a forest is chosen is in :mod:`~ipuopt.models.assignment.reselection`. Costs may hold prices of
memory: with them the search gathers room, without them it spends it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.models.assignment.decoding import decode
from ipuopt.models.assignment.graph import Graph
from ipuopt.models.assignment.messages import FloatArray, Passing
from ipuopt.models.assignment.moves import Columns, Tables
from ipuopt.models.assignment.problem import IntArray
from ipuopt.models.assignment.range_tree import range_tree
from ipuopt.models.assignment.reselection import improve


@dataclass(slots=True)
class Place:
    """A choice of labels and the memory that it uses, as the search changes them.

    Attributes
    ----------
    labels
        Of every node.
    most, added
        Tree of use minus room.
    """

    labels: IntArray
    most: IntArray
    added: IntArray


@dataclass(frozen=True, slots=True)
class Searchable:
    """Columns that the kernels share."""

    graph: Graph
    edges: Columns
    tables: Tables
    memory: Columns

    @classmethod
    def of(cls, graph: Graph, passing: Passing) -> Searchable:
        """Columns of a graph; shares the tables of ``passing``."""
        memory = graph.memory
        edges = (
            graph.first,
            graph.tail,
            graph.head,
            graph.table_first,
            passing.link_first,
            passing.link,
        )
        pieces = (graph.pieces(), memory.start, memory.stop, memory.first, memory.usage)
        return cls(graph, edges, (passing.table, passing.turned), pieces)

    def use(self, labels: IntArray) -> IntArray:
        """Memory in use beyond the room of every row."""
        memory = self.graph.memory
        used = memory.usage[memory.first[:-1] + labels[memory.node]]
        return memory.totals(used) - memory.room

    def cost(self, labels: IntArray) -> int:
        """Cost of all labels, without the constant; ``FORBIDDEN`` pairs count as such."""
        graph = self.graph
        pairs = graph.table[graph.cells(labels)]
        total: int = sum(graph.cost[graph.first[:-1] + labels].tolist()) + sum(pairs.tolist())
        return total

    def place(self, labels: IntArray) -> Place:
        """The search at ``labels``; rows that are over their room may stay so, not get worse."""
        return Place(labels.copy(), *range_tree(np.minimum(self.use(labels), 0)))

    def decode(self, passing: Passing, cost: FloatArray) -> IntArray:
        """Labels chosen one after the other by costs and messages, where they fit."""
        most, added = range_tree(-self.graph.memory.room)
        labels = np.full(len(self.graph.first) - 1, -1, dtype=np.int64)
        messages = (
            passing.to_tail_first,
            passing.to_head_first,
            passing.to_tail,
            passing.to_head,
        )
        decode(self.edges, self.tables, messages, self.memory, cost, most, added, labels)
        return labels

    def improve(self, place: Place, cost: FloatArray, blocks: int, size: int, seed: int) -> None:
        """Choose ``blocks`` forests of up to ``size`` nodes anew."""
        state = (place.labels, place.most, place.added)
        columns = (self.edges, self.tables, self.memory)
        improve(*columns, cost, *state, self.graph.widest, blocks, size, seed)
