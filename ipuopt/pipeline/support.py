"""Sizes of code and rows go back to placement before addresses are final (``lowering.md`` 5.1)."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from ipuopt.codegen.link import Library
from ipuopt.codegen.phases import exchange_problem, phase_slice
from ipuopt.codegen.tile import support_ends
from ipuopt.layout import IntArray
from ipuopt.limits import Limits
from ipuopt.models import exchange, placement
from ipuopt.pipeline.build import Complete, total_cycles
from ipuopt.pipeline.phases import Scheduled, scheduled, searched
from ipuopt.report import SolveReport
from ipuopt.result import Built
from ipuopt.target.memory import SUPPORT_END

logger = logging.getLogger(__name__)

ROUNDS = 3
"""Other addresses may make rows and host tables a little longer; so often they are placed again."""


def with_room(
    program: Complete, limits: Limits, library: Library | None = None, *, profile: bool = False
) -> Complete:
    """The program with room for its code and rows; as it is, if it has that or no addresses are found.

    Tiles that lack room are placed again. A schedule stays as long as it obeys the rules at the new
    addresses; a phase that breaks one, as its sends and receives now meet in a memory element, is
    scheduled again.

    Parameters
    ----------
    library, profile
        What the package will be built with.

    Raises
    ------
    CheckError
        When new addresses or schedules break a rule.
    """
    current, ends = program, np.full(program.built.program.tiles, SUPPORT_END)
    for _ in range(ROUNDS):
        needed = support_ends(current.built, library, profile=profile)
        if needed is None:
            logger.info("code and rows of a tile do not fit below any data")
            return program
        if needed.max(initial=SUPPORT_END) == SUPPORT_END:
            return current
        ends = np.maximum(ends, needed)
        logger.info("%d tiles need more room for rows", np.count_nonzero(ends > SUPPORT_END))
        moved = _moved(current, ends, limits)
        if moved is None:
            logger.info("placement found no addresses that leave room for code and rows")
            return program
        current = moved
    logger.info("code and rows find no room after %d placements", ROUNDS)
    return program


def _moved(program: Complete, ends: IntArray, limits: Limits) -> Complete | None:
    """The program at addresses that leave this much; None if none are found."""
    built, (report, *phases) = program.built, program.reports
    before = placement.Placed(built.address, built.boundary)
    again = placement.place_again(built.program, before, report, ends, limits)
    if again is None:
        return None
    placed, report = again
    done = [_phase(built, placed.address, number, old, limits) for number, old in enumerate(phases)]
    starts = [np.zeros(0, np.int64), *(phase.solution.start for phase in done)]
    moved = replace(
        built,
        address=placed.address,
        boundary=placed.boundary,
        start=np.concatenate(starts),
        horizon=np.array([phase.report.objective for phase in done], dtype=np.int64),
    )
    logger.info("%d cycles with room for rows, %d before", total_cycles(moved), program.cycles)
    return Complete(built=moved, reports=(report, *(phase.report for phase in done)))


def _phase(
    built: Built, address: IntArray, number: int, report: SolveReport, limits: Limits
) -> Scheduled:
    """A phase at other addresses: its schedule if that still obeys the rules, or another one."""
    program = built.program
    solution = exchange.Solution(built.start[phase_slice(program, program.phases[number])])
    problem = exchange_problem(program, address, number)
    if _same(problem, exchange_problem(program, built.address, number)):
        return Scheduled(solution, report)
    if not exchange.check(problem, solution):
        return scheduled(problem, solution, report.heuristic)
    first = scheduled(problem, exchange.schedule_quickly(problem), report.heuristic)
    return first if limits.expired() else searched(problem, first, limits)


def _same(one: exchange.Problem, other: exchange.Problem) -> bool:
    """Whether two problems of a phase have the same addresses."""
    sources = np.array_equal(one.source_address, other.source_address)
    return sources and np.array_equal(one.destination_address, other.destination_address)
