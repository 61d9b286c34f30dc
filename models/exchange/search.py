"""Incumbent of a phase and the moves that improve it, by insertion in both directions of time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.limits import Limits
from ipuopt.models.exchange.components import component_of, largest_by
from ipuopt.models.exchange.insertion import Ends, insert_all
from ipuopt.models.exchange.instance import Instance, mirrored
from ipuopt.models.exchange.orders import Stop, by_end, never, topological
from ipuopt.models.exchange.problem import IntArray
from ipuopt.models.exchange.state import empty_state
from ipuopt.models.exchange.timing import horizon_of

SLACK = 0.05
"""A pass of forward-backward improvement may end later than the one before by this share: the next
pass often gains more than that; beyond it, it hardly ever does."""

SLICE = 100_000
"""Receivers inserted between two looks at the clock; a few tenths of a second at most."""

EFFORT = 20_000_000
"""Receivers inserted by one repeatable search: about a minute of one core."""

LEAST_TRIES = 4
"""Orders that a repeatable search tries even if the phase is so large that they exceed the effort."""


@dataclass(slots=True)
class Budget:
    """What a search may still do; a repeatable one counts inserted receivers, not seconds."""

    receivers: int | None
    tries: int = LEAST_TRIES

    @classmethod
    def of(cls, limits: Limits) -> Budget:
        """Budget under the given limits."""
        return cls(int(EFFORT * limits.effort) if limits.deterministic else None)

    def take(self, phase: Instance, passes: int) -> bool:
        """Whether some passes of insertion, an order with its improvement, are affordable."""
        self.tries -= 1
        return self.spend(passes * len(phase.receiver)) or self.tries >= 0

    def spend(self, receivers: int) -> bool:
        """Whether the insertion of so many receivers is affordable."""
        if self.receivers is not None:
            self.receivers -= receivers
        return self.receivers is None or self.receivers >= 0


def run(phase: Instance, order: IntArray, horizon: int, stop: Stop = never) -> IntArray | None:
    """Starts when transfers enter in ``order``.

    None if one would end after ``horizon``, or once ``stop`` says so.
    """
    return _run(phase, order, horizon, None, stop)


def run_to_end(phase: Instance, order: IntArray, horizon: int) -> IntArray:
    """As :func:`run`; ``horizon`` doubles until all transfers fit."""
    while True:
        start = run(phase, order, horizon)
        if start is not None:
            return start
        horizon *= 2


def run_appending(
    phase: Instance, order: IntArray, horizon: int, stop: Stop = never
) -> IntArray | None:
    """Starts when transfers are appended in ``order``; ``horizon`` doubles until they fit.

    None once ``stop`` says so.
    """
    while not stop():
        ends = Ends(*np.zeros((2, phase.tiles), np.int64))
        start = _run(phase, order, horizon, ends, stop)
        if start is not None:
            return start
        horizon *= 2
    return None


def _run(
    phase: Instance, order: IntArray, horizon: int, ends: Ends | None, stop: Stop
) -> IntArray | None:
    state = empty_state(phase, horizon + 1)
    width = max(1, SLICE * len(order) // max(1, len(phase.receiver)))
    for first in range(0, len(order), width):
        part = order[first : first + width]
        if stop() or not insert_all(phase, state, part, horizon, ends):
            return None
    return state.start


def reverse(phase: Instance, start: IntArray) -> IntArray:
    """Starts in the other direction of time, as early as the horizon of ``start`` allows."""
    return horizon_of(start, phase.tail) - (start + phase.words)


class Search:
    """Best known starts of a phase, component by component.

    Attributes
    ----------
    forward, backward
        The phase in both directions of time.
    component, count
        Component of each transfer, and how many there are.
    start, horizons
        Best starts, and the horizon of each component under them.
    stop
        Asked now and then whether to give up the insertion under way.
    """

    def __init__(self, forward: Instance, start: IntArray, stop: Stop = never) -> None:
        self.forward = forward
        self.stop = stop
        self.backward = mirrored(forward)
        self.count, self.component = component_of(forward)
        self.start = start.copy()
        self.horizons = self._ends(start)

    @property
    def horizon(self) -> int:
        """Horizon of the incumbent."""
        return int(self.horizons.max(initial=0))

    def _ends(self, start: IntArray) -> IntArray:
        return largest_by(self.component, self.count, start + self.forward.tail)

    def offer(self, start: IntArray) -> bool:
        """Take over the components that end earlier in ``start``; whether any does."""
        ends = self._ends(start)
        better = ends < self.horizons
        if not better.any():
            return False
        moved = better[self.component]
        self.start[moved] = start[moved]
        self.horizons[better] = ends[better]
        return True

    def offer_part(self, transfers: IntArray, start: IntArray) -> bool:
        """As :meth:`offer`, of other starts for some transfers."""
        whole = self.start.copy()
        whole[transfers] = start
        return self.offer(whole)

    def insert(self, phase: Instance, order: IntArray, limit: int) -> IntArray | None:
        """Insert in ``order`` in the direction of ``phase``; offer and return forward starts.

        Insertion backward in time does not look at (E7): what it finds is no schedule yet, and not
        offered.
        """
        start = run(phase, order, limit, self.stop)
        if start is None:
            return None
        if phase.mirror:
            return reverse(phase, start)
        self.offer(start)
        return start

    def insert_again(self, start: IntArray) -> IntArray | None:
        """Insert forward in the order of ``start``, which need not be a valid schedule."""
        return self.insert(self.forward, topological(self.forward, start), self._limit(start))

    def _limit(self, start: IntArray) -> int:
        """Horizon that a pass from ``start`` may have."""
        return round((1 + SLACK) * horizon_of(start, self.forward.tail)) + 1

    def justify(self, start: IntArray | None, rounds: int) -> None:
        """Forward-backward improvement from ``start``, while it ends earlier each round.

        Backward, then forward: each pass inserts in the order in which the previous one ends, so
        that holes open where transfers lean against the other end.
        """
        for _ in range(rounds):
            if start is None:
                return
            before = horizon_of(start, self.forward.tail)
            for phase in (self.backward, self.forward):
                opposite = start if phase.mirror else reverse(self.forward, start)
                start = self.insert(phase, by_end(phase, opposite), self._limit(start))
                if start is None:
                    return
            if horizon_of(start, self.forward.tail) >= before:
                return
