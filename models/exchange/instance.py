"""A phase as insertion sees it: offsets in one direction of time, and the mirrored phase.

Running time backwards turns every rule of the package docstring into one of the same kind. An
interval [P + a, P + b) becomes [P' + w - b, P' + w - a) with P' = -(P + w) the mirrored start of
the send; the mirrored send is again [P', P' + w).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ipuopt.models.exchange.conflicts import hot_elements, precedence
from ipuopt.models.exchange.problem import IntArray, Problem
from ipuopt.models.exchange.timing import Timing, timing

BoolArray = npt.NDArray[np.bool_]


class Instance(NamedTuple):
    """Arrays of one direction of time; a tuple, so that kernels can take it whole.

    Attributes
    ----------
    mirror
        Whether time runs backwards.
    tiles, hot
        Tiles, and elements that sends and receives share (numbered over all tiles).
    source, words, bounds, receiver
        As in the problem: ``bounds`` are those of a transfer's receivers.
    head, tail
        Least start; last effect after the start: the horizon is the largest start + tail.
    window, write
        Offsets of source and write windows from the start, by receiver.
    send_first, send_count, receive_first, receive_count
        Hot elements of each span, as in :class:`~ipuopt.models.exchange.conflicts.Hot`.
    send_extra
        Events by which s done exceeds the send, by transfer (only for the shortest sends).
    send_extra_most, receive_extra
        The same for any send of a tile, and for t done and the write window; by tile.
    both_windows
        Tiles whose write windows must be looked at besides the source windows (w = 52).
    shortest
        Fewest words of a receive of each tile: shorter gaps are of no use.
    before_bounds, before, lag
        Predecessors of each transfer: start >= start of before + lag.
    """

    mirror: bool
    tiles: int
    hot: int
    source: IntArray
    words: IntArray
    bounds: IntArray
    receiver: IntArray
    head: IntArray
    tail: IntArray
    window: IntArray
    write: IntArray
    send_first: IntArray
    send_count: IntArray
    receive_first: IntArray
    receive_count: IntArray
    send_extra: IntArray
    send_extra_most: IntArray
    receive_extra: IntArray
    both_windows: BoolArray
    shortest: IntArray
    before_bounds: IntArray
    before: IntArray
    lag: IntArray


def instance(problem: Problem, times: Timing | None = None) -> Instance:
    """Forward instance of a phase."""
    times = times or timing(problem)
    hot = hot_elements(problem)
    pairs = precedence(problem)
    words = np.repeat(problem.words, np.diff(problem.destination_start))
    receiver = problem.destination_tile
    narrow = np.zeros((2, problem.tiles), np.bool_)
    narrow[(words == 52).astype(np.int64), receiver] = True
    shortest = np.full(problem.tiles, np.iinfo(np.int64).max)
    np.minimum.at(shortest, receiver, words)
    send_extra = times.send_done - problem.words
    send_extra_most = np.zeros(problem.tiles, np.int64)
    np.maximum.at(send_extra_most, problem.source, send_extra)
    receive_extra = np.zeros(problem.tiles, np.int64)
    np.maximum.at(receive_extra, receiver, times.done - times.write - words)
    return Instance(
        mirror=False,
        tiles=problem.tiles,
        hot=hot.elements,
        source=problem.source,
        words=problem.words,
        bounds=problem.destination_start,
        receiver=receiver,
        head=times.head,
        tail=times.tail,
        window=times.window,
        write=times.write,
        send_first=hot.send_first,
        send_count=hot.send_count,
        receive_first=hot.receive_first,
        receive_count=hot.receive_count,
        send_extra=send_extra,
        send_extra_most=send_extra_most,
        receive_extra=receive_extra,
        both_windows=narrow[0] & narrow[1],
        shortest=shortest,
        before_bounds=np.searchsorted(pairs.after, np.arange(len(problem) + 1)),
        before=pairs.before,
        lag=times.payload[pairs.before],
    )


def mirrored(forward: Instance) -> Instance:
    """The same phase with time running backwards; mirroring twice gives the first again."""
    words = forward.words
    after = np.repeat(np.arange(len(words)), np.diff(forward.before_bounds))
    order = np.argsort(forward.before, kind="stable")
    before = forward.before[order]
    after = after[order]
    return forward._replace(
        mirror=not forward.mirror,
        head=forward.tail - words,
        tail=forward.head + words,
        window=-forward.window,
        write=-forward.write,
        before_bounds=np.searchsorted(before, np.arange(len(words) + 1)),
        before=after,
        # -(P'_j + w_j) >= -(P'_i + w_i) + lag  <=>  P'_i >= P'_j + w_j - w_i + lag
        lag=forward.lag[order] + words[after] - words[before],
    )
