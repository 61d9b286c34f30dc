"""From a plan to a program that a loader could take: lower, place, schedule, check."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ipuopt.codegen.check import check as check_lowering
from ipuopt.codegen.lower import lower
from ipuopt.codegen.phases import exchange_problem, phase_slice
from ipuopt.codegen.rows.room import refuse_long_rows
from ipuopt.codegen.tile import least_ends
from ipuopt.events import Events
from ipuopt.limits import Limits
from ipuopt.models import exchange, placement
from ipuopt.pipeline.complete import Complete
from ipuopt.pipeline.phases import Scheduled, refuse, scheduled, searched
from ipuopt.pipeline.support import UNLINKED, Support
from ipuopt.plan import Plan
from ipuopt.program import IntArray, Program
from ipuopt.report import SolveReport
from ipuopt.result import Built
from ipuopt.target.memory import SUPPORT_END

logger = logging.getLogger(__name__)


APART_BYTES = 1 << 20
"""More than a tile has, and whole elements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A plan with its checked tables and addresses; only start events are missing."""

    plan: Plan
    program: Program
    address: IntArray
    boundary: IntArray
    report: SolveReport


@dataclass(frozen=True, slots=True)
class Found:
    """What came of a plan.

    Attributes
    ----------
    program
        The complete program; None if it would not be worth it.
    cycles
        What every plan step takes, or takes at least where it was not scheduled to the end.
    """

    program: Complete | None
    cycles: IntArray


Keep = Callable[[Complete], None]
"""Told of complete programs on the way to the last one."""


def _forget(program: Complete) -> None:
    del program


def build(
    plan: Plan,
    limits: Limits,
    events: Events,
    keep: Keep = _forget,
    support: Support = UNLINKED,
) -> Complete | None:
    """Lower, place and schedule ``plan``; None when no addresses were found for it.

    ``keep`` gets a program as soon as the plan is placed, and one after each phase: a run that has
    to be cut off inside a phase loses that one alone. All have room for ``support`` where addresses
    that leave it are found.

    Raises
    ------
    InfeasibleError
        When a tile is proven not to hold its buffers or its exchange rows.
    CheckError
        When tables, addresses or start events break a rule: a bug in the stage that made them.
    """
    found = build_below(plan, limits, events, math.inf, keep, support)
    return None if found is None else found.program


def build_below(
    plan: Plan,
    limits: Limits,
    events: Events,
    worth: float,
    keep: Keep = _forget,
    support: Support = UNLINKED,
) -> Found | None:
    """As :func:`build`; ends as soon as the program cannot have fewer than ``worth`` cycles."""
    events.on_stage("placement")
    placed = _lower_and_place(plan, limits, heuristic=False)
    if placed is None:
        return None
    problems = (_problem(placed, phase) for phase in range(len(placed.program.phases)))
    first = [
        scheduled(problem, exchange.schedule_quickly(problem), heuristic=None)
        for problem in problems
    ]
    current = support.with_room(_assembled(placed, first), limits)
    sizes = [_effort(placed.program, step) for step in placed.program.phases]
    least = np.array([report.bound for report in current.reports[1:]], dtype=np.int64)
    for number in range(len(sizes)):
        cycles = step_cycles(plan, placed.program, least)
        if cycles.sum() >= worth:
            return Found(None, cycles)
        keep(current)
        problem = current.problem(number)
        share = sizes[number] / max(1.0, sum(sizes[number:]))
        events.on_stage(problem.name)
        # Counters end a repeatable search; a share of the time could only end it before them.
        part = limits if limits.deterministic else limits.within(limits.remaining_s() * share)
        current = current.with_phase(number, searched(problem, current.phase(number), part))
        least[number] = current.built.horizon[number]
    return Found(current, step_cycles(plan, placed.program, current.built.horizon))


def build_heuristic(plan: Plan, limits: Limits, support: Support = UNLINKED) -> Complete | None:
    """Build ``plan`` with the heuristics alone; None when they find no addresses.

    Raises
    ------
    InfeasibleError, CheckError
        As :func:`build`.
    """
    placed = _lower_and_place(plan, limits, heuristic=True)
    if placed is None:
        return None
    done = []
    for phase in range(len(placed.program.phases)):
        problem = _problem(placed, phase)
        solution, horizon = exchange.schedule_heuristic(problem)
        done.append(scheduled(problem, solution, horizon))
    return support.with_room(_assembled(placed, done), limits, solvers=False)


def least_cycles(plan: Plan) -> IntArray:
    """Cycles that every step of ``plan`` takes at least, wherever its buffers are placed.

    Raises
    ------
    InfeasibleError
        When a tile is proven not to hold its exchange rows.
    """
    program = lower(plan)
    refuse_long_rows(program)
    tile = program.shards.tile
    order = np.argsort(tile, kind="stable")
    first = np.searchsorted(tile[order], tile)  # no two buffers of a tile share an element
    number = np.empty_like(first)
    number[order] = np.arange(len(tile))
    apart = (number - first) * APART_BYTES
    phases = range(len(program.phases))
    problems = (exchange_problem(program, apart, phase) for phase in phases)
    horizon = [exchange.lower_bound(problem)[0] for problem in problems]
    return step_cycles(plan, program, np.array(horizon, dtype=np.int64))


def step_cycles(plan: Plan, program: Program, horizon: IntArray) -> IntArray:
    """Cycles of every step of the plan: its program steps, phases with their sync.

    Parameters
    ----------
    horizon
        Of every phase, in the order of ``program.phases``.
    """
    result = np.zeros(len(plan.steps), dtype=np.int64)
    owner = [step.plan_step for step in program.steps]
    np.add.at(result, owner, program.cycles_with(horizon))
    return result


def _lower_and_place(plan: Plan, limits: Limits, *, heuristic: bool) -> Placed | None:
    program = lower(plan)
    refuse("lowering", check_lowering(plan, program))
    refuse_long_rows(program)
    names = tuple(value.name for value in plan.values)
    placed, report = placement.solve_program(
        program, limits, heuristic_only=heuristic, value_names=names
    )
    if placed is None:
        logger.info("placement found no addresses: %s", report.run.note)
        return None
    ends = least_ends(program, placed.address)
    if ends.max(initial=SUPPORT_END) > SUPPORT_END:
        again = placement.place_again(
            program, placed, report, ends, limits, heuristic_only=heuristic
        )
        if again is None:
            logger.info("placement found no addresses that leave room for the exchange rows")
            return None
        placed, report = again
    violations = placement.check_program(program, placed.address, placed.boundary)
    refuse("placement", violations)
    return Placed(
        plan=plan,
        program=program,
        address=placed.address,
        boundary=placed.boundary,
        report=report,
    )


def _effort(program: Program, step: int) -> float:
    """Weight of a phase when time is shared: the root of its receivers.

    One insertion grows with the receivers, but small phases need more orders to get near their
    bound; shares in proportion would leave them none beside one of millions of receivers.
    """
    part = phase_slice(program, step)
    bounds = program.transfers.destination_start
    return math.sqrt(int(bounds[part.stop] - bounds[part.start]))


def _problem(placed: Placed, phase: int) -> exchange.Problem:
    return exchange_problem(placed.program, placed.address, phase)


def _assembled(placed: Placed, done: Sequence[Scheduled]) -> Complete:
    """Put the checked schedules of all phases together."""
    starts = [phase.solution.start for phase in done]
    horizon = [phase.horizon for phase in done]
    built = Built(
        plan=placed.plan,
        program=placed.program,
        address=placed.address,
        boundary=placed.boundary,
        start=np.concatenate(starts) if starts else np.zeros(0, dtype=np.int64),
        horizon=np.array(horizon, dtype=np.int64),
    )
    return Complete(built=built, reports=(placed.report, *(phase.report for phase in done)))
