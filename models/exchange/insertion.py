"""Schedules by insertion: transfers enter in a given order, each at its earliest fit."""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import kernel, small_kernel
from ipuopt.models.exchange.fit import earliest
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.parity import encodable
from ipuopt.models.exchange.problem import IntArray
from ipuopt.models.exchange.state import State, place


@kernel
def ready(p: Instance, s: State, transfer: int) -> int:
    """Least start of a transfer that its head and its placed predecessors allow (E1, E5)."""
    start = int(p.head[transfer])
    for pair in range(p.before_bounds[transfer], p.before_bounds[transfer + 1]):
        start = max(start, int(s.start[p.before[pair]] + p.lag[pair]))
    return start


@small_kernel
def insert_all(p: Instance, s: State, order: IntArray, horizon: int, appending: bool) -> bool:
    """Place transfers in ``order`` (a topological one), each at its earliest fit.

    ``appending`` never goes back before the previous ends on the transfer's own buses. That is the
    rule of the public compiler (``ipu21.md`` 3.4): P - P0 is not before the previous send end of
    the source, nor before the previous write end of any receiver. One kernel serves both ways:
    compiling it twice would take longer than most phases.

    Forward in time, a start at which a row of instructions could not be encoded is passed over (E7).
    False as soon as a transfer would end after ``horizon``.
    """
    saved = np.empty(np.diff(p.claim_start).max(), np.uint64)
    send_end = np.zeros(p.tiles, np.int64)
    write_end = np.zeros(p.tiles, np.int64)
    for transfer in order:
        tile, words = p.source[transfer], p.words[transfer]
        start = ready(p, s, transfer)
        if appending:
            free = send_end[tile]
            for receive in range(p.bounds[transfer], p.bounds[transfer + 1]):
                free = max(free, write_end[p.receiver[receive]])
            start = max(start, free + p.head[transfer])
        latest = horizon - p.tail[transfer]
        start = earliest(p, s, transfer, start, latest)
        while start >= 0 and not p.mirror and not encodable(p, s, transfer, start, saved):
            start = earliest(p, s, transfer, start + 1, latest)
        if start < 0:
            return False
        place(p, s, transfer, start)
        send_end[tile] = start + words
        for receive in range(p.bounds[transfer], p.bounds[transfer + 1]):
            write_end[p.receiver[receive]] = start + p.write[receive] + p.write_length[receive]
    return True
