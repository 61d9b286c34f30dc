"""Independent parts of a phase: tiles that no transfer joins do not affect each other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.problem import IntArray


def component_of(phase: Instance) -> tuple[int, IntArray]:
    """Number of components, and that of each transfer, from 0 in order of first listing.

    Orders of memory (E5) and shared elements (E6) join transfers of one tile only, so tiles joined
    by transfers tell all.
    """
    if not len(phase.words):
        return 0, np.zeros(0, np.int64)
    source = np.repeat(phase.source, np.diff(phase.bounds))
    shape = (phase.tiles, phase.tiles)
    graph = coo_array((np.ones(len(source), np.int8), (source, phase.receiver)), shape=shape)
    label = connected_components(graph, directed=False)[1][phase.source]
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return len(first), number[inverse]


def restrict(phase: Instance, transfers: IntArray) -> Instance:
    """The phase of some components alone, with tiles and hot elements numbered anew.

    ``transfers`` ascend, and are whole components.
    """
    counts = np.diff(phase.bounds)[transfers]
    receives = _ranges(phase.bounds[transfers], counts)
    tiles, ends = _renumber(phase.source[transfers], phase.receiver[receives])
    sends = _ranges(phase.send_first[transfers], phase.send_count[transfers])
    receipts = _ranges(phase.receive_first[receives], phase.receive_count[receives])
    hot = np.unique(np.concatenate((sends, receipts)))
    pairs = np.diff(phase.before_bounds)[transfers]
    pair = _ranges(phase.before_bounds[transfers], pairs)
    return phase._replace(
        tiles=len(tiles),
        hot=len(hot),
        source=ends[: len(transfers)],
        words=phase.words[transfers],
        bounds=_bounds(counts),
        receiver=ends[len(transfers) :],
        head=phase.head[transfers],
        tail=phase.tail[transfers],
        window=phase.window[receives],
        write=phase.write[receives],
        send_first=np.searchsorted(hot, phase.send_first[transfers]),
        send_count=phase.send_count[transfers],
        receive_first=np.searchsorted(hot, phase.receive_first[receives]),
        receive_count=phase.receive_count[receives],
        send_extra=phase.send_extra[transfers],
        send_extra_most=phase.send_extra_most[tiles],
        receive_extra=phase.receive_extra[tiles],
        both_windows=phase.both_windows[tiles],
        shortest=phase.shortest[tiles],
        before_bounds=_bounds(pairs),
        before=np.searchsorted(transfers, phase.before[pair]),
        lag=phase.lag[pair],
    )


def _renumber(source: IntArray, receiver: IntArray) -> tuple[IntArray, IntArray]:
    tiles, ends = np.unique(np.concatenate((source, receiver)), return_inverse=True)
    return tiles, ends.astype(np.int64)


def _bounds(counts: IntArray) -> IntArray:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))


def _ranges(first: IntArray, count: IntArray) -> IntArray:
    """Concatenated ranges ``[first, first + count)``."""
    before = np.cumsum(count) - count
    return np.repeat(first - before, count) + np.arange(int(count.sum()))


def largest_by(component: IntArray, count: int, value: IntArray) -> npt.NDArray[np.int64]:
    """Largest value of each component, shape ``(count,)``."""
    result = np.zeros(count, np.int64)
    np.maximum.at(result, component, value)
    return result
