"""Schedules by insertion: transfers enter in a given order, each at its earliest fit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipuopt.compiled import inner_kernel, small_kernel
from ipuopt.models.exchange.fit import earliest
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.parity import Saved, encodable
from ipuopt.models.exchange.problem import IntArray
from ipuopt.models.exchange.state import State, place


@inner_kernel
def ready(p: Instance, s: State, transfer: int) -> int:
    """Least start of a transfer that its head and its placed predecessors allow (E1, E5)."""
    start = int(p.head[transfer])
    for pair in range(p.before_bounds[transfer], p.before_bounds[transfer + 1]):
        if s.start[p.before[pair]] >= 0:
            start = max(start, int(s.start[p.before[pair]] + p.lag[pair]))
    return start


@inner_kernel
def fitting(p: Instance, s: State, transfer: int, first: int, latest: int, saved: Saved) -> int:
    """Earliest fit in a range of starts; -1 without one.

    Forward in time, a start at which a row of instructions could not be encoded is passed over (E7).
    ``saved`` is room for :func:`~ipuopt.models.exchange.parity.encodable`.
    """
    start = earliest(p, s, transfer, first, latest)
    while start >= 0 and not p.mirror and not encodable(p, s, transfer, start, saved):
        start = earliest(p, s, transfer, start + 1, latest)
    return start


class Ends(NamedTuple):
    """What appending knows of each tile: end of its last send, and of its last write window."""

    send: IntArray
    write: IntArray


def insert_all(
    p: Instance, s: State, order: IntArray, horizon: int, ends: Ends | None = None
) -> bool:
    """Place transfers in ``order`` (a topological one), each at its earliest fit (:func:`fitting`).

    With ``ends``, which are kept up to date, transfers are appended: never before the previous ends
    on their own buses. That is the rule of the public compiler (``ipu21.md`` 3.4): P - P0 is not
    before the previous send end of the source, nor before the previous write end of any receiver.

    False as soon as a transfer would end after ``horizon``.
    """
    saved = np.empty(np.diff(p.claim_start).max(), np.uint64)
    none = np.empty(0, np.int64)
    return _insert_all(p, s, order, horizon, ends or Ends(none, none), saved)


@small_kernel
def _insert_all(
    p: Instance, s: State, order: IntArray, horizon: int, ends: Ends, saved: Saved
) -> bool:
    """One kernel serves both ways: compiling it twice would take longer than most phases."""
    appending = len(ends.send) > 0
    for transfer in order:
        start = ready(p, s, transfer)
        if appending:
            free = ends.send[p.source[transfer]]
            for receive in range(p.bounds[transfer], p.bounds[transfer + 1]):
                free = max(free, ends.write[p.receiver[receive]])
            start = max(start, free + p.head[transfer])
        start = fitting(p, s, transfer, start, horizon - p.tail[transfer], saved)
        if start < 0:
            return False
        place(p, s, transfer, start)
        if appending:
            ends.send[p.source[transfer]] = start + p.words[transfer]
            for receive in range(p.bounds[transfer], p.bounds[transfer + 1]):
                end = start + p.write[receive] + p.write_length[receive]
                ends.write[p.receiver[receive]] = end
    return True
