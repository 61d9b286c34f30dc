"""Strategy of insertion: a portfolio of orders, then perturbed orders while they help."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ipuopt.models.exchange import orders
from ipuopt.models.exchange.colouring import by_matching
from ipuopt.models.exchange.components import restrict
from ipuopt.models.exchange.instance import Instance, mirrored
from ipuopt.models.exchange.orders import Stop
from ipuopt.models.exchange.problem import IntArray
from ipuopt.models.exchange.search import Budget, Search, reverse, run
from ipuopt.models.exchange.timing import horizon_of

Way = Callable[[Instance], IntArray]
"""Makes an order of insertion, for either direction of time."""

PORTFOLIO = ((48, 0), (16, 0), (5, 5), (5, 0), (2, 5), (16, 16), (0, 0))
"""Weights (load, words) of :func:`~ipuopt.models.exchange.orders.dispatch`, in the order tried.

On the snapshots each of them is the best for some phase; large load weights win where tiles send
and receive many short transfers, word weights for multicasts of mixed lengths.
"""

QUICK = ((5, 5), (48, 0), (0, 0))
"""Weights (load, words) by which a choice of widths is judged."""

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

SQUEAKS = 40
"""Orders in a row without gain after which :func:`squeak` ends."""

TOLERANCE = 0.02
"""Share by which an order may be worse than the best one to be followed further."""

SMALL_GAP = 0.01
"""Gap below which perturbation is not worth its time."""


def ways_of(phase: Instance) -> list[Way]:
    """Orders of insertion of a forward phase and its mirror, cheap ones first."""
    matching = by_matching(phase)
    ways: list[Way] = [orders.longest, orders.listed]
    if matching is not None:
        # Dependencies (E5) point the other way in the mirrored phase.
        ways.insert(0, partial(orders.topological, key=np.argsort(matching)))
    ways += [partial(orders.dispatch, load=load, words=words) for load, words in PORTFOLIO]
    if orders.crowded(phase).any():
        ways += [partial(orders.crowded_first, load=load, words=0) for load in (0, 48)]
    return ways


def portfolio(search: Search, target: int, budget: Budget, ways: Sequence[Way]) -> None:
    """Insert in every order, in both directions, until ``target`` is met.

    At last the best schedule is improved once more.
    """
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


def quick(phase: Instance, horizon: int, stop: Stop, budget: Budget) -> Search | None:
    """Some list schedules in both directions, improved; None if none could be made."""
    best: Search | None = None
    backward = mirrored(phase)
    for load, words in QUICK:
        for way in (phase, backward):
            if not budget.take(phase, 1 + 2 * ROUNDS):
                break
            start = run(way, orders.dispatch(way, load, words), 2 * horizon, stop)
            if start is None:
                continue
            start = reverse(way, start) if way.mirror else start
            start = run(phase, orders.topological(phase, start), 2 * horizon, stop)
            if start is None:
                continue
            best = best or Search(phase, start, stop)
            best.offer(start)
            best.justify(start, ROUNDS)
    return best


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
        search.offer_part(members, part.start)
        if search.horizon < before:
            part, members = _open_part(search, target)
            idle = 0
        else:
            idle += 1
            small = search.horizon - target <= SMALL_GAP * search.horizon
            if idle >= (PATIENCE // 3 if small else PATIENCE):
                return


def squeak(search: Search, target: int, budget: Budget, seed: int) -> None:
    """Move the transfers that end last ahead in the order, and insert again (squeaky wheel).

    What helps where few transfers hold up the rest: each takes its place before those in its way.
    Some of the late ones move by the same part of the order, so that groups stay together.
    """
    generator = np.random.default_rng(seed)
    part, members = _open_part(search, target)
    phase = part.backward if generator.random() < 0.5 else part.forward
    order = orders.crowded_first(phase, int(generator.choice((0, 5, 48))), 0)
    key = np.empty(len(order))
    key[order] = np.arange(len(order)) / len(order)
    best, kept, idle = FAR * target, key.copy(), 0
    while search.horizon > target and idle < SQUEAKS and not search.stop():
        order = orders.topological(phase, key)
        limit = max(min(FAR * target, 2 * best), 2 * part.horizon)
        start = run(phase, order, limit, search.stop) if budget.take(phase, 1) else None
        if start is None:
            return
        ends = start + phase.tail
        idle += 1
        if ends.max() < best:
            best, kept, idle = int(ends.max()), key.copy(), 0
            _settle(search, part, members, reverse(phase, start) if phase.mirror else start)
        elif ends.max() > (1 + TOLERANCE) * best:
            key = kept.copy()
            continue
        aim = target + (ends.max() - target) * generator.choice((0.1, 0.5, 0.9))
        late = np.flatnonzero(ends > aim)
        picked = late[generator.random(len(late)) < max(0.3, 3 / max(1, len(late)))]
        key[picked] -= generator.random() * generator.choice((0.1, 0.5, 1.5))


def _settle(search: Search, part: Search, members: IntArray, start: IntArray) -> None:
    """Offer a schedule that need not have even rows yet, improved."""
    if horizon_of(start, part.forward.tail) > (1 + TOLERANCE) * part.horizon:
        return
    part.justify(part.insert_again(start), ROUNDS)
    search.offer_part(members, part.start)


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
        start = reverse(search.forward, start)
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
