"""Prices of layout conversions under our objective: exchange by its endpoint bound.

A conversion between equal element orders is a retile: pieces travel as they are. Between orders with
the same micro-panels these travel one by one (cost-model.md 1.6). Between other orders it is staged:
the source is unpacked to row-major where it is not, row-major pieces travel, and the result is
packed where it is not row-major (lowering.md 2.1, cost-model.md 3.5 and 3.6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ipuopt.layout import (
    ROW_MAJOR,
    IntArray,
    Layout,
    Order,
    OrderKind,
)
from ipuopt.models.mapping.endpoint import latency
from ipuopt.models.mapping.footprint import Footprints, footprints
from ipuopt.models.mapping.lines import price_lines
from ipuopt.models.mapping.matrix import Matrix, padding_cycles, starts_at_words
from ipuopt.models.mapping.pairs import (
    ALONG_COLUMNS,
    ALONG_ROWS,
    ROW_MAJOR_PIECES,
    SQUARES_ALONG_COLUMNS,
    SQUARES_ALONG_ROWS,
    price_grids,
)
from ipuopt.models.mapping.problem import FORBIDDEN
from ipuopt.orders import walk_alike
from ipuopt.plan import ConversionMethod
from ipuopt.rectangles import max_shard_elements
from ipuopt.target.constants import SYNC_CYCLES, WORD_BYTES
from ipuopt.target.kernels import pack_cycles, unpack_cycles

TERMS = ("exchange", "copies", "clear", "unpack", "pack")
"""Cost terms of a conversion, in cycles."""

_MOVABLE = {
    OrderKind.ROW_MAJOR: ROW_MAJOR_PIECES,
    OrderKind.LEFT: ALONG_COLUMNS,
    OrderKind.TRANSPOSED_LEFT: ALONG_ROWS,
}
"""Orders that conversions read, and how their pieces lie in memory."""
_SQUARES = {
    OrderKind.LEFT: SQUARES_ALONG_COLUMNS,
    OrderKind.TRANSPOSED_LEFT: SQUARES_ALONG_ROWS,
}
"""The same where micro-panels travel one by one."""
_PACKABLE = (OrderKind.ROW_MAJOR, OrderKind.LEFT)
"""Orders that a local kernel makes from row-major data; the others need direct population."""


def is_movable(layout: Layout) -> bool:
    """Whether conversions can read the layout."""
    return layout.order.kind in _MOVABLE


def method_of(source: Order, target: Order, element_bytes: int = 2) -> ConversionMethod | None:
    """How an element order becomes another; None where no conversion exists."""
    if source.kind not in _MOVABLE:
        return None
    if source == target:
        return ConversionMethod.RETILE
    if walk_alike(source, target, element_bytes):
        return ConversionMethod.PANELS
    return ConversionMethod.STAGE if target.kind in _PACKABLE else None


@dataclass(frozen=True, slots=True)
class ConversionTable:
    """Prices of all pairs of two lists of layouts, shape ``(sources, targets)`` each.

    Attributes
    ----------
    terms
        Cycles by name; zero where the layouts are equal and where no conversion exists.
    allowed
        Whether the layouts are equal or a conversion exists.
    unpacked, packed
        Standard bytes of row-major staging on a tile: of the source as it is sent, and of what
        arrives before it is packed; 0 where that is the source, or the result.
    equal
        Whether the layouts are equal: no step at all.
    """

    terms: dict[str, IntArray]
    allowed: np.typing.NDArray[np.bool_]
    unpacked: IntArray
    packed: IntArray
    equal: np.typing.NDArray[np.bool_]

    @property
    def cost(self) -> IntArray:
        """Sum of the terms; ``FORBIDDEN`` where no conversion exists."""
        total = np.sum([self.terms[name] for name in TERMS], axis=0)
        cost: IntArray = np.where(self.allowed, total, FORBIDDEN)
        return cost


def conversions(
    matrix: Matrix,
    sources: Sequence[Layout],
    targets: Sequence[Layout],
    tiles: int,
    sum_axis: int = 0,
) -> ConversionTable:
    """Price every pair of layouts of one value.

    Parameters
    ----------
    matrix
        The value.
    sources, targets
        Layouts of the producer and of the consumer, distinct in each list.
    tiles
        Logical tiles of the program.
    sum_axis
        Axis along which the consumer sums, so that padding there must be zero; 0 for none.
    """
    shape = (len(sources), len(targets))
    terms = {name: np.zeros(shape, dtype=np.int64) for name in TERMS}
    positions = {layout: index for index, layout in enumerate(targets)}
    equal = np.zeros(shape, dtype=np.bool_)
    for row, layout in enumerate(sources):
        if layout in positions:
            equal[row, positions[layout]] = True
    pieces = np.full(shape, -1, dtype=np.int64)
    staged = np.zeros(shape, dtype=np.bool_)
    # Rows of a row-major shard start at words: what is sent and copied is whole words.
    aligned = matrix.columns * matrix.element_bytes % WORD_BYTES == 0
    for source, rows in _by_order(sources).items():
        for target, columns in _by_order(targets).items():
            method = method_of(source, target, matrix.element_bytes)
            if method is not None and (aligned or ROW_MAJOR not in (source, target)):
                block = np.ix_(rows, columns)
                staged[block] = method is ConversionMethod.STAGE
                pieces[block] = {
                    ConversionMethod.RETILE: _MOVABLE,
                    ConversionMethod.PANELS: _SQUARES,
                    ConversionMethod.STAGE: dict.fromkeys(_MOVABLE, ROW_MAJOR_PIECES),
                }[method][source.kind]
    words = [
        np.array([starts_at_words(matrix, layout) for layout in layouts], dtype=np.bool_)
        for layouts in (sources, targets)
    ]
    torn = staged & ~(words[0][:, None] & words[1])
    pieces[torn], staged[torn] = -1, False
    todo = (pieces >= 0) & ~equal
    priced = _price(matrix, sources, targets, tiles, np.argwhere(todo), pieces[todo])
    terms["exchange"][todo] = np.where(priced[:, 0] > 0, priced[:, 0] + SYNC_CYCLES, 0)
    terms["copies"][todo] = priced[:, 1]
    padding = np.array(
        [padding_cycles(matrix, target, sum_axis) for target in targets], dtype=np.int64
    )
    terms["clear"] = np.where(todo & ~staged, padding[None, :], 0)
    unpacked, packed = _stage(matrix, sources, targets, staged & todo, terms)
    return ConversionTable(
        terms=terms, allowed=equal | todo, unpacked=unpacked, packed=packed, equal=equal
    )


def _by_order(layouts: Sequence[Layout]) -> dict[Order, list[int]]:
    """Positions of the layouts with each element order."""
    found: dict[Order, list[int]] = {}
    for index, layout in enumerate(layouts):
        found.setdefault(layout.order, []).append(index)
    return found


def _price(
    matrix: Matrix,
    sources: Sequence[Layout],
    targets: Sequence[Layout],
    tiles: int,
    pairs: IntArray,
    pieces: IntArray,
) -> IntArray:
    """Endpoint bound and copies of each pair, shape ``(pairs, 2)``."""
    tail = footprints(sources, matrix.rows, matrix.columns, tiles)
    head = footprints(targets, matrix.rows, matrix.columns, tiles)
    triples = np.column_stack((pairs, pieces)).astype(np.int64)
    linear = (tail.linear[pairs[:, 0]] | head.linear[pairs[:, 1]]).astype(np.bool_)
    result = np.zeros((len(pairs), 2), dtype=np.int64)
    for part, price in ((~linear, _price_grids), (linear, _price_lines)):
        if part.any():
            result[part] = price(matrix, tail, head, np.ascontiguousarray(triples[part]))
    return result


def _price_grids(matrix: Matrix, tail: Footprints, head: Footprints, pairs: IntArray) -> IntArray:
    tiles = tail.bounds.shape[2]
    out, local = np.zeros((len(pairs), 2), dtype=np.int64), np.zeros(tiles, dtype=np.int64)
    events = latency(tiles)
    price_grids(
        tail.bounds,
        tail.owner,
        tail.replicas,
        head.bounds,
        head.replicas,
        pairs,
        matrix.element_bytes,
        events.arrive,
        events.depart,
        local,
        out,
    )
    return out


def _price_lines(matrix: Matrix, tail: Footprints, head: Footprints, pairs: IntArray) -> IntArray:
    tiles = tail.bounds.shape[2]
    out, local = np.zeros((len(pairs), 2), dtype=np.int64), np.zeros(tiles, dtype=np.int64)
    events = latency(tiles)
    price_lines(
        tail.bounds,
        tail.owner,
        tail.linear,
        tail.replicas,
        head.bounds,
        head.linear,
        head.replicas,
        pairs,
        matrix.columns,
        matrix.element_bytes,
        events.arrive,
        events.depart,
        local,
        out,
    )
    return out


def _stage(
    matrix: Matrix,
    sources: Sequence[Layout],
    targets: Sequence[Layout],
    staged: np.typing.NDArray[np.bool_],
    terms: dict[str, IntArray],
) -> tuple[IntArray, IntArray]:
    """Add the terms of packing and unpacking; bytes of row-major staging on a tile."""
    shape = staged.shape
    unpack, unpacked = np.zeros((2, shape[0], 1), dtype=np.int64)
    pack, packed = np.zeros((2, 1, shape[1]), dtype=np.int64)
    if not staged.any():
        return np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for index, layout in enumerate(sources):
        if layout.order.kind is not OrderKind.ROW_MAJOR:
            elements = max_shard_elements(layout, matrix.rows, matrix.columns)
            unpack[index] = unpack_cycles(layout.order.kind, elements)
            unpacked[index] = elements * matrix.element_bytes
    for index, layout in enumerate(targets):
        if layout.order.kind is not OrderKind.ROW_MAJOR and layout.order.kind in _PACKABLE:
            elements = max_shard_elements(layout, matrix.rows, matrix.columns)
            pack[0, index] = pack_cycles(layout.order.kind, elements)
            packed[0, index] = elements * matrix.element_bytes
    terms["unpack"][staged] = np.broadcast_to(unpack, shape)[staged]
    terms["pack"][staged] = np.broadcast_to(pack, shape)[staged]
    return np.where(staged, unpacked, 0), np.where(staged, packed, 0)
