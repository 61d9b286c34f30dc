"""Fixed offsets of every interval from the start of its transfer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.models.exchange.problem import IntArray, Problem
from ipuopt.target.fabric import ROW, time_to_mux


@dataclass(frozen=True, slots=True)
class Timing:
    """Offsets from the start P in events, by transfer or by receiver.

    Attributes
    ----------
    head
        Least start P0, by transfer (E1).
    send_done
        s done - P, by transfer.
    payload
        Completion of the payload - P, by transfer: send and all write windows (E5).
    tail
        Last "done" of any endpoint - P, by transfer.
    window, write, done
        X - P, Y - P and t done - P, by receiver.
    """

    head: IntArray
    send_done: IntArray
    payload: IntArray
    tail: IntArray
    window: IntArray
    write: IntArray
    done: IntArray


def timing(problem: Problem) -> Timing:
    """All offsets of a phase (``ipu21.md`` 3.1)."""
    if not len(problem):
        return Timing(*(np.zeros(0, np.int64) for _ in range(7)))
    receivers = np.diff(problem.destination_start)
    first = problem.destination_start[:-1]
    words = np.repeat(problem.words, receivers)
    rows = 2 * ROW[problem.destination_tile].astype(np.int64)
    source = np.repeat(problem.source, receivers)
    mux = time_to_mux(problem.tiles)[source, problem.destination_tile].astype(np.int64)
    head = np.maximum(0, -np.minimum.reduceat(mux, first))
    window = mux + 1
    write = window + 52 + rows - (words == 52)
    done = window + words + 57 + rows
    send_done = np.maximum(problem.words, 6 - head)
    payload = np.maximum(problem.words, np.maximum.reduceat(write + words, first))
    tail = np.maximum(send_done, np.maximum.reduceat(done, first))
    return Timing(head, send_done, payload, tail, window, write, done)


def horizon_of(start: IntArray, tail: IntArray) -> int:
    """Largest "done" of a schedule; 0 for an empty phase."""
    return int((start + tail).max()) if len(start) else 0
