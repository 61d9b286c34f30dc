"""Mapping plans one after another until placement can serve one.

The mapping model counts bytes; buffers are placed in whole pieces. So a plan that nearly fills a
tile may have no placement. Then the mapping is solved again, first with more room left to
placement; after that all plans are taken in order of their cycles, each once, until one can be
placed or none is left.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field

from ipuopt.errors import Infeasibility, InfeasibleError
from ipuopt.models.mapping import evaluate
from ipuopt.models.mapping.problem import Solution
from ipuopt.models.mapping.space import Space
from ipuopt.pipeline.complete import Complete

ROOM_BYTES = (16 << 10, 64 << 10, 160 << 10)
"""Bytes of every tile that are left to placement, one retry each."""

Build = Callable[[Space, Solution], Complete | None]
Solve = Callable[[Space], tuple[Solution | None, bool]]


@dataclass(frozen=True, slots=True)
class Attempts:
    """What came of the plans.

    Attributes
    ----------
    program
        The first complete program.
    space, solution
        What it was made of, or what was tried first.
    refused
        The last proof that a plan has no placement.
    exhausted
        Whether every plan of the space is proven to have none.
    """

    program: Complete | None
    space: Space
    solution: Solution
    refused: Infeasibility | None
    exhausted: bool


@dataclass(slots=True)
class _Builder:
    """Builds plans, and keeps the proofs against those that cannot be placed."""

    build: Build
    refused: Infeasibility | None = None
    open: bool = False

    def __call__(self, space: Space, solution: Solution) -> Complete | None:
        """Program of a plan; without a proof against it, the space stays open."""
        try:
            program = self.build(space, solution)
        except InfeasibleError as error:
            self.refused = error.explanation
            return None
        self.open |= program is None
        return program


@dataclass(order=True, slots=True)
class _Branch:
    """A space with its best solution; cheap ones first, then early ones."""

    cycles: int
    number: int
    space: Space = field(compare=False)
    solution: Solution = field(compare=False)


def first_complete(
    space: Space,
    solution: Solution,
    build: Build,
    solve: Solve,
    stopped: Callable[[], bool],
    *,
    known_cycles: float = math.inf,
) -> Attempts:
    """Build ``solution``, then others of ``space``, until one is complete.

    Parameters
    ----------
    build
        Program of a solution; None, or :class:`InfeasibleError`, when it cannot be placed.
    solve
        Best solution of a space; None when there is none, and whether that is proven.
    stopped
        Looked at before every retry.
    known_cycles
        Of a program that is there already: plans that cost as much are not tried one by one.
    """
    builder = _Builder(build)
    program = builder(space, solution)
    where, chosen = space, solution
    for room_bytes in ROOM_BYTES:
        if program is not None or stopped():
            return Attempts(program, where, chosen, builder.refused, False)
        where = space.leave(room_bytes)
        candidate, _ = solve(where)
        if candidate is None:
            break
        chosen = candidate
        program = builder(where, chosen)
    if program is not None:
        return Attempts(program, where, chosen, builder.refused, False)
    return _enumerate(space, solution, builder, solve, stopped, known_cycles)


def _enumerate(
    space: Space,
    solution: Solution,
    builder: _Builder,
    solve: Solve,
    stopped: Callable[[], bool],
    known_cycles: float,
) -> Attempts:
    """All plans but ``solution``, which was tried, in order of their cycles."""
    branches: list[_Branch] = []
    number = 0
    while True:
        for rest in space.split(solution):
            if stopped():
                return Attempts(None, space, solution, builder.refused, False)
            found, proven = solve(rest)
            if found is None:
                builder.open |= not proven
                continue
            number += 1
            cycles = evaluate(rest.problem, found)
            heapq.heappush(branches, _Branch(cycles, number, rest, found))
        if not branches:
            return Attempts(None, space, solution, builder.refused, not builder.open)
        if stopped() or branches[0].cycles >= known_cycles:
            return Attempts(None, space, solution, builder.refused, False)
        best = heapq.heappop(branches)
        space, solution = best.space, best.solution
        program = builder(space, solution)
        if program is not None:
            return Attempts(program, space, solution, builder.refused, False)
