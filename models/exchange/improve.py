"""Strategy of insertion: a portfolio of orders, then perturbed orders while they help."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from ipuopt.models.exchange import orders
from ipuopt.models.exchange.colouring import by_matching
from ipuopt.models.exchange.components import restrict
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.problem import IntArray
from ipuopt.models.exchange.search import Search, Stop, run

PORTFOLIO = ((48, 0), (16, 0), (5, 5), (5, 0), (2, 5), (16, 16), (0, 0))
"""Weights (load, words) of :func:`~ipuopt.models.exchange.orders.dispatch`, in the order tried.

On the snapshots each of them is the best for some phase; large load weights win where tiles send
and receive many short transfers, word weights for multicasts of mixed lengths.
"""

ROUNDS = 2
"""Rounds of forward-backward improvement after each order; later ones hardly gain."""

LAST_ROUNDS = 8
"""Rounds of forward-backward improvement of the best schedule, while they gain."""

FAR = 3
"""An insertion may end at this multiple of the target before it is given up, or tried with more
room if nothing better is known: baselines of large phases end at ten times of it."""

PATIENCE = 12
"""Perturbed orders in a row without gain after which the search ends; a third where the gap is
below :data:`SMALL_GAP`."""

SMALL_GAP = 0.01
"""Gap below which perturbation is not worth its time."""

EFFORT = 20_000_000
"""Receivers inserted by one repeatable search: about a minute of one core."""

LEAST_TRIES = 4
"""Orders that a repeatable search tries even if the phase is so large that they exceed the effort."""


@dataclass(slots=True)
class Budget:
    """Orders that a search may still try; a repeatable one counts inserted receivers instead."""

    receivers: int | None
    tries: int = LEAST_TRIES

    def take(self, phase: Instance) -> bool:
        """Whether one more order, with its improvement, is affordable."""
        if self.receivers is None:
            return True
        self.receivers -= (1 + 2 * ROUNDS) * len(phase.receiver)
        self.tries -= 1
        return self.receivers >= 0 or self.tries >= 0


def portfolio(search: Search, target: int, budget: Budget) -> None:
    """Insert in every order of the portfolio, in both directions, until ``target`` is met.

    First the cheap orders, then list schedules, at last the best schedule once more.
    """
    matching = by_matching(search.forward)
    ways: list[Callable[[Instance], IntArray]] = [orders.longest, orders.listed]
    if matching is not None:
        # Dependencies (E5) point the other way in the mirrored phase.
        ways.insert(0, partial(orders.topological, key=np.argsort(matching)))
    ways += [partial(orders.dispatch, load=load, words=words) for load, words in PORTFOLIO]
    for way in ways:
        for phase in (search.forward, search.backward):
            if search.horizon <= target or search.stop() or not budget.take(phase):
                return
            _try(search, phase, way(phase), target)
    if search.horizon > target and not search.stop() and budget.take(search.forward):
        search.justify(search.start, LAST_ROUNDS)


def quick(phase: Instance, horizon: int, stop: Stop, budget: Budget) -> IntArray | None:
    """Starts by one list schedule and one round of improvement, if they end before ``horizon``."""
    if not budget.take(phase):
        return None
    start = run(phase, orders.dispatch(phase, 5, 5), 2 * horizon, stop)
    if start is None:
        return None
    search = Search(phase, start, stop)
    search.justify(start, 1)
    return search.start


def perturb(search: Search, target: int, budget: Budget, seed: int) -> None:
    """Try orders near the incumbent's and random weights until nothing gains any more.

    Only the components that end after ``target`` take part, as a search of their own.
    """
    generator = np.random.default_rng(seed)
    idle = 0
    part, members = _open_part(search, target)
    while search.horizon > target and not search.stop() and budget.take(part.forward):
        before = search.horizon
        phase = part.backward if generator.random() < 0.5 else part.forward
        _try(part, phase, _random_order(part, phase, generator), target)
        start = search.start.copy()
        start[members] = part.start
        search.offer(start)
        if search.horizon < before:
            part, members = _open_part(search, target)
            idle = 0
        else:
            idle += 1
            small = search.horizon - target <= SMALL_GAP * search.horizon
            if idle >= (PATIENCE // 3 if small else PATIENCE):
                return


def _open_part(search: Search, target: int) -> tuple[Search, IntArray]:
    members = np.flatnonzero((search.horizons > target)[search.component])
    part = Search(restrict(search.forward, members), search.start[members], search.stop)
    return part, members


def _random_order(search: Search, phase: Instance, generator: np.random.Generator) -> IntArray:
    """Half of the time random weights, else the incumbent's order blurred by up to 8 %."""
    if generator.random() < 0.5:
        load, words = generator.integers(0, 64), generator.integers(0, 16)
        return orders.dispatch(phase, int(load), int(words))
    start = search.start
    if phase.mirror:
        start = search.horizon - (start + search.forward.words)
    width = search.horizon * 0.08 * generator.random()
    blur = np.rint(generator.normal(0.0, 1.0, len(start)) * width).astype(np.int64)
    return orders.topological(phase, start + blur)


def _try(search: Search, phase: Instance, order: IntArray, target: int) -> None:
    """Insert in ``order`` and improve; rows of bits for far horizons only where those are needed."""
    limit = min(2 * search.horizon, FAR * target)
    start = search.insert(phase, order, limit)
    if start is None and limit < search.horizon:
        start = search.insert(phase, order, 2 * search.horizon)
    if start is not None and phase.mirror:
        start = search.insert_again(start)
    search.justify(start, ROUNDS)
