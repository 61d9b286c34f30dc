"""Set-up times between transfers that follow one another on a bus, a mux or a memory element.

Whatever two transfers share forbids an open interval of the difference of their starts. Where these
intervals overlap, one order holds on all that they share: the second may have to wait longer than
the bus itself asks for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.models.exchange.claims import FILL_FIRST, FILL_ROW, TEST_FIRST, TEST_LENGTH, Row
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.problem import IntArray

NEVER = 1 << 20
"""Set-up time of an order that (E5) forbids: more than any horizon of a few such jobs."""


class Hots(NamedTuple):
    """Intervals on hot elements by transfer: sends, and receives (E6).

    ``element`` counts both from 0; ``[first, first + length)`` from the start of the transfer.
    """

    send_start: IntArray
    send_element: IntArray
    send_length: IntArray
    receive_start: IntArray
    receive_element: IntArray
    receive_first: IntArray
    receive_length: IntArray


class Machine(NamedTuple):
    """Jobs of which no two may overlap: ``[P + first, + length)`` of some transfers.

    ``family`` is 0 for a send bus, 1 for a mux, 2 for a hot element.
    """

    family: int
    transfer: IntArray
    first: IntArray
    length: IntArray


def hots_of(phase: Instance) -> Hots:
    """Collect what transfers take of hot elements.

    Claims fill the events of the bus; until when an endpoint is not done is in what they test.
    """
    base = Row.HOT * phase.tiles
    elements = (phase.rows - base) // 2
    owner = np.repeat(np.arange(len(phase.words)), np.diff(phase.claim_start))
    row = phase.claims[:, FILL_ROW].astype(np.int64) - base
    sends = np.flatnonzero((row >= 0) & (row < elements))
    receives = np.flatnonzero(row >= elements)
    count = np.arange(len(phase.words) + 1)
    claims = phase.claims.astype(np.int64)
    first = claims[:, FILL_FIRST]
    length = claims[:, TEST_FIRST] + claims[:, TEST_LENGTH] - first
    return Hots(
        np.searchsorted(owner[sends], count),
        row[sends],
        length[sends],
        np.searchsorted(owner[receives], count),
        row[receives] - elements,
        first[receives],
        length[receives],
    )


@kernel
def setup_times(p: Instance, hots: Hots, machine: Machine) -> IntArray:
    """Least time that the second job waits beyond the end of the first, shape ``(jobs, jobs)``.

    For the least difference of starts that everything shared allows and that is large enough for
    this machine; 0 on the diagonal.
    """
    count = len(machine.transfer)
    result = np.zeros((count, count), np.int64)
    place = np.full(p.tiles, -1, np.int64)
    for one in range(count):
        i = machine.transfer[one]
        for receive in range(p.bounds[i], p.bounds[i + 1]):
            place[p.receiver[receive]] = receive
        for other in range(count):
            if one == other:
                continue
            least = machine.first[one] + machine.length[one] - machine.first[other]
            gap = _least_difference(p, hots, i, machine.transfer[other], place, least)
            result[one, other] = gap - least
        for receive in range(p.bounds[i], p.bounds[i + 1]):
            place[p.receiver[receive]] = -1
    return result


@kernel
def _least_difference(p: Instance, hots: Hots, i: int, j: int, place: IntArray, least: int) -> int:
    """Least P_j - P_i from ``least`` on that no shared resource forbids.

    ``place`` is the receiver of ``i`` on each tile, -1 without one.
    """
    for pair in range(p.before_bounds[i], p.before_bounds[i + 1]):
        if p.before[pair] == j:
            return least + NEVER
    gap = least
    for pair in range(p.before_bounds[j], p.before_bounds[j + 1]):
        if p.before[pair] == i:
            gap = max(gap, p.lag[pair])
    while True:
        before = gap
        if p.source[j] in (p.source[i], p.partner[i]) or p.source[i] == p.partner[j]:
            gap = _past(gap, 0, p.words[i], 0, p.words[j])
        if p.partner[j] >= 0 and place[p.partner[j]] >= 0:
            other = place[p.partner[j]]
            gap = _past(gap, p.window[other], p.window_length[other], 0, p.words[j])
            gap = _past(gap, p.write[other], p.write_length[other], 0, p.words[j])
        for receive in range(p.bounds[j], p.bounds[j + 1]):
            if p.receiver[receive] == p.partner[i]:
                gap = _past(gap, 0, p.words[i], p.window[receive], p.window_length[receive])
                gap = _past(gap, 0, p.words[i], p.write[receive], p.write_length[receive])
            other = place[p.receiver[receive]]
            if other >= 0:
                gap = _past(
                    gap,
                    p.window[other],
                    p.window_length[other],
                    p.window[receive],
                    p.window_length[receive],
                )
                gap = _past(
                    gap,
                    p.write[other],
                    p.write_length[other],
                    p.write[receive],
                    p.write_length[receive],
                )
        for send in range(hots.send_start[i], hots.send_start[i + 1]):
            for receive in range(hots.receive_start[j], hots.receive_start[j + 1]):
                if hots.send_element[send] == hots.receive_element[receive]:
                    gap = _past(
                        gap,
                        0,
                        hots.send_length[send],
                        hots.receive_first[receive],
                        hots.receive_length[receive],
                    )
        for send in range(hots.send_start[j], hots.send_start[j + 1]):
            for receive in range(hots.receive_start[i], hots.receive_start[i + 1]):
                if hots.send_element[send] == hots.receive_element[receive]:
                    gap = _past(
                        gap,
                        hots.receive_first[receive],
                        hots.receive_length[receive],
                        0,
                        hots.send_length[send],
                    )
        if gap == before:
            return gap


@kernel
def _past(gap: int, first: int, length: int, other_first: int, other_length: int) -> int:
    """``gap``, or where it is forbidden the least larger difference that is not.

    Intervals [P_i + first, + length) and [P_j + other_first, + other_length) may not overlap.
    """
    if first - other_first - other_length < gap < first + length - other_first:
        return first + length - other_first
    return gap
