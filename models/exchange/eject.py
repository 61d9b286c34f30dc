"""Local search: a late transfer takes the place of others, which find new ones.

A move takes a transfer that ends after the target, puts it where it ends in time, and inserts what
was in the way at its earliest fit again, never after the horizon of the incumbent. It is kept if the
events by which transfers are late do not grow. What was thrown out in vain weighs more next time.
"""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import inner_kernel, kernel
from ipuopt.models.exchange.bits import last_taken
from ipuopt.models.exchange.claims import (
    FILL_FIRST,
    FILL_LENGTH,
    TEST_FIRST,
    TEST_LENGTH,
    TEST_ROW,
)
from ipuopt.models.exchange.insertion import fitting, ready
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.links import Links, links, remove
from ipuopt.models.exchange.parity import Saved, still_even
from ipuopt.models.exchange.problem import IntArray
from ipuopt.models.exchange.search import Budget, Search
from ipuopt.models.exchange.state import State, empty_state, place
from ipuopt.models.exchange.timing import horizon_of

HEATS = (0.0, 1.0, 3.0, 10.0)
"""Mean of the events by which lateness may grow in a move that is kept, one a round by chance."""

MOVES = 1000
"""Moves between two looks at the clock: some hundredths of a second."""

FAILURES = 4
"""Rounds without a lower horizon after which the aim is halved."""

PATIENCE = 60
"""Rounds without a lower horizon after which the search ends."""

SAMPLES = 6
"""Places looked at for a late transfer; the one with the lightest transfers in the way is taken."""

MOST_MOVED = 64
"""Transfers that one move may throw out."""


@inner_kernel
def _latest(s: State, links: Links, transfer: int, latest: int) -> int:
    """Last start up to ``latest`` that the placed successors of a transfer leave (E5)."""
    for pair in range(links.after_start[transfer], links.after_start[transfer + 1]):
        if s.start[links.after[pair]] >= 0:
            latest = min(latest, int(s.start[links.after[pair]] - links.after_lag[pair]))
    return latest


@inner_kernel
def _in_the_way(
    p: Instance, s: State, links: Links, transfer: int, start: int, found: IntArray
) -> int:
    """Placed transfers that ``transfer`` would meet at ``start``: their number, -1 for too many."""
    count = 0
    for claim in range(p.claim_start[transfer], p.claim_stop[transfer]):
        row = p.claims[claim, TEST_ROW]
        first = start + p.claims[claim, TEST_FIRST]
        stop = first + p.claims[claim, TEST_LENGTH]
        if last_taken(s.rows, row, first, stop) < 0:
            continue
        for place_ in range(links.row_start[row], links.row_start[row + 1]):
            other = links.row_claim[place_]
            owner = links.owner[other]
            begin = s.start[owner] + p.claims[other, FILL_FIRST]
            if s.start[owner] < 0 or begin >= stop or begin + p.claims[other, FILL_LENGTH] <= first:
                continue
            known = False
            for k in range(count):
                known = known or found[k] == owner
            if not known:
                if count == len(found):
                    return -1
                found[count] = owner
                count += 1
    return count


@inner_kernel
def _settle(
    p: Instance, s: State, links: Links, moved: IntArray, count: int, end: int, saved: Saved
) -> bool:
    """Insert ``moved[1:count]`` again, each at its earliest fit; whether all of them fit."""
    for k in range(1, count):
        latest = _latest(s, links, moved[k], end - p.tail[moved[k]])
        start = fitting(p, s, moved[k], ready(p, s, moved[k]), latest, saved)
        if start < 0:
            return False
        place(p, s, moved[k], start)
    return True


@inner_kernel
def _late(p: Instance, s: State, transfer: int, target: int) -> int:
    return max(0, int(s.start[transfer] + p.tail[transfer]) - target)


