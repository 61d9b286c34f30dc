"""A tile as two address spaces, one a class of memory, for the canonical search and its proofs.

With the boundary decided, the classes have nothing in common: neither bytes nor, as the boundary is
the edge of an element, elements. And the least boundary that the interleaved buffers allow is the
best one: what standard buffers may use above a greater one, they may use above it. So a tile is
placed, or proven to be full, class by class (:mod:`ipuopt.models.placement.space`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ipuopt.errors import Infeasibility
from ipuopt.limits import Limits
from ipuopt.models.placement import space
from ipuopt.models.placement.bounds import load, owners_of, reserving
from ipuopt.models.placement.problem import IntArray, Problem, Solution
from ipuopt.models.placement.space.problem import MAX_NUMBER
from ipuopt.report import SolveStatus
from ipuopt.target.memory import INTERLEAVED_BASE, INTERLEAVED_ELEMENT, STANDARD_ELEMENT

NODES = 100_000
"""Most nodes of the searches for one class of a tile: a few seconds."""


@dataclass(frozen=True, slots=True)
class Refuted:
    """A proof that the buffers of a class do not fit.

    Attributes
    ----------
    kind
        ``"interleaved"`` or ``"standard"``.
    buffers
        Those of the class.
    demand, capacity
        Bytes that they need at least, and that there are.
    """

    kind: str
    buffers: IntArray
    demand: int
    capacity: int


@dataclass(frozen=True, slots=True)
class Settled:
    """What the searches say of a tile.

    Attributes
    ----------
    solution
        None if none was found.
    refuted
        Proof that there is none.
    bound
        Proven least footprint in bytes, 0 without proof.
    """

    solution: Solution | None
    refuted: Refuted | None = None
    bound: int = 0


def separable(problem: Problem) -> bool:
    """Whether the boundary is always the edge of an element, so that the classes fall apart."""
    regions = problem.regions
    above = regions.high_start - INTERLEAVED_BASE
    whole = above % INTERLEAVED_ELEMENT == 0 and regions.granule % INTERLEAVED_ELEMENT == 0
    return whole and above >= 0 and regions.low_stop <= INTERLEAVED_BASE


def _lift(problem: Problem) -> int:
    """Bytes by which the upper range of standard memory moves up in its address space.

    No buffer may reach from the lower range into the upper one, even where they touch.
    """
    return max(INTERLEAVED_ELEMENT, int(problem.alignment.max(initial=1)))


def _space(
    problem: Problem, chosen: IntArray, apart: IntArray, lift: int, capacity: int
) -> space.Problem:
    """Some buffers alone; what lies from ``high_start`` on is ``lift`` bytes further up."""
    regions = problem.regions
    position = np.full(len(problem), -1)
    position[chosen] = np.arange(len(chosen))
    pairs = position[apart]
    number = np.arange(len(chosen))

    def lifted(address: IntArray) -> IntArray:
        return np.where(address >= regions.high_start, address + lift, address)

    return space.Problem(
        name=problem.name,
        size_bytes=problem.size_bytes[chosen],
        guard_bytes=problem.guard_bytes[chosen],
        alignment=problem.alignment[chosen],
        span_owner=number,
        span=np.stack((problem.live_start, problem.live_stop), axis=1)[chosen],
        low=lifted(problem.window_start[chosen]),
        high=lifted(problem.window_stop[chosen] - 1) + 1,
        alias=problem.alias[chosen],
        apart=pairs[(pairs >= 0).all(axis=1)],
        elements=np.array(
            [[0, STANDARD_ELEMENT], [INTERLEAVED_BASE + lift, INTERLEAVED_ELEMENT]],
            dtype=np.int64,
        ),
        holes=np.stack((lifted(problem.holes[:, 0]), lifted(problem.holes[:, 1] - 1) + 1), axis=1),
        capacity=capacity,
    )


def interleaved_space(problem: Problem, apart: IntArray, boundary: int) -> space.Problem:
    """The interleaved buffers below a boundary, at their own addresses."""
    chosen = np.flatnonzero(problem.interleaved == 1)
    regions = problem.regions
    made = _space(problem, chosen, apart, 0, min(boundary, regions.high_stop))
    real = reserving(problem)[chosen]
    return replace(made, low=np.where(real, np.maximum(made.low, regions.high_start), made.low))


def standard_space(problem: Problem, apart: IntArray, boundary: int) -> space.Problem:
    """The standard buffers around the interleaved ones, at lifted addresses."""
    chosen = np.flatnonzero(problem.interleaved == 0)
    regions, lift = problem.regions, _lift(problem)
    made = _space(problem, chosen, apart, lift, max(0, regions.high_stop) + lift)
    below = regions.low_stop - made.guard_bytes
    real = reserving(problem)[chosen]  # the region does not concern what is empty
    executable = real & (problem.executable[chosen] == 1)
    between = np.array([[regions.low_stop, boundary + lift]])
    return replace(
        made,
        low=np.where(real, np.maximum(made.low, regions.low_start), made.low),
        high=np.where(executable, np.minimum(made.high, below), made.high),
        holes=np.concatenate((made.holes, between)),
    )


def _one_range(problem: Problem) -> tuple[space.Problem, int] | None:
    """Standard buffers in one range without a cut, and the bytes by which its height may be more.

    The upper buffers of a placement come to lie on the lower ones, moved by a multiple of the least
    alignment. Windows, holes and elements are forgotten.
    """
    chosen = np.flatnonzero(problem.interleaved == 0)
    regions = problem.regions
    unit = int(problem.alignment[chosen].min(initial=1 << 40))
    if not len(chosen) or any(
        start % unit for start in (regions.low_start, regions.high_start, regions.granule)
    ):
        return None
    none = np.zeros((0, 2), dtype=np.int64)
    made = _space(replace(problem, holes=none), chosen, none, 0, 0)
    count = len(chosen)
    slack = unit - 1 if np.any(problem.reserved_bytes[chosen] % unit) else 0
    return (
        replace(
            made,
            alignment=np.full(count, unit),
            low=np.zeros(count, dtype=np.int64),
            high=np.full(count, MAX_NUMBER),
            capacity=None,
        ),
        slack,
    )


def _place(
    made: space.Problem,
    limits: Limits,
    *,
    least: bool,
    solver: bool,
    warm: space.Solution | None = None,
) -> space.Answer:
    part = limits
    if not limits.deterministic and math.isfinite(limits.deadline):
        part = limits.within(limits.remaining_s() / 2)
    return space.place(
        made,
        part.unheard(),
        warm=warm,
        only_fit=not least,
        solver=solver,
        narrow=False,
        nodes=NODES,
    )


def settle(
    problem: Problem, apart: IntArray, limits: Limits, *, least: bool, solver: bool
) -> Settled:
    """Place the buffers of a separable problem, at the least footprint or anyhow.

    Parameters
    ----------
    apart
        Pairs that may touch no common element: those of (A4), and any others.
    least
        Whether to look for the least footprint, and to prove a bound.
    solver
        Whether CP-SAT helps the searches.
    """
    regions = problem.regions
    first = -(-load(problem, 1).demand // regions.granule)
    most = -(-(regions.high_stop - regions.high_start) // regions.granule)
    answer, boundary, exact = None, regions.high_start, True
    for granules in range(first, most + 1):
        boundary = regions.high_start + granules * regions.granule
        made = interleaved_space(problem, apart, boundary)
        answer = _place(made, limits, least=False, solver=solver)
        if answer.solution is not None:
            break
        exact = exact and answer.report.status is SolveStatus.INFEASIBLE
    if answer is None or answer.solution is None:
        return Settled(None, _refuted(problem, "interleaved", answer) if exact else None)
    if least and len(made):
        answer = _place(made, limits, least=True, solver=solver, warm=answer.solution)
    standard = _place(standard_space(problem, apart, boundary), limits, least=least, solver=solver)
    if answer.solution is None or standard.solution is None:
        proven = exact and standard.report.status is SolveStatus.INFEASIBLE
        return Settled(None, _refuted(problem, "standard", standard) if proven else None)
    lift, address = _lift(problem), np.zeros(len(problem), dtype=np.int64)
    address[problem.interleaved == 1] = answer.solution.address
    high = standard.solution.address
    address[problem.interleaved == 0] = np.where(high >= regions.low_stop, high - lift, high)
    bound = _bound(problem, answer, limits, solver=solver) if least else 0
    return Settled(Solution(address, boundary), bound=bound)


def _bound(problem: Problem, interleaved: space.Answer, limits: Limits, *, solver: bool) -> int:
    """Proven least footprint: the sum of both classes."""
    top = (interleaved.report.bound or 0) - problem.regions.high_start
    one_range = _one_range(problem)
    if one_range is None:
        return max(0, top) + load(problem, 0).demand
    answer = _place(one_range[0], limits, least=True, solver=solver)
    height = (answer.report.bound or 0) - one_range[1]
    return max(0, top) + max(height, load(problem, 0).demand)


def explain_refuted(problem: Problem, refuted: Refuted, names: Sequence[str]) -> Infeasibility:
    """The proof for people; ``names`` of all buffers of the problem."""
    return Infeasibility(
        where=f"{problem.name}: {refuted.kind} buffers, in each of their placements",
        demand=refuted.demand,
        capacity=refuted.capacity,
        unit="bytes",
        owners=owners_of(problem, refuted.buffers, names),
        levers=("more tiles for the largest values",),
    )


def _refuted(problem: Problem, kind: str, answer: space.Answer | None) -> Refuted:
    """The proof in bytes of the ranges that there are."""
    regions = problem.regions
    buffers = np.flatnonzero(problem.interleaved == int(kind == "interleaved"))
    high = regions.high_stop - regions.high_start
    if answer is None:  # the load alone is too much
        return Refuted(kind, buffers, load(problem, 1).demand, high)
    needs = answer.report.bound or 0
    if kind == "interleaved":
        return Refuted(kind, buffers, max(needs - regions.high_start, high + 1), high)
    over = max(1, needs - regions.high_stop - _lift(problem))
    interleaved = load(problem, 1).demand
    taken = -(-interleaved // regions.granule) * regions.granule
    free = regions.low_stop - regions.low_start + max(0, high - taken)
    return Refuted(kind, buffers, free + over, free)
