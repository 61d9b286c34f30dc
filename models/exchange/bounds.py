"""Lower bounds on the horizon of a phase."""

from __future__ import annotations

import heapq

import numpy as np

from ipuopt.compiled import small_kernel
from ipuopt.models.exchange.instance import Instance, instance
from ipuopt.models.exchange.problem import IntArray, Problem

SIMPLE = "head + words + tail"
PREEMPTIVE = "preemptive one-machine"


def lower_bound(problem: Problem) -> tuple[int, str]:
    """Least horizon that heads, words and tails of a phase allow, and the argument.

    Returns
    -------
    tuple
        Events, 0 for an empty phase, and the weakest argument that proves them.

    Notes
    -----
    Every send bus, every mux and every memory element that sends and receives share is a machine
    that takes one job at a time (E2, E3, E6). A job is a transfer's interval there: it is released
    at its head, takes its words, and at least its tail lies between its end and the horizon.
    ``head + words + tail`` is least head + sum + least tail; the preemptive schedule in order of
    tails (Jackson) is optimal for the machine without preemption relaxed, hence a bound: Carlier
    (1982), doi:10.1016/S0377-2217(82)80007-6. Heads and tails run through the chains of (E5); every transfer
    is a job of its sender, so no chain is longer than that machine's preemptive schedule.
    """
    return lower_bound_of(instance(problem))


def lower_bound_of(phase: Instance) -> tuple[int, str]:
    """As :func:`lower_bound`, on a forward instance."""
    if not len(phase.words):
        return 0, SIMPLE
    head, tail = _chained(phase)
    simple, preemptive = _machines(*_jobs(phase, head, tail))
    return max((simple, 1, SIMPLE), (preemptive, 0, PREEMPTIVE))[::2]


@small_kernel
def _chained(p: Instance) -> tuple[IntArray, IntArray]:
    """Heads and tails through predecessors (E5); listed order is a topological one."""
    head, tail = p.head.copy(), p.tail.copy()
    for after in range(len(head)):
        for pair in range(p.before_bounds[after], p.before_bounds[after + 1]):
            head[after] = max(head[after], head[p.before[pair]] + p.lag[pair])
    for after in range(len(head) - 1, -1, -1):
        for pair in range(p.before_bounds[after], p.before_bounds[after + 1]):
            before = p.before[pair]
            tail[before] = max(tail[before], tail[after] + p.lag[pair])
    return head, tail


def _jobs(
    phase: Instance, head: IntArray, tail: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Columns machine, release, words, tail, sorted by (machine, release).

    Machines: send buses, then muxes, then hot elements.
    """
    everyone = np.arange(len(head))
    receives = np.repeat(everyone, np.diff(phase.bounds))
    hot_sends = np.repeat(everyone, phase.send_count)
    hot_receives = np.repeat(np.arange(len(receives)), phase.receive_count)
    job = np.concatenate((everyone, receives, hot_sends, receives[hot_receives]))
    machine = np.concatenate(
        (
            phase.source,
            phase.tiles + phase.receiver,
            2 * phase.tiles + _spread(phase.send_first, phase.send_count),
            2 * phase.tiles + _spread(phase.receive_first, phase.receive_count),
        )
    )
    offset = np.zeros(len(job), np.int64)
    offset[len(head) : len(head) + len(receives)] = phase.window
    offset[len(job) - len(hot_receives) :] = phase.write[hot_receives]
    release = head[job] + offset
    order = np.lexsort((release, machine))
    words = phase.words[job]
    rest = tail[job] - offset - words
    return machine[order], release[order], words[order], rest[order]


def _spread(first: IntArray, count: IntArray) -> IntArray:
    """Concatenated ranges ``[first, first + count)``."""
    before = np.cumsum(count) - count
    return np.repeat(first - before, count) + np.arange(int(count.sum()))


@small_kernel
def _machines(
    machine: IntArray, release: IntArray, words: IntArray, tail: IntArray
) -> tuple[int, int]:
    """Largest of least head + words + least tail, and of the preemptive schedules."""
    simple = 0
    preemptive = 0
    begin = 0
    while begin < len(machine):
        end = begin
        while end < len(machine) and machine[end] == machine[begin]:
            end += 1
        busy = words[begin:end].sum()
        simple = max(simple, release[begin] + busy + tail[begin:end].min())
        if release[end - 1] + busy + tail[begin:end].max() > preemptive:
            jobs = slice(begin, end)
            preemptive = max(preemptive, _jackson(release[jobs], words[jobs], tail[jobs]))
        begin = end
    return simple, preemptive


@small_kernel
def _jackson(release: IntArray, words: IntArray, tail: IntArray) -> int:
    """Makespan of the preemptive schedule: of the jobs released, that with the longest tail."""
    waiting = [(0, 0, 0)]
    waiting.clear()
    end, time, job = 0, 0, 0
    while job < len(release) or waiting:
        if not waiting:
            time = max(time, release[job])
        while job < len(release) and release[job] <= time:
            heapq.heappush(waiting, (-tail[job], words[job], job))
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
