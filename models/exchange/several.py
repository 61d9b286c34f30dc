"""Schedules of several phases under one limit of time.

Every phase first gets a schedule that takes one pass (:mod:`~ipuopt.models.exchange.slots`), so that
there is a complete answer whenever the search has to end. Phases of equal structure are solved
once. Then all of them are solved within a short limit, the small ones first, and what is left goes
to the open ones in equal shares, in rounds: a phase that closes leaves its time to the rest, and
those near their bounds close most often. Phases run side by side on the threads that the limits allow.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Lock

from ipuopt.errors import CheckError
from ipuopt.limits import Limits
from ipuopt.models.exchange.group import Answer, Group, grouped
from ipuopt.models.exchange.problem import Problem, Solution
from ipuopt.models.exchange.solve import STAGE, solve
from ipuopt.report import SolveReport

FIRST_SHARE = 0.3
"""Share of the time for the first pass over all phases."""

STALE_ROUNDS = 3
"""Rounds that bring nothing although every search ended by its own rule; then the rest of the time
would not either."""

LEAST_S = 0.5
"""A search gets at least this many seconds, besides what it needs to begin and to end."""

SEEDS = 2**31
"""Seeds are below it."""

Publish = Callable[[Sequence[Answer]], None]


def solve_all(
    problems: Sequence[Problem],
    limits: Limits,
    *,
    free: bool = False,
    publish: Publish = lambda answers: None,
) -> list[Answer]:
    """Schedule phases.

    Parameters
    ----------
    problems
        The phases, in any number.
    limits
        For all of them together. In repeatable mode each phase is solved once, with the effort that
        its size allows. A gap of 1 or more asks for the heuristics alone.
    free
        Whether widths are chosen here (:func:`~ipuopt.models.exchange.solve.solve`).
    publish
        Called with the answers so far, in order, after every improvement; from any thread.

    Returns
    -------
    list
        One answer a phase, in order. A phase whose solution the checker refused keeps its best
        other schedule, and ``refused`` says why.
    """
    run = _Run(problems, limits, free, publish)
    run.search()
    return run.answers()


def _solve_phase(
    job: tuple[Problem, bool, Solution | None], limits: Limits
) -> tuple[Solution, SolveReport]:
    problem, free, warm = job
    return solve(problem, limits, free=free, warm=warm)


class _Run:
    """State of one call."""

    def __init__(
        self, problems: Sequence[Problem], limits: Limits, free: bool, publish: Publish
    ) -> None:
        self.limits, self.free, self.publish = limits, free, publish
        self.lock = Lock()
        self.groups = grouped(problems)
        largest = sorted(self.groups, key=lambda group: -group.effort_s)
        with ThreadPoolExecutor(limits.threads, thread_name_prefix="begin") as executor:
            for begun in [executor.submit(group.begin, limits, free) for group in largest]:
                begun.result()
        self._tell()

    def answers(self) -> list[Answer]:
        """The best answers so far, in the order of the problems."""
        with self.lock:
            found = [pair for group in self.groups for pair in group.answers()]
        return [answer for _, answer in sorted(found, key=lambda pair: pair[0])]

    def _tell(self) -> None:
        self.publish(self.answers())

    def search(self) -> None:
        """All passes."""
        opened = sorted(self.groups, key=lambda group: group.effort_s)
        if self.limits.deterministic or self.limits.gap >= 1 or self.limits.deadline == math.inf:
            self._pass(opened, [0.0] * len(opened), 0, math.inf)
        else:
            shared = FIRST_SHARE * self.limits.remaining_s()
            self._pass(opened, [group.effort_s + LEAST_S for group in opened], 0, shared)
            self._rounds()
        if self.limits.should_stop():
            for group in self.groups:
                group.interrupt()

    def _rounds(self) -> None:
        """Search the open phases again and again, from their best schedules, with other seeds."""
        stale = 0
        number = 0
        while stale < STALE_ROUNDS and not self.limits.expired():
            number += 1
            opened = [group for group in self.groups if group.open(self.limits.gap)]
            opened.sort(key=lambda group: group.gap)
            before = [(group.objective, group.bound) for group in opened]
            if not self._pass(opened, [len(group.places) for group in opened], number, math.inf):
                return
            moved = before != [(group.objective, group.bound) for group in opened]
            cut = any(group.limit is not None for group in opened)
            stale = 0 if moved or cut else stale + 1

    def _pass(
        self, groups: Sequence[Group], weights: Sequence[float], number: int, shared_s: float
    ) -> int:
        """Search groups in order, each within its share of the time; how many were begun.

        A share is by weight among the groups not begun yet. Without weights there are no shares.
        """
        workers = max(1, min(self._width(), len(groups)))
        until = time.monotonic() + min(shared_s, self.limits.remaining_s())
        limits = replace(
            self.limits,
            threads=max(1, self.limits.threads // workers),
            seed=(self.limits.seed + number) % SEEDS,
        )
        with ThreadPoolExecutor(workers, thread_name_prefix="phase") as executor:
            return sum(
                executor.map(
                    lambda place: self._one(
                        groups[place],
                        limits,
                        workers * max(0.0, until - time.monotonic()),
                        weights[place:],
                        again=number > 0,
                    ),
                    range(len(groups)),
                )
            )

    def _width(self) -> int:
        """Phases at a time: threads of this process, or jobs of a cluster."""
        workers = self.limits.workers
        remote = workers is not None and workers.remote
        return workers.width(self.limits) if workers and remote else self.limits.threads

    def _one(
        self, group: Group, limits: Limits, left_s: float, weights: Sequence[float], *, again: bool
    ) -> bool:
        """Search one group, if a search could come to a result in time."""
        if self.limits.expired() or not group.open(0.0):
            return False
        if sum(weights):
            share = left_s * weights[0] / sum(weights)
            need = group.effort_s + group.check_s + LEAST_S
            if need > self.limits.remaining_s() or (again and len(weights) > 1 and share < need):
                return False
            given = min(max(share, need), self.limits.remaining_s())
            limits = limits.within(given - group.check_s)
        self._solve(group, limits)
        return True

    def _solve(self, group: Group, limits: Limits) -> None:
        begin = time.monotonic()
        limits = replace(
            limits,
            on_solution=lambda _, value: self._show(group, objective=value),
            on_bound=lambda _, value: self._show(group, bound=value),
        )
        try:
            found = self._solved(group, limits)
            if found is not None:
                with self.lock:
                    group.take(*found)
        except CheckError as error:
            with self.lock:
                group.refuse(error, time.monotonic() - begin)
        self._tell()

    def _solved(self, group: Group, limits: Limits) -> tuple[Solution, SolveReport] | None:
        """Search here, or on a cluster where there are several phases; None if that has no answer.

        Worker processes of this machine are for the components of a phase: kernels release the
        interpreter lock, so phases run side by side in threads, which start at once.
        """
        workers, job = limits.workers, (group.problem, self.free, group.warm)
        if workers is not None and workers.remote and len(self.groups) > 1:
            (found,) = workers.run(_solve_phase, [job], limits)
            if found is not None or limits.expired():
                return found
        return _solve_phase(job, limits)

    def _show(self, group: Group, objective: int | None = None, bound: int | None = None) -> None:
        """Hand on the sums over all phases."""
        with self.lock:
            moved = group.show(objective, bound)
            horizons = sum(one.shown[0] * len(one.places) for one in self.groups)
            bounds = sum(one.shown[1] * len(one.places) for one in self.groups)
        if moved:
            self.limits.on_solution(STAGE, horizons)
            self.limits.on_bound(STAGE, bounds)
