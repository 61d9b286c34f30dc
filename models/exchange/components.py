"""Independent parts of a phase: tiles that no transfer joins do not affect each other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ipuopt.models.exchange.claims import BUSES, FILL_ROW, TEST_ROW, Int32Array, Row
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.problem import IntArray
from ipuopt.ranges import ranges


def component_of(phase: Instance) -> tuple[int, IntArray]:
    """Number of components, and that of each transfer, from 0 in order of first listing.

    Orders of memory (E5) and shared elements (E6) join transfers of one tile only, so tiles joined
    by transfers, and by the partners that those reserve, tell all.
    """
    if not len(phase.words):
        return 0, np.zeros(0, np.int64)
    wide = phase.partner >= 0
    near = np.concatenate((np.repeat(phase.source, np.diff(phase.bounds)), phase.source[wide]))
    far = np.concatenate((phase.receiver, phase.partner[wide]))
    shape = (phase.tiles, phase.tiles)
    graph = coo_array((np.ones(len(near), np.int8), (near, far)), shape=shape)
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
    receives = ranges(phase.bounds[transfers], counts)
    partners = phase.partner[transfers]
    ends = np.concatenate((phase.source[transfers], phase.receiver[receives], partners))
    tiles, ends = np.unique(ends, return_inverse=True)
    if tiles[0] < 0:  # no partner stays -1
        tiles, ends = tiles[1:], ends - 1
    each = np.diff(phase.claim_start)[transfers]
    claims = phase.claims[ranges(phase.claim_start[transfers], each)]
    claim_start = _bounds(each)
    rows = np.unique(claims[:, (TEST_ROW, FILL_ROW)])
    hot = rows[rows >= Row.HOT * phase.tiles]
    for column in (TEST_ROW, FILL_ROW):
        claims[:, column] = _renumbered(claims[:, column], phase.tiles, tiles, hot)
    pairs = np.diff(phase.before_bounds)[transfers]
    pair = ranges(phase.before_bounds[transfers], pairs)
    buses = (np.arange(BUSES)[:, None] * phase.tiles + tiles).ravel()
    return phase._replace(
        tiles=len(tiles),
        rows=Row.HOT * len(tiles) + len(hot),
        source=ends[: len(transfers)],
        words=phase.words[transfers],
        bounds=_bounds(counts),
        receiver=ends[len(transfers) : len(ends) - len(transfers)],
        wide=phase.wide[tiles],
        partner=ends[len(ends) - len(transfers) :],
        head=phase.head[transfers],
        tail=phase.tail[transfers],
        window=phase.window[receives],
        window_length=phase.window_length[receives],
        write=phase.write[receives],
        write_length=phase.write_length[receives],
        claim_start=claim_start,
        claim_stop=claim_start[:-1] + (phase.claim_stop - phase.claim_start[:-1])[transfers],
        claims=claims,
        longest=phase.longest[transfers],
        shortest=phase.shortest[buses],
        before_bounds=_bounds(pairs),
        before=np.searchsorted(transfers, phase.before[pair]),
        lag=phase.lag[pair],
    )


def _renumbered(rows: Int32Array, tiles: int, kept: IntArray, hot: Int32Array) -> IntArray:
    """Numbers of bit rows when only tiles ``kept`` and rows ``hot`` are left."""
    family, tile = np.divmod(rows, tiles)
    place = family * len(kept) + np.searchsorted(kept, tile)
    return np.where(
        family < Row.HOT, place, Row.HOT * len(kept) + np.searchsorted(hot, rows)
    ).astype(np.int64)


def _bounds(counts: IntArray) -> IntArray:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))


def largest_by(component: IntArray, count: int, value: IntArray) -> npt.NDArray[np.int64]:
    """Largest value of each component, shape ``(count,)``."""
    result = np.zeros(count, np.int64)
    np.maximum.at(result, component, value)
    return result
