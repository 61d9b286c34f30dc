"""CP-SAT model of one component of a phase."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from ortools.sat.python import cp_model

from ipuopt.limits import Limits
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.problem import IntArray
from ipuopt.models.exchange.timing import horizon_of
from ipuopt.solvers import cpsat

BoolArray = npt.NDArray[np.bool_]

LARGEST = 400
"""Transfers of a component from which the model is not built: larger ones gain nothing in minutes,
insertion does."""

MOST_PAIRS = 20_000
"""Pairs of (E6) up to which the model is built."""

CUT_ROUNDS = 4
"""Solves after which control events that still coincide (E4) are left to insertion."""


@dataclass(frozen=True, slots=True)
class Model:
    """The CP-SAT model and the handles needed to read it back."""

    cp: cp_model.CpModel
    start: tuple[cp_model.IntVar, ...]
    horizon: cp_model.IntVar
    before: dict[tuple[int, int], cp_model.IntVar]
    """By (send, receive) of one element: whether the send comes first."""


def fits(phase: Instance) -> bool:
    """Whether a component is small enough for :func:`solve_component`."""
    return len(phase.words) <= LARGEST and len(sharing_pairs(phase)) <= MOST_PAIRS


def sharing_pairs(phase: Instance) -> list[tuple[int, int]]:
    """Pairs (transfer that sends, receiver) that use one element of a tile (E6)."""
    senders: dict[int, list[int]] = {}
    for transfer in np.flatnonzero(phase.send_count):
        first = int(phase.send_first[transfer])
        for row in range(first, first + int(phase.send_count[transfer])):
            senders.setdefault(row, []).append(int(transfer))
    pairs: set[tuple[int, int]] = set()
    for receive in np.flatnonzero(phase.receive_count):
        first = int(phase.receive_first[receive])
        for row in range(first, first + int(phase.receive_count[receive])):
            pairs.update((transfer, int(receive)) for transfer in senders[row])
            if len(pairs) > MOST_PAIRS:
                return sorted(pairs)
    return sorted(pairs)


def build(phase: Instance, least: int, most: int) -> Model:
    """Translate a component into CP-SAT, without (E4); no solving.

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
    start = tuple(
        cp.new_int_var(int(head), most - tail[j], f"start[{j}]")  # (E1)
        for j, head in enumerate(phase.head)
    )
    sends: list[list[cp_model.IntervalVar]] = [[] for _ in range(phase.tiles)]
    windows: list[list[cp_model.IntervalVar]] = [[] for _ in range(phase.tiles)]
    writes: list[list[cp_model.IntervalVar]] = [[] for _ in range(phase.tiles)]
    for j, at in enumerate(start):
        sends[int(phase.source[j])].append(cp.new_fixed_size_interval_var(at, words[j], ""))
        for r in range(int(phase.bounds[j]), int(phase.bounds[j + 1])):
            tile = int(phase.receiver[r])
            offset = int(phase.window[r])
            windows[tile].append(cp.new_fixed_size_interval_var(at + offset, words[j], ""))
            if phase.both_windows[tile]:
                offset = int(phase.write[r])
                writes[tile].append(cp.new_fixed_size_interval_var(at + offset, words[j], ""))
        cp.add(at + tail[j] <= horizon)
    for bus in (*sends, *windows, *writes):  # (E2), (E3)
        if len(bus) > 1:
            cp.add_no_overlap(bus)
    after = np.repeat(np.arange(len(words)), np.diff(phase.before_bounds))
    for first, second, lag in zip(phase.before, after, phase.lag, strict=True):
        cp.add(start[int(second)] >= start[int(first)] + int(lag))  # (E5)
    before = {}
    owner = np.repeat(np.arange(len(words)), np.diff(phase.bounds))
    for j, r in sharing_pairs(phase):  # (E6)
        i = int(owner[r])
        write = start[i] + int(phase.write[r])
        sends_first = cp.new_bool_var("")
        sent = start[j] + words[j] + int(phase.send_extra[j])
        cp.add(sent <= write).only_enforce_if(sends_first)
        written = write + words[i] + 5 + (words[i] == 52)
        cp.add(written <= start[j]).only_enforce_if(~sends_first)
        before[j, r] = sends_first
    cp.minimize(horizon)
    return Model(cp, start, horizon, before)


def hint_of(model: Model, phase: Instance, start: IntArray) -> dict[int, int]:
    """Value of every variable under a valid schedule."""
    hint = {variable.index: int(start[j]) for j, variable in enumerate(model.start)}
    hint[model.horizon.index] = horizon_of(start, phase.tail)
    owner = np.repeat(np.arange(len(start)), np.diff(phase.bounds))
    for (j, r), first in model.before.items():
        hint[first.index] = int(start[j] < start[owner[r]] + phase.write[r])
    return hint


def coinciding(phase: Instance, start: IntArray, pointers: BoolArray) -> list[tuple[int, int, int]]:
    """Control events on the start of own messages (E4), as (send, receiving transfer, offset).

    The event lies ``offset`` after the start of the receiving transfer. ``pointers`` are the
    receivers whose pointer event can never be dropped.
    """
    owner = np.repeat(np.arange(len(start)), np.diff(phase.bounds))
    opening = phase.window
    closing = phase.window + phase.words[owner]
    everyone = np.ones(len(owner), np.bool_)
    found = []
    kinds = ((opening, everyone), (closing, everyone), (phase.write, pointers))
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
    """Starts that satisfy all but perhaps (E4), the proven bound, and how it went."""

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
