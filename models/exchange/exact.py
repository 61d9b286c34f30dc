"""Components solved to proof: by shortest sequences alone, or by CP-SAT from them on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from ipuopt.limits import Limits
from ipuopt.models.exchange.claims import Row, control_events
from ipuopt.models.exchange.exact_model import build, hint_of
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.orders import topological
from ipuopt.models.exchange.pairs import Pairs, pairs_of
from ipuopt.models.exchange.problem import BoolArray, IntArray
from ipuopt.models.exchange.sequence import SEQUENCE, sequences
from ipuopt.models.exchange.sequenced import sequence_keys, starts_in_order
from ipuopt.models.exchange.timing import horizon_of
from ipuopt.report import NO_SOLVER, SolveStatus
from ipuopt.solvers import cpsat

CP_SAT = "cp-sat"
"""Name of its argument for a bound."""

LARGEST = 400
"""Transfers of a component from which the model is not built: larger ones gain nothing in minutes,
insertion does."""

MOST_PAIRS = 20_000
"""Pairs of transfers up to which the model is built."""

CUT_ROUNDS = 4
"""Solves after which control events that still coincide (E4) are left to insertion."""


def few_pairs(phase: Instance) -> Pairs | None:
    """What a component forbids; None if it is too large for :func:`solve_component`."""
    if len(phase.words) > LARGEST:
        return None
    pairs = pairs_of(phase)
    return pairs if len(pairs.one) <= MOST_PAIRS else None


@dataclass(frozen=True, slots=True)
class Answer:
    """Starts that satisfy all but perhaps (E4) and (E7), and how it went.

    ``source`` is the argument that proves ``bound``, unless the least one asked for is no lower.
    """

    start: IntArray | None
    bound: int
    source: str
    result: cpsat.CpResult


def solve_component(
    phase: Instance,
    pairs: Pairs,
    start: IntArray,
    least: int,
    limits: Limits,
    *,
    pointers: BoolArray,
    name: str,
    effort: float,
) -> Answer:
    """Improve the valid ``start`` and prove a bound of at least ``least``.

    Where the shortest sequences of the machines fit together and meet the bound, no solver starts.
    Control events (E4) enter lazily: a solution in which some coincide is cut off and the model
    solved again. A pointer that may be dropped is never cut, so the bound holds for every schedule
    that the checker accepts.
    """
    machines = sequences(phase)
    least = max((least, *(machine.bound for machine in machines)))
    order = topological(phase, sequence_keys(machines, start))
    found = starts_in_order(phase, pairs, order)
    cuts = coinciding(phase, found, pointers)
    most = horizon_of(start, phase.tail)
    if not cuts and horizon_of(found, phase.tail) < most:
        start, most = found, horizon_of(found, phase.tail)
    if most <= least:
        return Answer(start, least, SEQUENCE, _without_solver(most))
    model = build(phase, pairs, pointers, least, most)
    hint = hint_of(model, phase, pairs, start)
    bound, source = least, SEQUENCE
    for _ in range(CUT_ROUNDS):
        for j, i, offset in cuts:
            apart = cp_model.Domain.from_intervals([[-most, offset - 2], [offset + 1, most]])
            model.cp.add_linear_expression_in_domain(  # (E4)
                model.start[j] - model.start[i], apart
            )
        result = cpsat.run(model.cp, limits, name=name, hint=hint, effort=effort)
        effort /= 2  # all rounds together stay below twice the first
        if result.bound is not None and result.bound > bound:
            bound, source = result.bound, CP_SAT
        if result.values is None:
            return Answer(start, bound, source, result)
        found = np.array([result.value(variable) for variable in model.start], np.int64)
        cuts = coinciding(phase, found, pointers)
        if not cuts or limits.expired():
            break
    return Answer(found, bound, source, result)


def _without_solver(horizon: int) -> cpsat.CpResult:
    return cpsat.CpResult(
        status=SolveStatus.OPTIMAL,
        objective=horizon,
        bound=horizon,
        values=None,
        reason=None,
        solver=NO_SOLVER,
    )


def coinciding(phase: Instance, start: IntArray, pointers: BoolArray) -> list[tuple[int, int, int]]:
    """Control events on the start of own messages (E4), as (send, receiving transfer, offset).

    The event lies ``offset`` after the start of the receiving transfer. ``pointers`` are the
    receivers whose pointer event can never be dropped.
    """
    owner = np.repeat(np.arange(len(start)), np.diff(phase.bounds))
    wide = phase.partner[owner] >= 0
    found = []
    own: dict[tuple[int, int], int] = {
        (int(tile), int(at)): j
        for j, (tile, at) in enumerate(zip(phase.source, start, strict=True))
    }
    for family, there, offset in control_events(
        wide, phase.window, phase.write, phase.write_length
    ):
        event = start[owner] + offset
        counted = there & (pointers | wide) if family is Row.POINTER else there
        for r in np.flatnonzero(counted):
            tile = int(phase.receiver[r])
            for step in (0, 1):
                j = own.get((tile, int(event[r]) - step))
                if j is not None:
                    found.append((j, int(owner[r]), int(offset[r])))
    return found
