"""A phase as insertion sees it: claims in one direction of time, and the mirrored phase.

Running time backwards turns every rule of the package docstring but (E7) into one of the same kind.
An interval [P + a, P + b) becomes [P' + w - b, P' + w - a) with P' = -(P + w) the mirrored start
of a send of w events; the mirrored send is again [P', P' + w).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipuopt.models.exchange.claims import (
    BUSES,
    FILL_FIRST,
    FILL_LENGTH,
    TEST_FIRST,
    TEST_LENGTH,
    TEST_ROW,
    Int32Array,
    Row,
    claims_of,
    receives_pairs,
)
from ipuopt.models.exchange.conflicts import hot_elements, precedence
from ipuopt.models.exchange.problem import BoolArray, IntArray, Problem
from ipuopt.models.exchange.timing import Timing, timing
from ipuopt.target.fabric import PARTNER


class Instance(NamedTuple):
    """Arrays of one direction of time; a tuple, so that kernels can take it whole.

    Attributes
    ----------
    mirror
        Whether time runs backwards.
    tiles, rows
        Tiles; bit rows (:class:`~ipuopt.models.exchange.claims.Row`).
    source, words, bounds, receiver
        Sender; events of the send bus; bounds of a transfer's receivers, and those.
    wide
        Tiles that receive some Paired64 transfer.
    partner
        Tile that a Paired64 transfer reserves, -1 for Word32, by transfer.
    head, tail
        Least start; last effect after the start: the horizon is the largest start + tail.
    window, window_length, write, write_length
        Offsets of source and write windows from the start, and their events, by receiver.
    claim_start, claim_stop, claims
        As in :class:`~ipuopt.models.exchange.claims.Claims`.
    longest
        Most events of a test, by transfer.
    shortest
        Fewest events of a claim on each bus row: shorter gaps are of no use.
    before_bounds, before, lag
        Predecessors of each transfer: start >= start of before + lag.
    """

    mirror: bool
    tiles: int
    rows: int
    source: IntArray
    words: IntArray
    bounds: IntArray
    receiver: IntArray
    wide: BoolArray
    partner: IntArray
    head: IntArray
    tail: IntArray
    window: IntArray
    window_length: IntArray
    write: IntArray
    write_length: IntArray
    claim_start: IntArray
    claim_stop: IntArray
    claims: Int32Array
    longest: IntArray
    shortest: IntArray
    before_bounds: IntArray
    before: IntArray
    lag: IntArray


def instance(
    problem: Problem, paired: BoolArray | None = None, times: Timing | None = None
) -> Instance:
    """Forward instance of a phase for one choice of widths, as given unless said."""
    paired = problem.paired if paired is None else paired
    times = times or timing(problem, paired)
    hot = hot_elements(problem)
    pairs = precedence(problem)
    claims = claims_of(problem, paired, times, hot)
    longest, shortest = _extremes(problem.tiles, claims.start, claims.table)
    return Instance(
        mirror=False,
        tiles=problem.tiles,
        rows=Row.HOT * problem.tiles + 2 * hot.elements,
        source=problem.source,
        words=times.items,
        bounds=problem.destination_start,
        receiver=problem.destination_tile,
        wide=receives_pairs(problem, paired),
        partner=np.where(paired, PARTNER[problem.source], -1),
        head=times.head,
        tail=times.tail,
        window=times.window,
        window_length=times.window_length,
        write=times.write,
        write_length=times.write_length,
        claim_start=claims.start,
        claim_stop=claims.stop,
        claims=claims.table,
        longest=longest,
        shortest=shortest,
        before_bounds=np.searchsorted(pairs.after, np.arange(len(problem) + 1)),
        before=pairs.before,
        lag=times.payload[pairs.before],
    )


def _extremes(tiles: int, start: IntArray, table: Int32Array) -> tuple[IntArray, IntArray]:
    """Longest test of each transfer, least claim on each bus row."""
    shortest = np.full(BUSES * tiles, np.iinfo(np.int64).max)
    bus = table[table[:, TEST_ROW] < BUSES * tiles]
    np.minimum.at(shortest, bus[:, TEST_ROW], bus[:, TEST_LENGTH])
    if not len(start) - 1:
        return np.zeros(0, np.int64), shortest
    longest = np.maximum.reduceat(table[:, TEST_LENGTH], start[:-1]).astype(np.int64)
    return longest, shortest


def mirrored(forward: Instance) -> Instance:
    """The same phase with time running backwards; mirroring twice gives the first again."""
    words = forward.words
    after = np.repeat(np.arange(len(words)), np.diff(forward.before_bounds))
    order = np.argsort(forward.before, kind="stable")
    before = forward.before[order]
    after = after[order]
    each = np.repeat(words, np.diff(forward.bounds))
    claims = forward.claims.copy()
    spread = np.repeat(words, np.diff(forward.claim_start))
    for first, length in ((TEST_FIRST, TEST_LENGTH), (FILL_FIRST, FILL_LENGTH)):
        claims[:, first] = spread - claims[:, first] - claims[:, length]
    return forward._replace(
        mirror=not forward.mirror,
        head=forward.tail - words,
        tail=forward.head + words,
        window=each - forward.window - forward.window_length,
        write=each - forward.write - forward.write_length,
        claims=claims,
        before_bounds=np.searchsorted(before, np.arange(len(words) + 1)),
        before=after,
        # -(P'_j + w_j) >= -(P'_i + w_i) + lag  <=>  P'_i >= P'_j + w_j - w_i + lag
        lag=forward.lag[order] + words[after] - words[before],
    )
