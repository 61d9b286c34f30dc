"""Cycles of a program three times: as the mapping model prices it, as its tables say, as a device counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ipuopt.codegen.kernels import Calls, copy_calls, run_calls
from ipuopt.codegen.kernels.table import COPY, purpose
from ipuopt.device.ledger import Ledger
from ipuopt.errors import CheckError
from ipuopt.layout import IntArray
from ipuopt.program import Program, StepKind
from ipuopt.result import Built
from ipuopt.target.constants import SYNC_CYCLES
from ipuopt.target.fabric import LOGICAL


@dataclass(frozen=True, slots=True)
class StepCycles:
    """A step of the plan: most cycles of one tile, phases with their synchronisation.

    Attributes
    ----------
    model
        What the mapping model charges.
    program
        What the tables of the program say.
    device
        What the device counted: events of phases, and kernel calls by what they were passed.
    """

    name: str
    model: int
    program: int
    device: int


@dataclass(frozen=True, slots=True)
class KernelCycles:
    """Kernels of one purpose: calls on all tiles, and the sum of their cycles."""

    purpose: str
    calls: int
    program: int
    device: int

    @property
    def agrees(self) -> bool:
        """Whether the calls cost what the program says.

        Copies are priced otherwise than call by call: those of sums at the rate of the loop that
        makes them, those into an accumulator not at all.
        """
        return self.purpose == COPY or self.program == self.device


def compare_cycles(
    built: Built, phases: Sequence[int], ledger: Ledger
) -> tuple[tuple[StepCycles, ...], tuple[KernelCycles, ...]]:
    """By step of the plan, and by purpose of the kernel.

    Parameters
    ----------
    phases
        Events of each phase, as counted; those of a repeat once an iteration.
    ledger
        Kernel calls, as counted.

    Raises
    ------
    CheckError
        If a tile has made more or fewer calls than the program has for it.
    """
    program = built.program
    runs = run_calls(built.plan, program, built.address)
    copies = copy_calls(program, built.address)
    step, tile = _expected(built, runs, copies)
    counted = _in_order(ledger, program.tiles, tile)
    cycles = np.zeros((len(program.steps), program.tiles), np.int64)
    np.add.at(cycles, (step, tile), np.array(ledger.cycles, np.int64)[counted])
    spent = cycles.max(axis=1, initial=0)
    np.add.at(spent, executed_phases(program), np.array(phases, np.int64) + SYNC_CYCLES)
    owner = [step.plan_step for step in program.steps]
    totals = np.zeros((len(built.plan.steps), 2), np.int64)
    listed = program.cycles_with(built.horizon)
    np.add.at(totals, owner, np.stack((listed, spent), axis=1))
    steps = tuple(
        StepCycles(planned.name, sum(planned.terms.values()), *pair)
        for planned, pair in zip(built.plan.steps, totals.tolist(), strict=True)
    )
    return steps, _by_purpose(built, runs, ledger)


def executed_phases(program: Program) -> IntArray:
    """Steps of the phases in the order of execution."""
    executed = program.executed[0]
    return executed[np.isin(executed, program.phases)]


def _expected(built: Built, runs: Calls, copies: Calls) -> tuple[IntArray, IntArray]:
    """Step and tile of every call, by tile and then in order of execution."""
    steps, parts = built.program.steps, [np.zeros(0, np.int64)]
    executed = built.program.executed[0]
    for number in executed.tolist():
        calls = copies if steps[number].kind is StepKind.COPY else runs
        parts.append(calls.tile[calls.of_step(number)])
    step = np.repeat(executed, [len(part) for part in parts[1:]])
    tile = np.concatenate(parts)
    order = np.argsort(tile, kind="stable")
    return step[order], tile[order]


def _in_order(ledger: Ledger, tiles: int, expected: IntArray) -> IntArray:
    """Places in the ledger, by logical tile and then in order of execution."""
    logical = LOGICAL[np.array(ledger.tile, np.int64)]
    made = np.bincount(logical, minlength=tiles)
    wanted = np.bincount(expected, minlength=len(made))
    if (made != wanted).any():
        at = int(np.argmax(made != wanted))
        found = f"logical tile {at}: found {made[at]} kernel calls"
        raise CheckError("simulation", (("kernel", f"{found}, expected {wanted[at]}"),))
    return np.argsort(logical, kind="stable")


def _by_purpose(built: Built, runs: Calls, ledger: Ledger) -> tuple[KernelCycles, ...]:
    times, copies = built.program.times, built.program.copies
    program = {COPY: int((copies.cycles * times[copies.step]).sum())}
    spent = built.program.runs.cycles * times[built.program.runs.step]
    for symbol, name in enumerate(runs.names):
        cycles = int(spent[runs.symbol == symbol].sum())
        program[purpose(name)] = program.get(purpose(name), 0) + cycles
    calls, device = dict.fromkeys(program, 0), dict.fromkeys(program, 0)
    for name, cycles in zip(ledger.name, ledger.cycles, strict=True):
        kind = purpose(name)
        calls[kind] = calls.get(kind, 0) + 1
        device[kind] = device.get(kind, 0) + cycles
    return tuple(
        KernelCycles(kind, calls[kind], program.get(kind, 0), device[kind])
        for kind in sorted(calls)
        if calls[kind] or program.get(kind)
    )
