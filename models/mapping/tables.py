"""Nodes and edges of the mapping problem from the candidates of all operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ipuopt.layout import IntArray, Layout
from ipuopt.models.mapping.candidates.labels import Choice, Labels
from ipuopt.models.mapping.candidates.request import Request, Source
from ipuopt.models.mapping.graph import Graph, Key, Operand, Visit
from ipuopt.models.mapping.memory import Timeline
from ipuopt.models.mapping.prices import Matrix, conversions
from ipuopt.models.mapping.problem import Edge, Node


@dataclass(frozen=True, slots=True)
class Part:
    """What stands behind one node of the problem.

    Attributes
    ----------
    key
        The value that the node makes or loads.
    value
        Its layout under every label.
    visit, request, labels
        The operation; None for an input that several operations share.
    """

    key: Key
    value: Choice
    visit: Visit | None = None
    request: Request | None = None
    labels: Labels | None = None

    @property
    def cost(self) -> IntArray:
        """Cycles of each label."""
        if self.labels is None:
            return np.zeros(len(self.value.index), dtype=np.int64)
        return self.labels.cost


def shared_input(key: Key, readers: Sequence[Choice]) -> Part:
    """An input that several operations read: loaded in the layout that one of them wants."""
    size: dict[Layout, tuple[int, int]] = {}
    for choice in readers:
        for label, index in enumerate(choice.index):
            layout = choice.layouts[index]
            seen = size.get(layout, (0, 0))
            here = (int(choice.standard[label]), int(choice.interleaved[label]))
            size[layout] = (max(seen[0], here[0]), max(seen[1], here[1]))
    standard, interleaved = np.array(list(size.values()), dtype=np.int64).T
    index = np.arange(len(size), dtype=np.int64)
    return Part(key, Choice(tuple(size), index, standard, interleaved))


def node_of(part: Part, graph: Graph, *, is_output: bool) -> Node:
    """Cost and memory over steps of every label.

    Values that the host loads are held from step 0. A result is held to the last conversion step
    that may read it, or to the end; a reader holds what it reads from its own kernel step on, and
    a conversion's result during the conversion through the edge. Where a conversion is not needed
    the value is thus counted once at every step, but for two cases that only err upwards: an
    interleaved operand of a pointwise operation during its conversion step, where the kernel step
    needs as much, and a value with several readers while the first of them runs. The access tail of
    a result that a product reads as it lies (16 bytes) is counted from that product on only; the
    margin of the capacity covers it.
    """
    table = Timeline(len(part.cost), len(graph.steps))
    last = len(graph.steps) - 1 if is_output else graph.last_read.get(part.key, -1)
    value = part.value
    if part.visit is None or part.labels is None:
        table.hold(0, last, value.standard, value.interleaved)
        return Node(part.key[0], part.cost, table.standard, table.interleaved, table.contiguous)
    run, labels = part.visit.run, part.labels
    for operand, choice in zip(part.visit.operands, labels.operands, strict=True):
        if operand.source is Source.LOADED:
            table.hold(0, run, choice.standard, choice.interleaved)
        else:
            none = np.zeros_like(choice.standard)
            table.hold(operand.step, run, none, choice.interleaved)
            table.hold(operand.step + 1, run, choice.standard, none)
    buffers = labels.run
    table.hold(run, run, buffers.standard, buffers.interleaved, buffers.contiguous)
    if labels.finish is None:
        table.hold(run, max(last, run), value.standard, value.interleaved)
    else:
        buffers, early = labels.finish, ~labels.late
        table.hold(run + 1, run + 1, buffers.standard, buffers.interleaved, buffers.contiguous)
        table.hold(run, run, value.standard * early, value.interleaved * early)
        table.hold(run + 1, max(last, run + 1), value.standard, value.interleaved)
    name = part.visit.operation.name
    return Node(name, part.cost, table.standard, table.interleaved, table.contiguous)


def edge_of(
    parts: Sequence[Part], tail: int, head: int, operand: Operand, choice: Choice, tiles: int
) -> Edge:
    """Prices of bringing the value of node ``tail`` into the layout that node ``head`` reads.

    ``choice`` is the operand of the head's labels.
    """
    source = parts[tail].value
    request = parts[head].request
    assert request is not None
    table = conversions(
        matrix_of(request, operand), source.layouts, choice.layouts, tiles, choice.sum_axis
    )
    held = np.zeros(len(choice.layouts), dtype=np.int64)
    np.maximum.at(held, choice.index, choice.standard)
    staging = np.where(table.equal | ~table.allowed, 0, table.staging + held[None, :])
    return Edge(
        tail=tail,
        head=head,
        tail_group=source.index,
        head_group=choice.index,
        cost=table.cost,
        staging=staging,
        step=operand.step,
    )


def matrix_of(request: Request, operand: Operand) -> Matrix:
    """The operand's value as conversions see it."""
    tensor = next(t for t in request.inputs if t.name == operand.tensor)
    return Matrix(tensor.rows, tensor.columns, {"float16": 2, "float32": 4}[tensor.dtype])
