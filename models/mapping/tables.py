"""Nodes and edges of the mapping problem from the candidates of all operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ipuopt.layout import IntArray, Layout
from ipuopt.models.mapping.candidates.labels import Choice, Labels
from ipuopt.models.mapping.candidates.request import Request, Source
from ipuopt.models.mapping.graph import Graph, Key, Operand, Visit
from ipuopt.models.mapping.memory import Timeline, large_part
from ipuopt.models.mapping.prices import ConversionTable, Matrix, as_matrix, conversions
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
    size: dict[Layout, tuple[int, int, int]] = {}
    for choice in readers:
        for label, index in enumerate(choice.index):
            layout = choice.layouts[index]
            seen = size.get(layout, (0, 0, 0))
            here = (choice.standard[label], choice.interleaved[label], choice.piece[label])
            size[layout] = (
                max(seen[0], int(here[0])),
                max(seen[1], int(here[1])),
                max(seen[2], int(here[2])),
            )
    standard, interleaved, piece = np.array(list(size.values()), dtype=np.int64).T
    index = np.arange(len(size), dtype=np.int64)
    return Part(key, Choice(tuple(size), index, standard, interleaved, piece))


def node_of(part: Part, graph: Graph, low: int, *, is_output: bool) -> Node:
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
    large = large_part(value.piece, low)
    if part.visit is None or part.labels is None:
        table.hold(0, last, value.standard, value.interleaved, large)
        return Node(part.key[0], part.cost, table.standard, table.interleaved, table.large)
    run, labels = part.visit.run, part.labels
    for operand, choice in zip(part.visit.operands, labels.operands, strict=True):
        operand_large = large_part(choice.piece, low)
        if operand.source is Source.LOADED:
            table.hold(0, run, choice.standard, choice.interleaved, operand_large)
        else:
            none = np.zeros_like(choice.standard)
            table.hold(operand.step, run, none, choice.interleaved, none)
            table.hold(operand.step + 1, run, choice.standard, none, operand_large)
    buffers = labels.run
    table.hold(run, run, buffers.standard, buffers.interleaved, buffers.large)
    if labels.finish is None:
        table.hold(run, max(last, run), value.standard, value.interleaved, large)
    else:
        buffers, early = labels.finish, ~labels.late
        table.hold(run + 1, run + 1, buffers.standard, buffers.interleaved, buffers.large)
        table.hold(run, run, value.standard * early, value.interleaved * early, large * early)
        table.hold(run + 1, max(last, run + 1), value.standard, value.interleaved, large)
    name = part.visit.operation.name
    return Node(name, part.cost, table.standard, table.interleaved, table.large)


def edge_of(
    parts: Sequence[Part],
    tail: int,
    head: int,
    operand: Operand,
    choice: Choice,
    *,
    tiles: int,
    low: int,
    stays: bool,
) -> Edge:
    """Prices of bringing the value of node ``tail`` into the layout that node ``head`` reads.

    Parameters
    ----------
    choice
        The operand of the head's labels.
    tiles, low
        Tiles of the target; largest standard buffer below the interleaved region, in bytes.
    stays
        Whether the source is still needed after this conversion.
    """
    source = parts[tail].value
    request = parts[head].request
    assert request is not None
    table = conversions(
        matrix_of(request, operand), source.layouts, choice.layouts, tiles, choice.sum_axis
    )
    held, held_piece = _by_layout(source)
    made, made_piece = _by_layout(choice)
    # A linear layout has a buffer a row; the others have one a tile.
    sent, arrived = (
        np.array([not layout.is_linear for layout in layouts])
        for layouts in (source.layouts, choice.layouts)
    )
    staging = _staging(table, held, table.unpacked, table.packed, made, stays=stays)
    large = _staging(
        table,
        large_part(held_piece, low),
        large_part(table.unpacked, low) * sent[:, None],
        large_part(table.packed, low) * arrived,
        large_part(made_piece, low),
        stays=stays,
    )
    return Edge(
        tail=tail,
        head=head,
        tail_group=source.index,
        head_group=choice.index,
        cost=table.cost,
        staging=staging,
        large=large,
        step=operand.step,
    )


def _by_layout(choice: Choice) -> tuple[IntArray, IntArray]:
    """Standard bytes, and bytes of the largest standard buffer, of every layout."""
    standard, piece = np.zeros((2, len(choice.layouts)), dtype=np.int64)
    np.maximum.at(standard, choice.index, choice.standard)
    np.maximum.at(piece, choice.index, choice.piece)
    return standard, piece


def _staging(
    table: ConversionTable,
    held: IntArray,
    unpacked: IntArray,
    packed: IntArray,
    made: IntArray,
    *,
    stays: bool,
) -> IntArray:
    """Bytes beside the source while a conversion runs, at the fullest of its moments.

    The source is unpacked; then the exchange fills what is packed afterwards, or the result
    itself; then that is packed. Unless the source stays, it is gone once it is unpacked or sent.
    """
    held, made = held[:, None], made[None, :]
    kept = held if stays else np.zeros_like(held)
    filled = np.where(table.packed > 0, packed, made)
    moments = (
        held + unpacked,
        np.where(table.unpacked > 0, unpacked + kept, held) + filled,
        np.where(table.packed > 0, packed + made + kept, 0),
    )
    needs: IntArray = np.maximum.reduce(moments) - held
    return np.where(table.equal | ~table.allowed, 0, needs)


def matrix_of(request: Request, operand: Operand) -> Matrix:
    """The operand's value as conversions see it."""
    return as_matrix(next(t for t in request.inputs if t.name == operand.tensor))
