"""Sizes of code and rows go back to placement before addresses are final (``lowering.md`` 5.1)."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np

from ipuopt.codegen.link import Library
from ipuopt.codegen.tile import support_ends
from ipuopt.layout import IntArray
from ipuopt.limits import Limits
from ipuopt.models import exchange, placement
from ipuopt.pipeline.complete import Complete
from ipuopt.pipeline.phases import Scheduled, scheduled, searched
from ipuopt.target.memory import SUPPORT_END

logger = logging.getLogger(__name__)

ROUNDS = 3
"""Other addresses may make rows and host tables a little longer; so often they are placed again."""


@dataclass(frozen=True, slots=True)
class Support:
    """What the package of a program will be built with: the code that needs room beside the rows.

    Attributes
    ----------
    library
        Objects with bodies of kernels.
    profile
        Whether tiles take cycle samples.
    """

    library: Library | None = None
    profile: bool = False

    def with_room(
        self, program: Complete, limits: Limits, *, solvers: bool = True, search: bool = False
    ) -> Complete:
        """The program with room for its code and rows; as it is, if it has that or none is found.

        Tiles that lack room are placed again. A schedule stays as long as it obeys the rules at the
        new addresses; a phase that breaks one, as its sends and receives now meet in a memory
        element, is scheduled again.

        Parameters
        ----------
        solvers
            Whether placement may start any.
        search
            Whether such a phase is searched as long as there is time; it is scheduled quickly else.

        Raises
        ------
        CheckError
            When new addresses or schedules break a rule.
        """
        current, ends = program, np.full(program.built.program.tiles, SUPPORT_END)
        for _ in range(ROUNDS):
            needed = support_ends(current.built, self.library, profile=self.profile)
            if needed is None:
                logger.info("code and rows of a tile do not fit below any data")
                return program
            if needed.max(initial=SUPPORT_END) == SUPPORT_END:
                return current
            ends = np.maximum(ends, needed)
            logger.info("%d tiles need more room for rows", np.count_nonzero(ends > SUPPORT_END))
            moved = _moved(current, ends, limits, solvers=solvers, search=search)
            if moved is None:
                logger.info("placement found no addresses that leave room for code and rows")
                return program
            current = moved
        logger.info("code and rows find no room after %d placements", ROUNDS)
        return program


UNLINKED = Support()
"""No objects, no samples."""


def _moved(
    program: Complete, ends: IntArray, limits: Limits, *, solvers: bool, search: bool
) -> Complete | None:
    """The program at addresses that leave this much; None if none are found."""
    built, (report, *phases) = program.built, program.reports
    before = placement.Placed(built.address, built.boundary)
    again = placement.place_again(
        built.program, before, report, ends, limits, heuristic_only=not solvers
    )
    if again is None:
        return None
    placed, report = again
    built = replace(built, address=placed.address, boundary=placed.boundary)
    moved = Complete(built=built, reports=(report, *phases))
    for number in range(len(phases)):
        found = _phase(program, moved, number, limits, search=search)
        moved = moved.with_phase(number, found)
    logger.info("%d cycles with room for rows, %d before", moved.cycles, program.cycles)
    return moved


def _phase(
    before: Complete, moved: Complete, number: int, limits: Limits, *, search: bool
) -> Scheduled:
    """A phase at other addresses: its schedule if that still obeys the rules, or another one."""
    known, problem = before.phase(number), moved.problem(number)
    if _same(problem, before.problem(number)):
        return known
    if not exchange.check(problem, known.solution):
        return scheduled(problem, known.solution, known.report.heuristic)
    first = scheduled(problem, exchange.schedule_quickly(problem), known.report.heuristic)
    return searched(problem, first, limits) if search and not limits.expired() else first


def _same(one: exchange.Problem, other: exchange.Problem) -> bool:
    """Whether two problems of a phase have the same addresses."""
    sources = np.array_equal(one.source_address, other.source_address)
    return sources and np.array_equal(one.destination_address, other.destination_address)
