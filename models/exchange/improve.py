"""Strategy of insertion: a portfolio of orders, then perturbed orders while they help."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ipuopt.models.exchange import orders
from ipuopt.models.exchange.colouring import by_matching
from ipuopt.models.exchange.components import restrict
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.problem import IntArray
from ipuopt.models.exchange.search import Budget, Search, Stop, run

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
            if search.horizon <= target or search.stop() or not budget.take(phase, 1 + 2 * ROUNDS):
                return
            _try(search, phase, way(phase), target)
    if (
        search.horizon > target
        and not search.stop()
        and budget.take(search.forward, 2 * LAST_ROUNDS)
    ):
        search.justify(search.start, LAST_ROUNDS)


def quick(phase: Instance, horizon: int, stop: Stop, budget: Budget) -> IntArray | None:
    """Starts by one list schedule and one round of improvement, if they end before ``horizon``."""
    if not budget.take(phase, 1 + 2 * ROUNDS):
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
    while (
        search.horizon > target and not search.stop() and budget.take(part.forward, 1 + 2 * ROUNDS)
    ):
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
    """Random weights, the incumbent's order blurred by up to 8 %, or its last transfers earlier.

    The last way helps where few transfers hold up the rest: they move ahead of those in their way.
    """
    way = generator.integers(3)
    if way == 0:
        load, words = generator.integers(0, 64), generator.integers(0, 16)
        return orders.dispatch(phase, int(load), int(words))
    start = search.start
    if phase.mirror:
        start = search.horizon - (start + search.forward.words)
    if way == 1:
        ends = start + (phase.words if phase.mirror else phase.tail)
        late = np.flatnonzero(ends > generator.uniform(0.8, 1.0) * ends.max())
        some = late[generator.random(len(late)) < 0.3 * generator.random() + 3 / len(late)]
        ahead = np.zeros(len(start), np.int64)
        ahead[some] = generator.integers(0, search.horizon + 1, len(some))
        return orders.topological(phase, start - ahead)
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
