"""CP-SAT model of one component of a phase."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from ortools.sat.python import cp_model

from ipuopt.limits import Limits
from ipuopt.models.exchange.claims import (
    FILL_FIRST,
    FILL_ROW,
    TEST_FIRST,
    TEST_LENGTH,
    TEST_ROW,
    Row,
)
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.problem import BoolArray, IntArray
from ipuopt.models.exchange.timing import horizon_of
from ipuopt.solvers import cpsat

LARGEST = 400
"""Transfers of a component from which the model is not built: larger ones gain nothing in minutes,
insertion does."""

MOST_PAIRS = 20_000
"""Pairs of (E6) up to which the model is built."""

CUT_ROUNDS = 4
"""Solves after which control events that still coincide (E4) are left to insertion."""


class Sharing(NamedTuple):
    """A send [P, P + lasting) and a receive [P' + first, + length) that may not overlap (E6)."""

    send: int
    lasting: int
    receive: int
    first: int
    length: int


@dataclass(frozen=True, slots=True)
class Model:
    """The CP-SAT model and the handles needed to read it back."""

    cp: cp_model.CpModel
    start: tuple[cp_model.IntVar, ...]
    horizon: cp_model.IntVar
    before: dict[Sharing, cp_model.IntVar]
    """Whether the send comes first."""


def fits(phase: Instance) -> bool:
    """Whether a component is small enough for :func:`solve_component`."""
    return len(phase.words) <= LARGEST and len(sharing_pairs(phase)) <= MOST_PAIRS


def sharing_pairs(phase: Instance) -> list[Sharing]:
    """Sends and receives that use one element of a tile (E6), as claims on bit rows.

    A send and a receive that share several elements are one pair.
    """
    first_hot = Row.HOT * phase.tiles
    owner = np.repeat(np.arange(len(phase.words)), np.diff(phase.claim_start))
    elements = (phase.rows - first_hot) // 2
    filled = phase.claims[:, FILL_ROW]
    senders: dict[int, list[int]] = {}
    for claim in np.flatnonzero((filled >= first_hot) & (filled < first_hot + elements)):
        senders.setdefault(int(filled[claim]), []).append(int(claim))
    pairs: dict[tuple[int, int, int, int], Sharing] = {}
    for claim in np.flatnonzero(filled >= first_hot + elements):
        first = int(phase.claims[claim, FILL_FIRST])
        length = _test_end(phase, claim) - first
        i = int(owner[claim])
        for other in senders[int(filled[claim]) - elements]:
            j = int(owner[other])
            lasting = _test_end(phase, other)
            pairs[j, i, first, length] = Sharing(j, lasting, i, first, length)
        if len(pairs) > MOST_PAIRS:
            break
    return list(pairs.values())


def _test_end(phase: Instance, claim: int) -> int:
    """Offset at which a send or receive is done with an element: claims fill the bus events only."""
    return int(phase.claims[claim, TEST_FIRST] + phase.claims[claim, TEST_LENGTH])


def build(phase: Instance, least: int, most: int) -> Model:
    """Translate a component into CP-SAT, without (E4) and (E7); no solving.

    Parameters
    ----------
    phase
        Forward instance of one component.
    least, most
        Range of the horizon.
    """
    cp = cp_model.CpModel()
    words = [int(w) for w in phase.words]
    tail = [int(q) for q in phase.tail]
    horizon = cp.new_int_var(least, most, "horizon")
    both = np.zeros(phase.tiles, np.bool_)
    tested = phase.claims[:, TEST_ROW]
    family, tile_of = np.divmod(tested, phase.tiles)
    both[tile_of[family == Row.WRITE]] = True
    start = tuple(
        cp.new_int_var(int(head), most - tail[j], f"start[{j}]")  # (E1)
        for j, head in enumerate(phase.head)
    )
    buses: dict[tuple[Row, int], list[cp_model.IntervalVar]] = {}

    def take(family: Row, tile: int, at: cp_model.LinearExpr | int, length: int) -> None:
        interval = cp.new_fixed_size_interval_var(at, length, "")
        buses.setdefault((family, tile), []).append(interval)

    for j, at in enumerate(start):
        take(Row.SEND, int(phase.source[j]), at, words[j])
        if phase.partner[j] >= 0:
            for family in (Row.SEND, Row.WINDOW, Row.WRITE):
                take(family, int(phase.partner[j]), at, words[j])
        for r in range(int(phase.bounds[j]), int(phase.bounds[j + 1])):
            tile = int(phase.receiver[r])
            take(Row.WINDOW, tile, at + int(phase.window[r]), int(phase.window_length[r]))
            if both[tile]:
                take(Row.WRITE, tile, at + int(phase.write[r]), int(phase.write_length[r]))
        cp.add(at + tail[j] <= horizon)
    for bus in buses.values():  # (E2), (E3)
        if len(bus) > 1:
            cp.add_no_overlap(bus)
    after = np.repeat(np.arange(len(words)), np.diff(phase.before_bounds))
    for first, second, lag in zip(phase.before, after, phase.lag, strict=True):
        cp.add(start[int(second)] >= start[int(first)] + int(lag))  # (E5)
    before = {}
    for pair in sharing_pairs(phase):  # (E6)
        sends_first = cp.new_bool_var("")
        write = start[pair.receive] + pair.first
        cp.add(start[pair.send] + pair.lasting <= write).only_enforce_if(sends_first)
        cp.add(write + pair.length <= start[pair.send]).only_enforce_if(~sends_first)
        before[pair] = sends_first
    cp.minimize(horizon)
    return Model(cp, start, horizon, before)


def hint_of(model: Model, phase: Instance, start: IntArray) -> dict[int, int]:
    """Value of every variable under a valid schedule."""
    hint = {variable.index: int(start[j]) for j, variable in enumerate(model.start)}
    hint[model.horizon.index] = horizon_of(start, phase.tail)
    for pair, first in model.before.items():
        hint[first.index] = int(start[pair.send] < start[pair.receive] + pair.first)
    return hint


def coinciding(phase: Instance, start: IntArray, pointers: BoolArray) -> list[tuple[int, int, int]]:
    """Control events on the start of own messages (E4), as (send, receiving transfer, offset).

    The event lies ``offset`` after the start of the receiving transfer. ``pointers`` are the
    receivers whose pointer event can never be dropped.
    """
    owner = np.repeat(np.arange(len(start)), np.diff(phase.bounds))
    wide = phase.partner[owner] >= 0
    format_on = phase.write - 2
    opened = ~wide | (phase.window < format_on)
    found = []
    kinds = (
        (phase.window, opened),
        (phase.window + phase.write_length, opened),
        (phase.write, pointers | wide),
        (format_on, wide),
        (format_on + phase.write_length, wide),
    )
    own: dict[tuple[int, int], int] = {
        (int(tile), int(at)): j
        for j, (tile, at) in enumerate(zip(phase.source, start, strict=True))
    }
    for offset, counted in kinds:
        event = start[owner] + offset
        for r in np.flatnonzero(counted):
            tile = int(phase.receiver[r])
            for step in (0, 1):
                j = own.get((tile, int(event[r]) - step))
                if j is not None:
                    found.append((j, int(owner[r]), int(offset[r])))
    return found


@dataclass(frozen=True, slots=True)
class Answer:
    """Starts that satisfy all but perhaps (E4) and (E7), the proven bound, and how it went."""

    start: IntArray | None
    bound: int | None
    result: cpsat.CpResult


def solve_component(
    phase: Instance,
    start: IntArray,
    least: int,
    limits: Limits,
    *,
    pointers: BoolArray,
    name: str,
    effort: float,
) -> Answer:
    """Improve the valid ``start`` and prove a bound of at least ``least``.

    Control events (E4) enter lazily: a solution in which some coincide is cut off and the model
    solved again. A pointer that may be dropped is never cut, so the bound holds for every schedule
    that the checker accepts.
    """
    most = horizon_of(start, phase.tail)
    model = build(phase, min(least, most), most)
    hint = hint_of(model, phase, start)
    bound: int | None = None
    for _ in range(CUT_ROUNDS):
        result = cpsat.run(model.cp, limits, name=name, hint=hint, effort=effort)
        effort /= 2  # all rounds together stay below twice the first
        if result.bound is not None:
            bound = max(bound or 0, result.bound)
        if result.values is None:
            return Answer(None, bound, result)
        found = np.array([result.value(variable) for variable in model.start], np.int64)
        cuts = coinciding(phase, found, pointers)
        if not cuts or limits.expired():
            break
        for j, i, offset in cuts:
            apart = cp_model.Domain.from_intervals([[-most, offset - 2], [offset + 1, most]])
            model.cp.add_linear_expression_in_domain(  # (E4)
                model.start[j] - model.start[i], apart
            )
    return Answer(found, bound, result)
