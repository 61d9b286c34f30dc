"""One-machine bounds: jobs with heads and tails on what takes one interval at a time."""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.models.exchange.problem import IntArray


class Jobs(NamedTuple):
    """Intervals of machines: least first event, least length, least time from end to horizon."""

    machine: IntArray
    release: IntArray
    length: IntArray
    rest: IntArray

    def take(self, which: IntArray, machine: IntArray) -> Jobs:
        """Some of the jobs, on other machines."""
        return Jobs(machine, self.release[which], self.length[which], self.rest[which])


def joined(*parts: Jobs) -> Jobs:
    """All jobs of some lists."""
    return Jobs(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def one_machine(jobs: Jobs) -> tuple[int, int]:
    """Largest of least release + lengths + least rest, and of the preemptive schedules.

    The latter (Jackson) is optimal for the machine without preemption relaxed: Carlier (1982),
    doi:10.1016/S0377-2217(82)80007-6.
    """
    if not len(jobs.machine):
        return 0, 0
    span = int(jobs.release.max()) + 1
    order = np.argsort(jobs.machine * span + jobs.release, kind="stable")
    return _machines(*(column[order] for column in jobs))


@kernel
def _machines(
    machine: IntArray, release: IntArray, length: IntArray, rest: IntArray
) -> tuple[int, int]:
    """As :func:`one_machine`, sorted by (machine, release)."""
    simple = 0
    preemptive = 0
    begin = 0
    while begin < len(machine):
        end = begin
        while end < len(machine) and machine[end] == machine[begin]:
            end += 1
        busy = length[begin:end].sum()
        simple = max(simple, release[begin] + busy + rest[begin:end].min())
        if release[end - 1] + busy + rest[begin:end].max() > preemptive:
            jobs = slice(begin, end)
            preemptive = max(preemptive, _jackson(release[jobs], length[jobs], rest[jobs]))
        begin = end
    return simple, preemptive


@kernel
def _jackson(release: IntArray, length: IntArray, rest: IntArray) -> int:
    """Makespan of the preemptive schedule: of the jobs released, that with the longest rest."""
    waiting = [(0, 0, 0)]
    waiting.clear()
    end, time, job = 0, 0, 0
    while job < len(release) or waiting:
        if not waiting:
            time = max(time, release[job])
        while job < len(release) and release[job] <= time:
            heapq.heappush(waiting, (-rest[job], length[job], job))
            job += 1
        longest, left, which = heapq.heappop(waiting)
        stop = time + left
        if job < len(release) and release[job] < stop:
            heapq.heappush(waiting, (longest, stop - release[job], which))
            stop = release[job]
        else:
            end = max(end, stop - longest)
        time = stop
    return end
