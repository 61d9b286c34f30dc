"""Exact rules of a phase, judged from the formulation alone; no code of the solving side."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipuopt.models.exchange.check_controls import controls
from ipuopt.models.exchange.check_memory import elements, order
from ipuopt.models.exchange.check_times import MOST, Times, Violation, sorted_by, times_of, told
from ipuopt.models.exchange.check_width import widths
from ipuopt.models.exchange.problem import IntArray, Problem, Solution
from ipuopt.target.fabric import PARTNER

LATEST = 1 << 31
"""Events that a start must stay below to be judged at all."""


def horizon(problem: Problem, solution: Solution) -> int:
    """Largest "done" over all tiles, in events; 0 for an empty phase (``ipu21.md`` 3.1, 3.2)."""
    if not len(problem):
        return 0
    start = np.asarray(solution.start, dtype=np.int64)
    times = times_of(problem, start, np.asarray(solution.paired, dtype=np.bool_))
    return int(max(times.done.max(), times.send_done.max()))


def check(problem: Problem, solution: Solution) -> tuple[Violation, ...]:
    """Violations of (E1)..(E8) as ``(label, message)``; empty for a valid schedule.

    Of each kind :data:`MOST` are told, and one more message counts the rest. A schedule that
    cannot be judged, by its shape or by starts from 2^31 on, has the one label ``shape``. Times of
    a transfer that does not qualify for its width mean nothing: where (E8) is broken, nothing else
    is judged. Rows are judged (E7) where (E1)..(E4) hold.
    """
    shape = _shape(problem, solution)
    if shape or not len(problem):
        return shape
    start = np.asarray(solution.start).astype(np.int64)
    paired = np.asarray(solution.paired)
    times = times_of(problem, start, paired)
    wrong = widths(problem, paired, times)
    if wrong:
        return tuple(wrong)
    intervals = _Intervals(problem, start, times)
    by_write = sorted_by(problem.destination_tile, times.write)
    on_start, rows = controls(problem, start, times, by_write)
    fabric = (
        *_least(start, times),
        *_apart("E2", "send", *intervals.sends()),
        *_apart("E3", "source window", *intervals.windows(times.opens, times.closes)),
        *_apart("E3", "write window", *intervals.windows(times.write, times.write + times.length)),
        *on_start,
    )
    memory = (*order(problem, start, times), *elements(problem, start, times))
    return (*fabric, *memory, *(() if fabric else rows))


def _shape(problem: Problem, solution: Solution) -> tuple[Violation, ...]:
    start, paired = np.asarray(solution.start), np.asarray(solution.paired)
    shape = (len(problem),)
    if start.shape != shape or start.dtype.kind not in "iu":
        found = f"starts of type {start.dtype} and shape {start.shape}"
        return (("shape", f"{found}, expected integers of shape {shape}"),)
    if paired.shape != shape or paired.dtype.kind != "b":
        found = f"widths of type {paired.dtype} and shape {paired.shape}"
        return (("shape", f"{found}, expected truth values of shape {shape}"),)
    if len(problem) and (start.max() >= LATEST or start.min() <= -LATEST):
        return (("shape", f"starts {start.min()}..{start.max()}, expected below {LATEST}"),)
    return ()


def _least(start: IntArray, times: Times) -> list[Violation]:
    """(E1)."""
    bad = np.flatnonzero(start < times.least)
    messages = [f"transfer {j} starts at {start[j]}, before {times.least[j]}" for j in bad[:MOST]]
    return told("E1", messages, len(bad))


class _Busy(NamedTuple):
    """Intervals of tiles; the last ones, from ``reserved`` on, are those of a sender's partner."""

    tile: IntArray
    begin: IntArray
    end: IntArray
    transfer: IntArray
    reserved: int


class _Intervals:
    """Intervals together with the time for which Paired64 reserves the source's partner."""

    def __init__(self, problem: Problem, start: IntArray, times: Times) -> None:
        self.problem, self.start, self.times = problem, start, times
        self.wide = np.flatnonzero(times.items < problem.words)

    def sends(self) -> _Busy:
        index = np.arange(len(self.problem), dtype=np.int64)
        end = self.start + self.times.items
        return self._with_partners(self.problem.source, self.start, end, index)

    def windows(self, begin: IntArray, end: IntArray) -> _Busy:
        tile = self.problem.destination_tile
        return self._with_partners(tile, begin, end, self.times.transfer)

    def _with_partners(
        self, tile: IntArray, begin: IntArray, end: IntArray, transfer: IntArray
    ) -> _Busy:
        count = len(tile)
        wide = self.wide
        if len(wide):
            tile = np.concatenate((tile, PARTNER[self.problem.source[wide]]))
            begin = np.concatenate((begin, self.start[wide]))
            end = np.concatenate((end, self.times.send_done[wide]))
            transfer = np.concatenate((transfer, wide))
        return _Busy(tile, begin, end, transfer, count)


def _apart(
    label: str,
    what: str,
    tile: IntArray,
    begin: IntArray,
    end: IntArray,
    transfer: IntArray,
    reserved: int,
) -> list[Violation]:
    """(E2), (E3): intervals of one tile do not overlap; neighbours in time tell.

    Two reservations that overlap are two sends of the partner that do.
    """
    order = sorted_by(tile, begin)
    tile, begin, end = tile[order], begin[order], end[order]
    bad = np.flatnonzero((tile[1:] == tile[:-1]) & (begin[1:] < end[:-1]))
    bad = bad[np.minimum(order[bad], order[bad + 1]) < reserved]

    def name(k: int) -> str:
        kind = what if order[k] < reserved else "time reserved as partner by"
        owner = "of transfer" if order[k] < reserved else "transfer"
        return f"{kind} {owner} {transfer[order[k]]} [{begin[k]}, {end[k]})"

    messages = [f"tile {tile[k]}: {name(k)} and {name(k + 1)} overlap" for k in bad[:MOST]]
    return told(label, messages, len(bad))
