"""Mapping plans one after another until placement can serve one.

The mapping model counts bytes; buffers are placed in whole pieces. So a plan that nearly fills a
tile may have no placement. Then the mapping is solved again, first with more room left to
placement, then without a label of the refused plan.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ipuopt.errors import Infeasibility, InfeasibleError
from ipuopt.models.mapping.problem import Solution
from ipuopt.models.mapping.space import Space
from ipuopt.pipeline.build import Complete

ROOM_BYTES = (16 << 10, 64 << 10, 160 << 10)
"""Bytes of every tile that are left to placement besides its margin, one retry each."""

CUTS = 24
"""Most labels that are taken out of the space, one retry each."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """What came of the plans.

    Attributes
    ----------
    program
        The first complete program.
    refused
        The last proof that a plan has no placement.
    exhausted
        Whether every plan of the space is proven to have none.
    """

    program: Complete | None
    refused: Infeasibility | None
    exhausted: bool


def first_complete(
    space: Space,
    solution: Solution,
    build: Callable[[Space, Solution], Complete | None],
    solve: Callable[[Space], Solution | None],
    stopped: Callable[[], bool],
) -> Attempts:
    """Build ``solution``, then others of ``space``, until one is complete.

    Parameters
    ----------
    build
        Program of a solution; None, or :class:`InfeasibleError`, when it cannot be placed.
    solve
        Best solution of a space; None when there is none.
    stopped
        Looked at before every retry.
    """
    proofs: list[Infeasibility | None] = []

    def program_of(where: Space, candidate: Solution) -> Complete | None:
        try:
            program = build(where, candidate)
            proofs.append(None)
        except InfeasibleError as error:
            program = None
            proofs.append(error.explanation)
        return program

    def outcome(program: Complete | None, *, exhausted: bool = False) -> Attempts:
        proven = [proof for proof in proofs if proof is not None]
        everything = exhausted and len(proven) == len(proofs)
        return Attempts(program, proven[-1] if proven else None, everything)

    program = program_of(space, solution)
    for room_bytes in ROOM_BYTES:
        if program is not None or stopped():
            return outcome(program)
        roomier = space.leave(room_bytes)
        candidate = solve(roomier)
        if candidate is None:
            break
        program = program_of(roomier, candidate)
    # A label stands for one plan only where no other node has a choice.
    single = sum(len(node.cost) > 1 for node in space.problem.nodes) <= 1
    candidate = solution
    for _ in range(CUTS):
        if program is not None or stopped():
            return outcome(program)
        smaller = space.forbid(candidate)
        if smaller is space:
            return outcome(None, exhausted=single)
        space = smaller
        found = solve(space)
        if found is None:
            return outcome(None, exhausted=single)
        candidate = found
        program = program_of(space, candidate)
    return outcome(program)
