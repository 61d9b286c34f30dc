"""Fixed offsets of every interval from the start of its transfer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.models.exchange.problem import BoolArray, IntArray, Problem
from ipuopt.models.exchange.widths import early, pair_time, until_format_on
from ipuopt.target.fabric import ROW, time_to_mux


@dataclass(frozen=True, slots=True)
class Timing:
    """Offsets from the start P in events, and lengths, by transfer or by receiver.

    Attributes
    ----------
    items
        Events of the send bus: words, or pairs of words, by transfer.
    head
        Least start P0, by transfer (E1).
    send_done
        s done - P, by transfer.
    payload
        Completion of the payload - P, by transfer: send and all write windows (E5).
    tail
        Last "done" of any endpoint - P, by transfer.
    window, window_length
        X - P and events of the source window, by receiver. The window of a Paired64 transfer
        opens at the source event of an early receiver, at "format on" of a late one.
    write, write_length, done
        Y - P, events of the write window, and t done - P, by receiver.
    """

    items: IntArray
    head: IntArray
    send_done: IntArray
    payload: IntArray
    tail: IntArray
    window: IntArray
    window_length: IntArray
    write: IntArray
    write_length: IntArray
    done: IntArray


def timing(problem: Problem, paired: BoolArray | None = None) -> Timing:
    """All offsets of a phase (``ipu21.md`` 3.1, 3.2) for one choice of widths.

    Parameters
    ----------
    problem
        The phase.
    paired
        Transfers sent as Paired64, shape ``(transfers,)``; as given in the problem unless said.
    """
    if not len(problem):
        return Timing(*(np.zeros(0, np.int64) for _ in range(10)))
    paired = problem.paired if paired is None else paired
    receivers = np.diff(problem.destination_start)
    first = problem.destination_start[:-1]
    items = np.where(paired, problem.words // 2, problem.words)
    length = np.repeat(items, receivers)
    rows = 2 * ROW[problem.destination_tile].astype(np.int64)
    source = np.repeat(problem.source, receivers)
    mux = time_to_mux(problem.tiles)[source, problem.destination_tile].astype(np.int64)
    head = np.maximum(0, -np.minimum.reduceat(mux, first))
    window = mux + 1
    window_length = length
    write = window + 52 + rows - (length == 52)
    done = window + length + 57 + rows
    if paired.any():
        wide = np.repeat(paired, receivers)
        both = pair_time(problem)
        shift = np.maximum(0, 1 - np.minimum.reduceat(both, first))
        opens = both + np.repeat(shift - head, receivers)
        format_on = opens + until_format_on(problem.destination_tile)
        first_reached = early(problem)
        window = np.where(wide, np.where(first_reached, opens, format_on), window)
        window_length = np.where(wide, format_on + length - window, window_length)
        write = np.where(wide, format_on + 2, write)
        done = np.where(wide, format_on + length + 7, done)
    send_done = np.maximum(items, 6 - head)
    payload = np.maximum(items, np.maximum.reduceat(write + length, first))
    tail = np.maximum(send_done, np.maximum.reduceat(done, first))
    return Timing(
        items=items,
        head=head,
        send_done=send_done,
        payload=payload,
        tail=tail,
        window=window,
        window_length=window_length,
        write=write,
        write_length=length,
        done=done,
    )


def horizon_of(start: IntArray, tail: IntArray) -> int:
    """Largest "done" of a schedule; 0 for an empty phase."""
    return int((start + tail).max()) if len(start) else 0