@kernel
def improve_late(
    p: Instance,
    s: State,
    links: Links,
    weight: IntArray,
    target: int,
    end: int,
    moves: int,
    heat: float,
    generator: np.random.Generator,
) -> int:
    """Make up to ``moves`` moves; transfers that still end after ``target`` are counted.

    ``s`` holds a valid schedule, before and after, that ends at ``end`` at most.
    """
    count = len(p.words)
    saved = np.empty(np.diff(p.claim_start).max(), np.uint64)
    found = np.empty(MOST_MOVED, np.int64)
    moved = np.empty(MOST_MOVED + 1, np.int64)
    old = np.empty(MOST_MOVED + 1, np.int64)
    for _ in range(moves):
        transfer = -1
        offset = int(generator.integers(0, count))
        for k in range(count):
            other = offset + k if offset + k < count else offset + k - count
            if s.start[other] + p.tail[other] > target:
                transfer = other
                break
        if transfer < 0:
            return 0
        moved[0], old[0], many = transfer, s.start[transfer], 1
        before = _late(p, s, transfer, target)
        remove(p, s, links, transfer)
        first = ready(p, s, transfer)
        latest = _latest(s, links, transfer, target - p.tail[transfer])
        start = fitting(p, s, transfer, first, latest, saved)
        if start < 0 and first <= latest:
            lightest = np.iinfo(np.int64).max
            for _ in range(SAMPLES):
                at = int(generator.integers(first, latest + 1))
                blocking = _in_the_way(p, s, links, transfer, at, found)
                heavy = 0
                for k in range(blocking):
                    heavy += weight[found[k]]
                if 0 < blocking and heavy < lightest:
                    lightest, start, many = heavy, at, blocking + 1
                    moved[1:many] = found[:blocking]
        if start < 0:
            place(p, s, transfer, old[0])
            continue
        for k in range(1, many):
            before += _late(p, s, moved[k], target)
            old[k] = s.start[moved[k]]
            remove(p, s, links, moved[k])
        start = fitting(p, s, transfer, start, start, saved)
        fits = start >= 0
        if fits:
            place(p, s, transfer, start)
            for k in range(many - 1, 1, -1):  # a random order of insertion
                other = int(generator.integers(1, k + 1))
                moved[k], moved[other] = moved[other], moved[k]
                old[k], old[other] = old[other], old[k]
            fits = _settle(p, s, links, moved, many, end, saved)
        after = 0
        if fits:
            for k in range(many):
                after += _late(p, s, moved[k], target)
                fits = fits and still_even(p, s, moved[k], old[k])
        if not fits or after > before + int(heat * generator.exponential()):
            for k in range(many):
                if s.start[moved[k]] >= 0:
                    remove(p, s, links, moved[k])
                weight[moved[k]] += 1
            for k in range(many):
                place(p, s, moved[k], old[k])
    late = 0
    for transfer in range(count):
        late += s.start[transfer] + p.tail[transfer] > target
    return late


@kernel
def _place_all(p: Instance, s: State, start: IntArray) -> None:
    for transfer in range(len(start)):
        place(p, s, transfer, start[transfer])


def occupied(phase: Instance, start: IntArray) -> State:
    """State of a schedule, with room up to its horizon."""
    state = empty_state(phase, horizon_of(start, phase.tail) + 1)
    _place_all(phase, state, start)
    return state


def push(search: Search, target: int, budget: Budget, seed: int) -> None:
    """Lower the horizon step by step, until nothing has moved for :data:`PATIENCE` rounds.

    Each round aims at a horizon some way between the incumbent's and ``target``; the aim comes
    closer to the incumbent when rounds fail.
    """
    generator = np.random.default_rng(seed)
    phase, end = search.forward, search.horizon
    state, tables = occupied(phase, search.start), links(phase)
    weight = np.ones(len(phase.words), np.int64)
    step, failed, idle = max(1, (end - target) // 4), 0, 0
    while end > target and idle < PATIENCE and not search.stop() and budget.spend(MOVES * SAMPLES):
        aim = max(target, end - step)
        heat = float(generator.choice(HEATS))
        left = improve_late(phase, state, tables, weight, aim, end, MOVES, heat, generator)
        idle, failed = idle + 1, failed + 1
        now = horizon_of(state.start, phase.tail)
        if now < end:
            end, idle, failed = now, 0, 0
            search.offer(state.start)
        if not left:
            step *= 2
        elif failed == FAILURES:
            step, failed = max(1, step // 2), 0
