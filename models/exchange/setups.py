"""Set-up times between transfers that follow one another on a bus, a mux or a memory element.

Whatever two transfers share forbids an open interval of the difference of their starts. Where these
intervals overlap, one order holds on all that they share: the second may have to wait longer than
the bus itself asks for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.problem import IntArray
from ipuopt.models.exchange.takes import Takes

NEVER = 1 << 20
"""Set-up time of an order that (E5) forbids: more than any horizon of a few such jobs."""


class Machine(NamedTuple):
    """Jobs of which no two may overlap: ``[P + first, + length)`` of some transfers.

    ``family`` is 0 for a send bus, 1 for a mux, 2 for a hot element.
    """

    family: int
    transfer: IntArray
    first: IntArray
    length: IntArray


def setup_times(phase: Instance, takes: Takes, machine: Machine) -> IntArray:
    """Least time that the second job waits beyond the end of the first, shape ``(jobs, jobs)``.

    For the least difference of starts that everything shared allows and that is large enough for
    this machine; 0 on the diagonal.
    """
    jobs = machine.transfer
    least = (machine.first + machine.length)[:, None] - machine.first
    gap = least.copy()
    place = np.full(len(phase.words), -1, np.int64)
    place[jobs] = np.arange(len(jobs))
    ordered = np.zeros(0, np.int64)
    if len(phase.before):
        after = place[np.repeat(np.arange(len(place)), np.diff(phase.before_bounds))]
        ordered = np.flatnonzero((place[phase.before] >= 0) & (after >= 0))
        one, other = place[phase.before[ordered]], after[ordered]
        gap[one, other] = np.maximum(gap[one, other], phase.lag[ordered])
    _widen(gap, jobs, np.full(phase.rows, -1, np.int64), takes)
    if len(ordered):
        gap[other, one] = least[other, one] + NEVER
    np.fill_diagonal(gap, np.diagonal(least))
    return gap - least


@kernel
def _widen(gap: IntArray, jobs: IntArray, place: IntArray, takes: Takes) -> None:
    """Raise each P_j - P_i to the least value from there on that nothing shared forbids.

    ``place`` holds -1 for each bit row.
    """
    for one in range(len(jobs)):
        i = jobs[one]
        for take in range(takes.start[i], takes.start[i + 1]):
            place[takes.row[take]] = take
        for other in range(len(jobs)):
            j = jobs[other]
            found, before = gap[one, other], gap[one, other] - 1
            while found > before:
                before = found
                for take in range(takes.start[j], takes.start[j + 1]):
                    shared = place[takes.against[take]]
                    if shared >= 0:
                        low = takes.first[shared] - takes.first[take] - takes.length[take]
                        high = takes.first[shared] + takes.length[shared] - takes.first[take]
                        if low < found < high:
                            found = high
            gap[one, other] = found
        for take in range(takes.start[i], takes.start[i + 1]):
            place[takes.row[take]] = -1
