"""Ways to read a value that several operations read, or that is an output besides.

A value with one reader is converted where that wants another layout, and is gone then. Of a shared
one two layouts may be kept, or more. Its readers come in order. A label of a reader also says where
it reads from (the value itself, what a reader before it has read, or for a value that the host loads
a layout of its own, in which it is loaded as well), whether that stays, and up to which reader it
keeps what it reads itself. A label of the value says up to which reader the value is kept.

Every such way is a label of its own. What a label keeps is memory of that label, and labels that
contradict each other are pairs that do not go together (:mod:`ipuopt.models.mapping.tables`).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, product

import numpy as np

from ipuopt.layout import IntArray
from ipuopt.models.mapping.candidates.request import Source
from ipuopt.models.mapping.graph import Graph, Operand
from ipuopt.models.mapping.parts import HOST, MADE, ORIGINAL, STAYS, TAKEN, Part, Reading

REACH = 2
"""A reader may read what so many readers before it have read, and through them what others have."""

MOST_LABELS = 20_000
"""Labels of an operation; where there would be more, readers reach less far."""

Way = tuple[int, int, int]
"""Source, mode and last reader, see :class:`~ipuopt.models.mapping.parts.Reading`."""


def with_ways(part: Part, graph: Graph) -> Part:
    """The part with a label for each of its labels and each way to read and to keep shared values."""
    operands = () if part.visit is None else part.visit.operands
    shared = [index for index, operand in enumerate(operands) if operand.key in graph.shared]
    stays = _stays(part, graph)
    if not shared and stays is None:
        return part
    for reach in range(REACH, -1, -1):
        ways = [_ways(operands[index], part, graph, reach) for index in shared]
        chosen = np.array(
            [
                (last, *chain.from_iterable(way))
                for last, way in product(stays or (0,), product(*ways))
            ],
            dtype=np.int64,
        )
        if len(chosen) * len(part.cost) <= MOST_LABELS:
            break
    base = np.tile(np.arange(len(part.cost)), len(chosen))
    which = np.repeat(np.arange(len(chosen)), len(part.cost))
    allowed = np.ones(len(base), dtype=np.bool_)
    readings: list[Reading | None] = [None] * len(operands)
    for number, index in enumerate(shared):
        assert part.labels is not None
        source, mode, until = chosen[which, 1 + 3 * number : 4 + 3 * number].T
        allowed &= (mode != TAKEN) | (part.labels.operands[index].interleaved[base] > 0)
        readings[index] = Reading(source, mode, until)
    kept = np.flatnonzero(allowed)
    return replace(
        part.select(base[kept]),
        readings=tuple(r if r is None else r.select(kept) for r in readings),
        until=None if stays is None else chosen[which[kept], 0],
        base=base[kept],
    )


def _stays(part: Part, graph: Graph) -> tuple[int, ...] | None:
    """Readers that may be the last of the value itself; None where it is not shared.

    The first reader has nothing else to read.
    """
    readers = graph.shared.get(part.key)
    if readers is None:
        return None
    return (len(readers),) if part.key[0] in graph.outputs else tuple(range(len(readers)))


def _ways(operand: Operand, part: Part, graph: Graph, reach: int) -> list[Way]:
    """Ways to read an operand of a shared value."""
    assert part.visit is not None
    readers, own = graph.readers[operand.key], graph.number_of(part.visit, operand.key)
    keeps = range(own, min(own + reach, len(readers) - 1) + 1)
    ways: list[Way] = []
    for source in (ORIGINAL, *range(max(0, own - reach), own)):
        ways += [(source, mode, last) for mode in (MADE, TAKEN) for last in keeps]
        is_output = source == ORIGINAL and operand.tensor in graph.outputs
        if own < len(readers) - 1 or is_output:
            ways.append((source, STAYS, own))
    if operand.source is Source.SHARED and own > 0:
        ways += [(HOST, MADE, last) for last in keeps]
    return ways


def plain_labels(part: Part) -> IntArray:
    """Labels that read the value itself, keep nothing else and leave the value to its last reader."""
    plain = np.ones(len(part.cost), dtype=np.bool_)
    if part.until is not None:
        plain &= part.until == part.until.max()
    for reading in part.readings:
        if reading is not None:
            plain &= (reading.source == ORIGINAL) & (reading.until == reading.until.min())
    return np.flatnonzero(plain)
