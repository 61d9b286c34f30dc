"""Candidates that no choice at most as long as a known one can use, left out by proof.

The cycles of a choice are those of its labels and of the conversions into their operands. Each
conversion belongs to one reader, so the least that the other operations cost with theirs leaves a
reader only so many cycles. A conversion costs at least the words that the fullest tile of its result
lacks: no tile has more elements of the source than the largest shard of any candidate that makes the
value, or of one that reads it as well and may keep what it has read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ipuopt.layout import COLUMNS, ROWS, IntArray, Layout, cut_axis, whole_axis
from ipuopt.models.mapping.candidates.labels import Labels
from ipuopt.models.mapping.candidates.request import Request, Source
from ipuopt.models.mapping.candidates.retain import capped
from ipuopt.models.mapping.endpoint import latency
from ipuopt.models.mapping.matrix import Matrix, as_matrix
from ipuopt.rectangles import max_shard_elements
from ipuopt.target.constants import SYNC_CYCLES, WORD_BYTES

ROUNDS = 3
"""Each round knows the shards of fewer candidates; after the second little changes."""


def spare_cycles(least: Mapping[str, int], known: int) -> dict[str, int]:
    """Most cycles that each operation may take in a choice of at most ``known`` cycles.

    Parameters
    ----------
    least
        Fewest cycles of each operation, conversions of its operands included.
    """
    total = sum(least.values())
    return {name: known - (total - own) for name, own in least.items()}


def prune(
    requests: Mapping[str, Request],
    labels: Mapping[str, Labels],
    known: int,
    retained: int,
    most: int,
) -> dict[str, Labels]:
    """Labels that a choice of at most ``known`` cycles may use.

    Parameters
    ----------
    requests, labels
        Of every operation, in topological order.
    retained
        So many promising ones stay in any case: placement may refuse the best choices.
    most
        No more than so many of an operation; beyond, what is left out is no longer proven.
    """
    kept = dict(labels)
    for _ in range(ROUNDS):
        bounds = _bounds(requests, kept)
        spare = spare_cycles({name: int(b.min()) for name, b in bounds.items()}, known)
        for name, bound in bounds.items():
            own = kept[name]
            held = own.result.standard + own.result.interleaved
            for choice in own.operands:
                held = held + choice.standard + choice.interleaved
            proven = np.flatnonzero(bound <= spare[name])
            if len(proven) > most:
                proven = proven[capped(name, bound[proven], held[proven, None], most)]
            promising = capped(name, bound, held[:, None], retained)
            kept[name] = own.select(np.union1d(proven, promising)).compact()
    return kept


def _bounds(requests: Mapping[str, Request], labels: Mapping[str, Labels]) -> dict[str, IntArray]:
    """Least cycles of every label with the conversions of its operands."""
    largest = {
        name: max(
            _widest(as_matrix(requests[name].result), layout) for layout in own.result.layouts
        )
        for name, own in labels.items()
    }
    read: dict[str, dict[str, int]] = {}
    for name, own in labels.items():
        for tensor, choice in zip(requests[name].inputs, own.operands, strict=True):
            widest = max(_widest(as_matrix(tensor), layout) for layout in choice.layouts)
            read.setdefault(tensor.name, {})[name] = widest
    bounds = {}
    for name, own in labels.items():
        request, bound = requests[name], own.cost
        for tensor, source, choice in zip(
            request.inputs, request.sources, own.operands, strict=True
        ):
            if source is Source.COMPUTED:
                matrix, others = as_matrix(tensor), read[tensor.name].items()
                held = max(largest[tensor.name], *(size for of, size in others if of != name), 0)
                arrival = least_arrival(matrix, choice.layouts, held, request.tiles)
                bound = bound + arrival[choice.index]
        bounds[name] = bound
    return bounds


def least_arrival(matrix: Matrix, layouts: Sequence[Layout], largest: int, tiles: int) -> IntArray:
    """Least cycles of a conversion into each layout, from shards of ``largest`` elements at most."""
    missing = np.array([_widest(matrix, layout) - largest for layout in layouts], dtype=np.int64)
    words = -(-missing * matrix.element_bytes // WORD_BYTES)
    return np.where(missing > 0, words + int(latency(tiles).arrive.min()) + SYNC_CYCLES, 0)


def _widest(matrix: Matrix, layout: Layout) -> int:
    """Most logical elements of a tile."""
    if layout.is_linear:
        return max_shard_elements(layout, matrix.rows, matrix.columns)
    elements = 1
    for axis, extent in ((ROWS, matrix.rows), (COLUMNS, matrix.columns)):
        tiling = layout.tiling(axis)
        cut = whole_axis(extent) if tiling is None else cut_axis(extent, tiling)
        elements *= int((cut.end - cut.start).max())
    return elements
