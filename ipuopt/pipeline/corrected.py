"""Plans in the order of what is known of them: prices, then tables, then schedules.

The mapping prices steps by bounds. A plan that is lowered has stronger ones, and one that is
scheduled has cycles; both are more than its price. At prices corrected by that another plan may come
first. Plans are lowered until one that is lowered comes first; that one is built. As long as another
one then comes before the best program, it is built as well. The bound of the mapping stays that of
the prices: those hold for every candidate, also for such as were left out by them.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace

from ipuopt.errors import InfeasibleError
from ipuopt.limits import Limits
from ipuopt.models import mapping
from ipuopt.models.mapping.corrections import Corrections
from ipuopt.models.mapping.problem import Solution
from ipuopt.models.mapping.space import Space
from ipuopt.pipeline.build import build_below, least_cycles, step_cycles
from ipuopt.pipeline.complete import Complete
from ipuopt.pipeline.programs import checked_plan, keep
from ipuopt.pipeline.state import Search, State
from ipuopt.program import IntArray
from ipuopt.report import gap_of

logger = logging.getLogger(__name__)

MOST_LOWERED, MOST_BUILT = 32, 4
"""Plans that are lowered, and those that are built after the first."""

FIRST_SHARE = 0.1
"""Most of the time left that is spent before the first plan is built."""

EFFORT = 0.1
"""Effort of a repeatable run for each plan after the first, by that for the first."""


@dataclass(slots=True)
class Plans:
    """The plans of a space, and what is known of them.

    Attributes
    ----------
    lowered
        Labels of the plans of which more than their price is known.
    """

    search: Search
    state: State
    space: Space
    corrections: Corrections
    lowered: set[tuple[int, ...]] = field(default_factory=set)

    @classmethod
    def of(cls, search: Search, state: State, space: Space) -> Plans:
        """Nothing is known yet but prices."""
        return cls(search, state, space, Corrections(space))

    def first(self, solution: Solution) -> Solution:
        """The plan that comes first once those before it are lowered; ``solution`` without time."""
        limits = self.search.limits
        share = limits.within(FIRST_SHARE * limits.remaining_s())
        self._lower(solution)
        return self._next(solution, share) or solution

    def best(self, solution: Solution, program: Complete, bound: int | None) -> Complete:
        """The best program: ``program``, made of ``solution``, or one of plans that come before."""
        limits, built = replace(self.search.limits, effort=EFFORT), program.built
        self._learn(solution, step_cycles(built.plan, built.program, built.horizon))
        for _ in range(MOST_BUILT):
            gap = gap_of(program.cycles, bound)
            if gap is not None and gap <= limits.gap:
                break
            candidate = self._next(solution, limits)
            if candidate is None or candidate == solution or limits.expired():
                break
            found = self._build(candidate, limits, program.cycles)
            if found is not None and found.cycles < program.cycles:
                solution, program = candidate, found
        return program

    def _next(self, best: Solution, limits: Limits) -> Solution | None:
        """The plan that comes first, lowered; None if that is not known in time."""
        self.search.events.on_stage("mapping at corrected prices")
        backend = self.search.options.solver.value
        quiet = replace(limits.unheard(), gap=0.0)
        while len(self.lowered) <= MOST_LOWERED and not limits.expired():
            found, _ = mapping.solve(self.corrections.problem, quiet, backend=backend, beam=best)
            if found is None or found.labels in self.lowered:
                return found
            self._lower(found)
        return None

    def _lower(self, solution: Solution) -> None:
        """Learn what a plan takes at least."""
        plan = checked_plan(self.search.workload, self.space, solution)
        try:
            least = least_cycles(plan)
        except InfeasibleError as error:
            logger.info("a plan of %d cycles cannot be built: %s", plan.cost, error)
            self._refuse(solution)
            return
        logger.info("a plan of %d cycles takes %d at least", plan.cost, int(least.sum()))
        self._learn(solution, least)

    def _build(self, solution: Solution, limits: Limits, worth: int) -> Complete | None:
        """Program of a plan; None if it is not better than ``worth`` cycles."""
        plan = checked_plan(self.search.workload, self.space, solution)
        try:
            found = build_below(
                plan, limits, self.search.events, worth, self._keep, self.search.support
            )
        except InfeasibleError as error:
            logger.info("a plan of %d cycles cannot be built: %s", plan.cost, error)
            found = None
        if found is None:
            self._refuse(solution)
            return None
        logger.info("a plan of %d cycles takes %d", plan.cost, int(found.cycles.sum()))
        self._learn(solution, found.cycles)
        return found.program

    def _keep(self, program: Complete) -> None:
        keep(self.search, self.state, program)

    def _learn(self, solution: Solution, cycles: IntArray) -> None:
        self.lowered.add(solution.labels)
        self.corrections.learn(solution, cycles)

    def _refuse(self, solution: Solution) -> None:
        self.lowered.add(solution.labels)
        self.corrections.refuse(solution)
