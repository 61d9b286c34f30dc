"""Strategy for one phase: bound, baseline, widths, insertion, components by CP-SAT, local search."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ipuopt.limits import Limits
from ipuopt.models.exchange import eject, improve
from ipuopt.models.exchange.flips import flip_widths
from ipuopt.models.exchange.incumbent import STAGE, Incumbent
from ipuopt.models.exchange.instance import instance
from ipuopt.models.exchange.orders import topological
from ipuopt.models.exchange.problem import Problem, Solution
from ipuopt.models.exchange.search import Budget
from ipuopt.models.exchange.sequence import SEQUENCE, sequences
from ipuopt.models.exchange.sequenced import sequence_keys
from ipuopt.models.exchange.widths import choices
from ipuopt.report import SolveReport

__all__ = ["STAGE", "solve"]

SMALL = 100
"""Transfers of a phase up to which components are solved to the end after a few orders: that takes
less time than all orders where machine code has to be made first."""

FIRST_WAYS = 2
"""Orders tried before that."""


def solve(
    problem: Problem, limits: Limits, *, free: bool = False, warm: Solution | None = None
) -> tuple[Solution, SolveReport]:
    """Schedule a phase.

    The search ends at the bound, at the accepted gap, at a limit, or by its own rule: once
    :data:`~ipuopt.models.exchange.improve.PATIENCE` perturbed orders in a row bring nothing.
    In repeatable mode the number of orders follows from the size of the phase.

    Parameters
    ----------
    problem
        The phase.
    limits
        When to stop.
    free
        Whether the width of each transfer that qualifies for Paired64 is a decision; widths are
        those given otherwise, and the bound holds for them alone.
    warm
        A schedule to start from, of the given widths unless ``free``; left out if it is not valid.

    Returns
    -------
    tuple
        A schedule that the checker accepts, never worse than
        :func:`~ipuopt.models.exchange.heuristics.append_only`, and the report in cycles.

    Raises
    ------
    CheckError
        If the checker refuses the baseline itself.
    """
    run = Incumbent(problem, limits, free, warm)
    budget = Budget.of(limits)
    if not run.begun:
        ways = improve.ways_of(run.search.forward)
        if len(problem) <= SMALL:
            improve.portfolio(run.search, run.target, budget, ways[:FIRST_WAYS])
            ways = ways[FIRST_WAYS:]
            run.progress()
            if run.open:
                _components(run)
        improve.portfolio(run.search, run.target, budget, ways)
        run.progress()
        if free:
            _choose_widths(run, budget)
            flip_widths(run, budget, limits.seed)
        _set_up_times(run)
    stages: list[Callable[[], None]] = [
        partial(_components, run),
        lambda: eject.push(run.search, run.target, budget, limits.seed),
    ]
    for stage in stages:
        if run.open:
            stage()
            run.progress()
    _alternate(run, budget)
    return run.report()


def _choose_widths(run: Incumbent, budget: Budget) -> None:
    """Try a few choices of widths with some orders; go on with those of the earliest horizon."""
    for paired in choices(run.problem):
        if not run.open:
            return
        if np.array_equal(paired, run.paired):
            continue
        phase = instance(run.problem, paired)
        found = improve.quick(phase, run.search.horizon, run.limits.expired, budget)
        if found is not None and found.horizon < run.search.horizon:
            run.change_widths(paired, found)
            ways = improve.ways_of(run.search.forward)
            improve.portfolio(run.search, run.target, budget, ways)
            run.progress()


def _set_up_times(run: Incumbent) -> None:
    """A bound by orders of the most loaded machines, and those orders for insertion."""
    if run.decided or not run.open:
        return
    phase = run.search.forward
    found = sequences(phase)
    run.raise_bound(max((one.bound for one in found), default=0), SEQUENCE)
    if found and run.open:
        order = topological(phase, sequence_keys(found, run.search.start))
        run.search.justify(run.search.insert(phase, order, 2 * run.search.horizon), 2)


def _components(run: Incumbent) -> None:
    # Half a second to import, which a first schedule under a short limit does not have.
    from ipuopt.models.exchange.closing import close_components

    close_components(run)


def _alternate(run: Incumbent, budget: Budget) -> None:
    """Other orders and local search in turn, until none gains any more."""
    seed, before = run.limits.seed, run.search.horizon + 1
    while run.open and run.search.horizon < before:
        before, seed = run.search.horizon, seed + 1
        for way in (improve.squeak, improve.perturb, eject.push):
            way(run.search, run.target, budget, seed)
            run.progress()
        if run.free:
            flip_widths(run, budget, seed)
