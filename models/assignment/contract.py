"""One graph from another: nodes are fixed or glued, labels are left out, parallel edges are added.

Every node goes to one node of the new graph, whose labels decide its own: that is all that a step of
the presolve needs to make its graph, and all that is needed to read a solution back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.models.assignment.graph import Graph, Memory, offsets
from ipuopt.models.assignment.problem import FORBIDDEN, BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Mapping:
    """Where the nodes of a graph go.

    Attributes
    ----------
    node
        New node of every old one; -1 where its label is fixed.
    first
        Old labels of node ``i`` are ``first[i]..first[i + 1] - 1`` of ``label``: one for every
        label of its new node, or the one that is fixed.
    label
        Old labels.
    """

    node: IntArray
    first: IntArray
    label: IntArray

    def lift(self, labels: IntArray) -> IntArray:
        """Labels of the old nodes for labels of the new ones."""
        chosen = np.where(self.node < 0, 0, np.append(labels, 0)[self.node])
        return self.label[self.first[:-1] + chosen]


def identity(graph: Graph) -> Mapping:
    """Nothing changes but that parallel edges are added."""
    labels = np.arange(graph.first[-1]) - np.repeat(graph.first[:-1], graph.sizes)
    return Mapping(np.arange(len(graph.first) - 1), graph.first, labels)


def kept_labels(graph: Graph, keep: IntArray) -> Mapping:
    """Leave out labels that are not marked; nodes with a single one left are fixed."""
    counts = np.add.reduceat(keep, graph.first[:-1]) if len(keep) else keep
    whole = identity(graph)
    several = counts > 1
    node = np.where(several, np.cumsum(several) - 1, -1)
    return Mapping(node, offsets(counts), whole.label[keep.astype(np.bool_)])


def contract(graph: Graph, mapping: Mapping) -> Graph:
    """The graph of the new nodes; costs and memory of every solution stay."""
    old_node, label_first = mapping.node, mapping.first
    nodes = int(old_node.max(initial=-1)) + 1
    sizes = np.zeros(nodes, dtype=np.int64)
    inside = old_node >= 0
    sizes[old_node[inside]] = np.diff(label_first)[inside]
    first = offsets(sizes)
    ends = np.sort(np.stack((old_node[graph.tail], old_node[graph.head])), axis=0)
    real = (ends[0] >= 0) & (ends[0] != ends[1])
    keys, place = np.unique(ends[0][real] * max(1, nodes) + ends[1][real], return_inverse=True)
    tail, head = keys // max(1, nodes), keys % max(1, nodes)
    slot = np.full(len(graph.tail), -1, dtype=np.int64)
    slot[real] = place
    table_first = offsets(sizes[tail] * sizes[head])
    cost, table = np.zeros(first[-1], np.int64), np.zeros(table_first[-1], np.int64)
    constant = _add_nodes(
        graph.first, graph.cost, old_node, label_first, mapping.label, first, cost
    )
    constant += _add_edges(
        (graph.tail, graph.head, graph.table_first, graph.table, graph.first),
        (old_node, label_first, mapping.label),
        slot,
        (first, cost, tail, table_first, table),
    )
    memory = _memory(graph.memory, mapping, sizes)
    return Graph(
        first, cost, tail, head, table_first, table, memory, graph.constant + int(constant)
    )


@kernel
def _add_nodes(
    old_first: IntArray,
    old_cost: IntArray,
    node: IntArray,
    label_first: IntArray,
    label: IntArray,
    first: IntArray,
    cost: IntArray,
) -> int:
    """Add the costs of the old nodes; returns those of fixed ones."""
    constant = 0
    for old in range(len(node)):
        begin = label_first[old]
        if node[old] < 0:
            constant = min(constant + old_cost[old_first[old] + label[begin]], FORBIDDEN)
            continue
        at = first[node[old]]
        for new in range(label_first[old + 1] - begin):
            value = cost[at + new] + old_cost[old_first[old] + label[begin + new]]
            cost[at + new] = min(value, FORBIDDEN)
    return constant


@kernel
def _add_edges(
    old: tuple[IntArray, IntArray, IntArray, IntArray, IntArray],
    mapping: tuple[IntArray, IntArray, IntArray],
    slot: IntArray,
    new: tuple[IntArray, IntArray, IntArray, IntArray, IntArray],
) -> int:
    """Add the tables of the old edges to edges or nodes; returns costs between fixed nodes."""
    old_tail, old_head, old_table_first, old_table, old_first = old
    node, label_first, label = mapping
    first, cost, tail, table_first, table = new
    constant = 0
    for edge in range(len(old_tail)):
        a, b = old_tail[edge], old_head[edge]
        width = old_first[b + 1] - old_first[b]
        begin = old_table_first[edge]
        from_a, from_b = label_first[a], label_first[b]
        rows, columns = label_first[a + 1] - from_a, label_first[b + 1] - from_b
        if slot[edge] >= 0:
            at = table_first[slot[edge]]
            swapped = tail[slot[edge]] != node[a]
            for row in range(rows):
                base = begin + label[from_a + row] * width
                for column in range(columns):
                    value = old_table[base + label[from_b + column]]
                    cell = at + (column * rows + row if swapped else row * columns + column)
                    table[cell] = min(table[cell] + value, FORBIDDEN)
        elif node[a] < 0 and node[b] < 0:
            value = old_table[begin + label[from_a] * width + label[from_b]]
            constant = min(constant + value, FORBIDDEN)
        else:
            # Within one new node, or with a fixed node: the costs of a single label.
            at = first[max(node[a], node[b])]
            for new_label in range(max(rows, columns)):
                row = label[from_a + (new_label if node[a] >= 0 else 0)]
                column = label[from_b + (new_label if node[b] >= 0 else 0)]
                value = cost[at + new_label] + old_table[begin + row * width + column]
                cost[at + new_label] = min(value, FORBIDDEN)
    return constant


def _memory(memory: Memory, mapping: Mapping, sizes: IntArray) -> Memory:
    """Pieces of the new nodes; those of the same rows are one, and the least usages are taken off."""
    node = mapping.node[memory.node]
    keys = np.stack((node, memory.start, memory.stop))
    order = np.lexsort(keys[::-1])
    keys = keys[:, order]
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.cumsum(begins) - 1
    node, start, stop = keys[:, begins]
    counts = np.where(node >= 0, np.append(sizes, 0)[node], 1)
    first = offsets(counts)
    usage = np.zeros(first[-1], dtype=np.int64)
    _add_usages(
        memory.node, memory.first, memory.usage, mapping.first, mapping.label, place, first, usage
    )
    return tidy(Memory(node, start, stop, first, usage, memory.room))


@kernel
def _add_usages(
    owner: IntArray,
    old_first: IntArray,
    old_usage: IntArray,
    label_first: IntArray,
    label: IntArray,
    place: IntArray,
    first: IntArray,
    usage: IntArray,
) -> None:
    for piece in range(len(owner)):
        at, begin = first[place[piece]], label_first[owner[piece]]
        for new in range(label_first[owner[piece] + 1] - begin):
            usage[at + new] += old_usage[old_first[piece] + label[begin + new]]


def tidy(memory: Memory) -> Memory:
    """Take the least usage of every piece off the room; leave out pieces that are constant."""
    if not len(memory.node):
        return memory
    least = np.minimum.reduceat(memory.usage, memory.first[:-1])
    sizes = np.diff(memory.first)
    usage = memory.usage - np.repeat(least, sizes)
    keep = (np.maximum.reduceat(usage, memory.first[:-1]) > 0) & (memory.start < memory.stop)
    room = memory.room - memory.totals(least)
    return select_pieces(
        Memory(memory.node, memory.start, memory.stop, memory.first, usage, room), keep
    )


def select_pieces(memory: Memory, keep: BoolArray) -> Memory:
    """The marked pieces."""
    sizes = np.diff(memory.first)
    usage = memory.usage[np.repeat(keep, sizes)]
    columns = (memory.node[keep], memory.start[keep], memory.stop[keep])
    return Memory(*columns, offsets(sizes[keep]), usage, memory.room)
