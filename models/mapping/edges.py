"""Edges of the mapping problem: what it takes to bring an operand into the layout that is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ipuopt.layout import IntArray
from ipuopt.models.mapping.candidates.labels import Choice
from ipuopt.models.mapping.candidates.request import Request
from ipuopt.models.mapping.graph import Graph, Key, Operand
from ipuopt.models.mapping.matrix import Matrix, as_matrix
from ipuopt.models.mapping.memory import large_part
from ipuopt.models.mapping.parts import ORIGINAL, Part, Reading
from ipuopt.models.mapping.prices import ConversionTable, conversions
from ipuopt.models.mapping.problem import FORBIDDEN, Edge


@dataclass(frozen=True, slots=True)
class Link:
    """What an edge joins: a buffer of its tail with an operand of its head.

    Attributes
    ----------
    operand
        Position among the operands of the head.
    source
        Number of the reader whose buffer it is; ``ORIGINAL`` for the value itself.
    tail_layout, head_layout
        Position of the layout of each group; -1 for a group that is never converted.
    """

    operand: int
    source: int
    tail_layout: IntArray
    head_layout: IntArray


@dataclass(frozen=True, slots=True)
class Buffer:
    """What an operand may be read from: its node, its layouts, its last reader under every label."""

    node: int
    source: int
    choice: Choice
    until: IntArray | None


@dataclass(frozen=True, slots=True)
class _Tables:
    """Cost, staging and large staging bytes of pairs of groups."""

    cost: IntArray
    staging: IntArray
    large: IntArray


def edges_of(
    parts: Sequence[Part],
    position: Mapping[Key, int],
    graph: Graph,
    head: int,
    index: int,
    *,
    tiles: int,
    low: int,
) -> list[tuple[Edge, Link]]:
    """Prices of bringing an operand into the layout that its operation reads, one edge a buffer.

    Parameters
    ----------
    parts, position
        All nodes, and the node of every value.
    head, index
        Node of the operation, position of the operand.
    tiles, low
        Tiles of the target; largest standard buffer below the interleaved region, in bytes.
    """
    part = parts[head]
    assert part.visit is not None and part.labels is not None and part.request is not None
    operand, choice, reading = (
        part.visit.operands[index],
        part.labels.operands[index],
        part.reading(index),
    )
    found = []
    for buffer in _buffers(parts, position, graph, part, operand):
        table = conversions(
            matrix_of(part.request, operand),
            buffer.choice.layouts,
            choice.layouts,
            tiles,
            choice.sum_axis,
        )
        gone = _tables(table, buffer.choice, choice, low, stays=False)
        if reading is None or buffer.until is None:
            groups = (buffer.choice.index, choice.index)
            layouts = tuple(np.arange(count) for count in table.cost.shape)
        else:
            own = graph.number_of(part.visit, operand.key)
            stays = _tables(table, buffer.choice, choice, low, stays=True)
            gone = _joined(table, gone, stays)
            groups = (
                _tail_groups(buffer, own),
                _head_groups(choice, reading, buffer.source),
            )
            layouts = _layouts_of(*table.cost.shape)
        edge, used = _compact(buffer.node, head, *groups, gone, operand.step)
        link = Link(
            index, buffer.source, *(of[kept] for of, kept in zip(layouts, used, strict=True))
        )
        found.append((edge, link))
    return found


def _buffers(
    parts: Sequence[Part],
    position: Mapping[Key, int],
    graph: Graph,
    part: Part,
    operand: Operand,
) -> list[Buffer]:
    """The value itself; where it is shared, what readers before this one may keep for it."""
    node = position[operand.key]
    found = [Buffer(node, ORIGINAL, parts[node].value, parts[node].until)]
    if operand.key not in graph.shared:
        return found
    assert part.visit is not None
    own = graph.number_of(part.visit, operand.key)
    for number, reader in enumerate(graph.readers[operand.key][:own]):
        node = position[reader.operation, False]
        visit, labels = parts[node].visit, parts[node].labels
        assert visit is not None and labels is not None
        index = visit.place_of(operand.key)
        kept = parts[node].reading(index)
        if kept is not None and (kept.until >= own).any():
            found.append(Buffer(node, number, labels.operands[index], kept.until))
    return found


def _tables(
    table: ConversionTable, source: Choice, target: Choice, low: int, *, stays: bool
) -> _Tables:
    """Cost and staging of every pair of layouts; the source stays after the conversion, or not."""
    held, held_piece = _by_layout(source)
    made, made_piece = _by_layout(target)
    # A linear layout has a buffer a row; the others have one a tile.
    sent, arrived = (
        np.array([not layout.is_linear for layout in layouts])
        for layouts in (source.layouts, target.layouts)
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
    return _Tables(table.cost, staging, large)


def _joined(table: ConversionTable, gone: _Tables, stays: _Tables) -> _Tables:
    """Pairs of groups of a buffer of a shared value.

    Rows: the layouts of a buffer whose last reader this is, those of one with later readers, and
    one that is gone. Columns: the layouts of a reader of the buffer in each mode, and one that
    reads another. What (M2) forbids is a buffer that is read but gone,
    or kept for a reader that reads another one.
    """
    rows, columns = table.cost.shape
    cost = np.full((2 * rows + 1, 3 * columns + 1), FORBIDDEN, dtype=np.int64)
    staging, large = np.zeros((2, *cost.shape), dtype=np.int64)
    last, later = slice(0, rows), slice(rows, 2 * rows)
    made, taken, kept = (slice(mode * columns, (mode + 1) * columns) for mode in range(3))
    in_place = np.where(table.equal, 0, FORBIDDEN)
    cost[last, made] = gone.cost
    cost[later, made] = np.where(table.equal, FORBIDDEN, stays.cost)
    cost[last, taken] = in_place
    cost[later, kept] = in_place
    cost[rows:, 3 * columns] = 0
    for found, of_gone, of_stays in (
        (staging, gone.staging, stays.staging),
        (large, gone.large, stays.large),
    ):
        found[last, made], found[later, made] = of_gone, of_stays
    return _Tables(cost, staging, large)


def _layouts_of(rows: int, columns: int) -> tuple[IntArray, IntArray]:
    """Layout of each row and column of :func:`_joined` that a conversion is between."""
    never = np.full(2 * columns + 1, -1, dtype=np.int64)
    each = np.arange(rows, dtype=np.int64)
    return (
        np.concatenate([each, each, never[:1]]),
        np.concatenate([np.arange(columns, dtype=np.int64), never]),
    )


def _tail_groups(buffer: Buffer, own: int) -> IntArray:
    """Row of :func:`_joined` of every label of a buffer, for reader ``own``."""
    assert buffer.until is not None
    count = len(buffer.choice.layouts)
    here = buffer.choice.index + count * (buffer.until > own)
    return np.where(buffer.until < own, 2 * count, here)


def _head_groups(choice: Choice, reading: Reading, source: int) -> IntArray:
    """Column of :func:`_joined` of every label of a reader."""
    count = len(choice.layouts)
    return np.where(reading.source == source, choice.index + count * reading.mode, 3 * count)


def _compact(
    tail: int, head: int, tail_group: IntArray, head_group: IntArray, tables: _Tables, step: int
) -> tuple[Edge, tuple[IntArray, IntArray]]:
    """An edge without groups that no label has, and the groups that stay."""
    rows, tail_group = np.unique(tail_group, return_inverse=True)
    columns, head_group = np.unique(head_group, return_inverse=True)
    used = np.ix_(rows, columns)
    edge = Edge(
        tail=tail,
        head=head,
        tail_group=tail_group.reshape(-1),
        head_group=head_group.reshape(-1),
        cost=tables.cost[used],
        staging=tables.staging[used],
        large=tables.large[used],
        step=step,
    )
    return edge, (rows, columns)


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
