"""One-machine bounds: jobs with heads and tails on what takes one interval at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipuopt.compiled import small_kernel
from ipuopt.models.exchange.heap import pop, push
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
    machine, release, length, rest = (column[order] for column in jobs)
    begin = np.flatnonzero(np.diff(machine, prepend=-1))
    end = np.append(begin[1:], len(machine))
    busy = np.add.reduceat(length, begin)
    simple = release[begin] + busy + np.minimum.reduceat(rest, begin)
    most = release[end - 1] + busy + np.maximum.reduceat(rest, begin)
    scratch = np.empty((2, len(machine)), np.int64)
    preemptive = _jackson(begin, end, most, (release, length, -rest), scratch)
    return int(simple.max()), preemptive


@small_kernel
def _jackson(
    begin: IntArray,
    end: IntArray,
    most: IntArray,
    jobs: tuple[IntArray, IntArray, IntArray],
    scratch: IntArray,
) -> int:
    """Largest makespan of the preemptive schedules of all machines.

    Jobs are sorted by (machine, release), with the negative of their rest; ``most`` is no less than
    the makespan of a machine. Of the jobs released, that with the longest rest goes first.
    """
    release, length, urgency = jobs
    heap, left = scratch
    result = 0
    empty = len(heap) - len(left)  # a literal 0 has a type of its own: code for another push
    for machine in range(len(begin)):
        if most[machine] <= result:
            continue
        size, time, job = empty, 0, begin[machine]
        while job < end[machine] or size:
            if not size:
                time = max(time, release[job])
            while job < end[machine] and release[job] <= time:
                left[job] = length[job]
                size = push(heap, size, job, urgency, urgency)
                job += 1
            first = pop(heap, size, urgency, urgency)
            size -= 1
            stop = time + left[first]
            if job < end[machine] and release[job] < stop:
                left[first] = stop - release[job]
                size = push(heap, size, first, urgency, urgency)
                stop = release[job]
            else:
                result = max(result, stop - urgency[first])
            time = stop
    return result
