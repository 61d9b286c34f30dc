"""Which tiles get how much effort: every tile once, then those that decide the objective.

Classes are independent, so those that take long are worked on side by side where there are workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ipuopt.limits import Limits
from ipuopt.models.placement.heuristics import Cost, Found, quick
from ipuopt.models.placement.problem import IntArray, Problem
from ipuopt.models.placement.refine import (
    Refined,
    refine_footprint,
    refine_words,
    start_of,
)
from ipuopt.models.placement.solve import TRIALS, search, verified
from ipuopt.models.placement.tables import tables_of
from ipuopt.solvers.parallel import side_by_side

TRIALS_OF_ALL = 60_000
"""Moves of the local search over all classes: about 4 s with 40 buffers each."""

CLASSES_REFINED = 12
"""Classes whose footprint CP-SAT lowers at most; of the classes with conflict words it looks at all
that time allows, in repeatable mode at as many as this."""

STAGE_SHARE = 0.2
"""Share of the time left that the local search, and then CP-SAT, may use on all classes.

The exchange phases are scheduled in what remains.
"""

STAGE_TIME_S = 60.0
"""Most seconds of each of the two on all classes."""

CLASS_TIME_S = 10.0
"""Seconds that CP-SAT may spend on one class."""

EFFORT = 5.0
"""Deterministic time of each CP-SAT run on one class, in repeatable mode."""


JOBS_WORK = 60_000_000
"""Moves times buffers squared of all classes from which on workers are worth their start: two
seconds of local search."""


class Group(Protocol):
    """A class of tiles: its problem, and the shards of each tile as rows."""

    @property
    def problem(self) -> Problem:
        """Problem of each tile."""

    @property
    def shards(self) -> IntArray:
        """Shape ``(tiles, buffers)``."""


def improve_all(groups: Sequence[Group], bounds: Sequence[int], limits: Limits) -> list[Refined]:
    """Heuristic placement of every class.

    The objective is the largest footprint, so a class is done when it has no conflict words and
    needs no more than the largest bound. The others share the moves of the local search.
    """
    goal = max(bounds, default=0)
    found = [quick(tables_of(group.problem), goal, limits.expired) for group in groups]
    open_ = [
        index for index, entry in enumerate(found) if entry is None or entry.cost > Cost(0, goal)
    ]
    limits = _share(limits)
    trials = min(TRIALS, TRIALS_OF_ALL // max(1, len(open_)))
    work = trials * sum(len(groups[index].problem) ** 2 for index in open_)
    jobs = [(groups[index].problem, goal, trials) for index in open_]
    answers = side_by_side(_search, jobs, limits, alone=work < JOBS_WORK)
    for index, better in zip(open_, answers, strict=True):
        if better is not None:
            found[index] = better
    return [
        start_of(verified(group.problem, entry), bound)
        for group, entry, bound in zip(groups, found, bounds, strict=True)
    ]


def _search(job: tuple[Problem, int, int], limits: Limits) -> Found | None:
    problem, goal, trials = job
    return None if limits.expired() else search(problem, limits, goal, trials)


def _refine_words(job: tuple[Refined, Problem], limits: Limits) -> Refined:
    return refine_words(*job, _part(limits), EFFORT)


def _share(limits: Limits) -> Limits:
    if limits.deterministic:
        return limits
    return limits.within(min(STAGE_TIME_S, STAGE_SHARE * limits.remaining_s()))


def _part(limits: Limits) -> Limits:
    """Of one class: what it finds is not the objective of all."""
    return (limits if limits.deterministic else limits.within(CLASS_TIME_S)).unheard()


def _footprint(found: Found | None) -> int:
    return 0 if found is None else found.cost.footprint


def refine_worst(groups: Sequence[Group], states: list[Refined], limits: Limits) -> None:
    """Run CP-SAT where it matters; replaces entries of ``states``.

    First on classes without a placement, then on those with the most conflict words, then on the
    class with the largest footprint as long as that can lower the maximum.
    """
    limits = _share(limits)
    missing = [index for index, state in enumerate(states) if state.found is None]
    words = np.array(
        [
            0 if state.words_proven or state.found is None else state.found.cost.words
            for state in states
        ],
        dtype=np.int64,
    ) * np.array([len(group.shards) for group in groups], dtype=np.int64)
    heavy = np.argsort(-words, kind="stable")[: np.count_nonzero(words)]
    if limits.deterministic:
        heavy = heavy[:CLASSES_REFINED]
    chosen = [*missing, *heavy.tolist()]
    jobs = [(states[index], groups[index].problem) for index in chosen]
    for index, state in zip(chosen, side_by_side(_refine_words, jobs, limits), strict=True):
        if state is not None:
            states[index] = state
    tried: set[int] = set()
    while states and len(tried) < CLASSES_REFINED and not limits.expired():
        worst = max(range(len(states)), key=lambda index: _footprint(states[index].found))
        bound = max(state.bound for state in states)
        if _footprint(states[worst].found) <= bound or worst in tried:
            return
        tried.add(worst)
        problem = groups[worst].problem
        states[worst] = refine_footprint(states[worst], problem, _part(limits), EFFORT)
