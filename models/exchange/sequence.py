"""Bound by set-up times: jobs of one machine in their shortest order."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from ipuopt.models.exchange.claims import BUSES
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.paths import nearest_order, shortest_order
from ipuopt.models.exchange.problem import IntArray
from ipuopt.models.exchange.setups import Machine, setup_times
from ipuopt.models.exchange.takes import Takes, takes_of

SEQUENCE = "sequence with set-up times"

EFFORT = 20_000_000
"""Pairs of jobs times receivers that are looked at for one bound."""


class Sequence(NamedTuple):
    """A machine, and its jobs in an order that may be the shortest.

    Attributes
    ----------
    bound
        Least horizon that any order of these jobs allows.
    machine
        The machine.
    order, start
        Transfers in this order, and when they start if nothing but their set-up times counts.
    """

    bound: int
    machine: Machine
    order: IntArray
    start: IntArray


def sequence_bound(phase: Instance, effort: int = EFFORT) -> tuple[int, str]:
    """Least horizon that the set-up times of one machine allow, and the argument.

    Parameters
    ----------
    phase
        Forward instance: the bound holds for its widths.
    effort
        Pairs of jobs times receivers to look at; machines come in order of their simple bounds.
    """
    found = sequences(phase, effort)
    return max((sequence.bound for sequence in found), default=0), SEQUENCE


def sequences(phase: Instance, effort: int = EFFORT) -> list[Sequence]:
    """Orders of the machines most loaded, each set of transfers once; those without set-ups not.

    As :func:`sequence_bound`. Machines are the muxes, the send buses, and the hot elements. Where
    the nearest next job will do, no shorter order is looked for.
    """
    takes = takes_of(phase)
    machines = _machines(phase, takes)
    machines.sort(key=lambda machine: -_simple(phase, machine))
    seen: set[tuple[int, bytes]] = set()
    result: list[Sequence] = []
    best = 0
    for machine in machines:
        jobs = machine.transfer
        key = machine.family, jobs.tobytes()
        if key in seen:
            continue
        seen.add(key)
        effort -= len(jobs) * int((1 + phase.bounds[jobs + 1] - phase.bounds[jobs]).sum())
        if effort < 0:
            break
        setup = setup_times(phase, takes, machine)
        if setup.any():
            result.append(_sequence(phase, machine, setup, best))
            best = max(best, result[-1].bound)
    return result


def _sequence(phase: Instance, machine: Machine, setup: IntArray, best: int) -> Sequence:
    """A shortest order, or any that ends at ``best`` at most."""
    head, tail = _ends(phase, machine)
    work = int(machine.length.sum())
    bound = work + int(head.min() + tail.min())
    order = nearest_order(setup, head)
    steps = _steps(machine, setup, head, order)
    if steps[-1] + machine.length[order[-1]] + tail[order[-1]] > best:
        value, order = shortest_order(setup, head, tail)
        bound = work + value
        steps = _steps(machine, setup, head, order)
    return Sequence(bound, machine, machine.transfer[order], steps - machine.first[order])


def _steps(machine: Machine, setup: IntArray, head: IntArray, order: IntArray) -> IntArray:
    """First event of each job of an order."""
    steps = np.zeros_like(order)
    np.cumsum(machine.length[order[:-1]] + setup[order[:-1], order[1:]], out=steps[1:])
    steps += head[order[0]]
    return steps


def _ends(phase: Instance, machine: Machine) -> tuple[IntArray, IntArray]:
    """Least first event of each job, and least time from its end to the horizon."""
    jobs = machine.transfer
    return (
        phase.head[jobs] + machine.first,
        phase.tail[jobs] - machine.first - machine.length,
    )


def _simple(phase: Instance, machine: Machine) -> int:
    head, tail = _ends(phase, machine)
    return int(head.min() + machine.length.sum() + tail.min())


def _machines(phase: Instance, takes: Takes) -> list[Machine]:
    """All machines of two jobs or more; they take the events of the bus, elements as well."""
    tiles = phase.tiles
    hot = takes.row >= BUSES * tiles
    machine = np.where(hot, np.minimum(takes.row, takes.against), takes.row)
    length = np.where(hot, phase.words[takes.transfer], takes.length)
    family = np.where(hot, 2, takes.row // tiles)
    keep = np.flatnonzero(hot | (takes.row < 2 * tiles))
    order = keep[np.argsort(machine[keep], kind="stable")]
    cuts = np.flatnonzero(np.diff(machine[order], prepend=-1, append=-1))
    return [
        Machine(int(family[jobs[0]]), takes.transfer[jobs], takes.first[jobs], length[jobs])
        for jobs in (order[a:b] for a, b in itertools.pairwise(cuts))
        if len(jobs) > 1
    ]
