"""Strategy for one phase: bound, baseline, widths, insertion, components by CP-SAT, perturbation."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from ipuopt.errors import CheckError
from ipuopt.limits import Limits
from ipuopt.models.exchange import eject, exact, improve
from ipuopt.models.exchange.bounds import lower_bound
from ipuopt.models.exchange.check import check, horizon
from ipuopt.models.exchange.components import restrict
from ipuopt.models.exchange.heuristics import append_starts
from ipuopt.models.exchange.instance import Instance, instance
from ipuopt.models.exchange.orders import topological
from ipuopt.models.exchange.problem import BoolArray, IntArray, Problem, Solution
from ipuopt.models.exchange.search import Budget, Search
from ipuopt.models.exchange.sequence import SEQUENCE, sequences
from ipuopt.models.exchange.sequenced import sequence_keys
from ipuopt.models.exchange.timing import horizon_of
from ipuopt.models.exchange.widths import choices, qualifying
from ipuopt.report import Limit, RunInfo, SolveReport, SolveStatus, TracePoint, status_of

STAGE = "exchange"

COMPONENT_SECONDS = 20.0
"""Most wall clock for CP-SAT on one component; those of the snapshots close within seconds."""

LONG_SHARES = 8
"""A component may use the time left divided by those left, or by this if there are more: what is
found for the first ones serves the others of their shape."""

COMPONENT_EFFORT = 5.0
"""Deterministic effort of CP-SAT over all components of a phase in repeatable mode; a unit takes 5
to 10 seconds of one core on these models."""


def solve(
    problem: Problem, limits: Limits, *, free: bool = False, warm: Solution | None = None
) -> tuple[Solution, SolveReport]:
    """Schedule a phase.

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

    The search ends at the bound, at the accepted gap, at a limit, or by its own rule: once
    :data:`~ipuopt.models.exchange.improve.PATIENCE` perturbed orders in a row bring nothing.
    In repeatable mode the number of orders follows from the size of the phase.

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
    return _Run(problem, limits, free, warm).finish()


class _Run:
    """State of one solve."""

    def __init__(self, problem: Problem, limits: Limits, free: bool, warm: Solution | None) -> None:
        self.problem, self.limits, self.free = problem, limits, free
        self.begin = time.monotonic()
        self.trace: list[TracePoint] = []
        self.notes: list[str] = []
        self.solver = "none"
        self.build_time_s = 0.0
        self.refused = False
        self.bound, self.source = lower_bound(problem, free=free)
        limits.on_bound(STAGE, self.bound)
        self.begun = warm is not None and self._valid(warm)
        if warm is not None and self.begun:
            self.baseline = warm
        else:
            self.baseline = Solution(append_starts(instance(problem)), problem.paired)
        self.paired = self.baseline.paired
        phase = instance(problem, self.paired)
        self.search = Search(phase, self.baseline.start, limits.expired)
        self.heuristic = self.search.horizon
        self._progress()

    def _valid(self, warm: Solution) -> bool:
        """Whether a schedule to start from is one of the widths asked for."""
        if not self.free and not np.array_equal(warm.paired, self.problem.paired):
            return False
        if check(self.problem, warm):
            self.notes.append("the schedule to start from is not valid")
            return False
        return True

    def _widths(self, paired: BoolArray, start: IntArray) -> None:
        """Go on with other widths and a valid schedule of them."""
        if not np.array_equal(paired, self.paired):
            self.paired = paired
            phase = instance(self.problem, paired)
            self.search = Search(phase, start, self.limits.expired)
        else:
            self.search.offer(start)

    @property
    def target(self) -> int:
        """Horizon at which the search ends: the bound, or what the accepted gap allows."""
        if self.limits.gap >= 1:
            return self.heuristic
        return max(self.bound, int(self.bound / (1 - self.limits.gap)))

    def finish(self) -> tuple[Solution, SolveReport]:
        """Run the stages and report."""
        budget = Budget.of(self.limits)
        if not self.begun:
            if self.free and self.search.horizon > self.target:
                self._choose_widths(budget)
            improve.portfolio(self.search, self.target, budget)
            self._progress()
            self._set_up_times()
        ways: list[Callable[[], None]] = [
            self._components,
            partial(eject.push, self.search, self.target, budget, self.limits.seed),
        ]
        for way in ways:
            if self.search.horizon > self.target and not self.limits.expired():
                way()
                self._progress()
        self._alternate(budget)
        return self._report()

    def _set_up_times(self) -> None:
        """A bound by orders of the most loaded machines, and those orders for insertion."""
        if self._decided() or self.search.horizon <= self.target or self.limits.expired():
            return
        phase = self.search.forward
        found = sequences(phase)
        self._raise(max((one.bound for one in found), default=0), SEQUENCE)
        if found and self.search.horizon > self.target:
            order = topological(phase, sequence_keys(found, self.search.start))
            self.search.justify(self.search.insert(phase, order, 2 * self.search.horizon), 2)

    def _decided(self) -> bool:
        """Whether widths are a decision: then bounds of the widths at hand prove nothing."""
        return self.free and bool(qualifying(self.problem).any())

    def _raise(self, bound: int, source: str) -> None:
        if bound > self.bound:
            self.bound, self.source = bound, source
            self.limits.on_bound(STAGE, self.bound)

    def _alternate(self, budget: Budget) -> None:
        """Other orders and local search in turn, until none gains any more."""
        seed, before = self.limits.seed, self.search.horizon + 1
        while self.target < self.search.horizon < before and not self.limits.expired():
            before, seed = self.search.horizon, seed + 1
            for way in (improve.squeak, improve.perturb, eject.push):
                way(self.search, self.target, budget, seed)
                self._progress()

    def _choose_widths(self, budget: Budget) -> None:
        """Try a few choices of widths with the quickest orders; go on with the best."""
        for paired in choices(self.problem):
            if self.limits.expired() or np.array_equal(paired, self.problem.paired):
                continue
            phase = instance(self.problem, paired)
            start = improve.quick(phase, self.search.horizon, self.limits.expired, budget)
            if start is not None and horizon_of(start, phase.tail) < self.search.horizon:
                self._widths(paired, start)
                self._progress()

    def _progress(self) -> None:
        value = self.search.horizon
        if not self.trace or self.trace[-1].objective != value:
            self.limits.on_solution(STAGE, value)
        self.trace.append(TracePoint(time.monotonic() - self.begin, value, self.bound))

    def _components(self) -> None:
        """Solve the open components that are small enough, latest first.

        Bounds found here hold for the widths at hand, so they count where those are given.
        Components of one shape differ by the distances of their tiles only: what the solver finds
        for one is tried as an order of insertion for the next.
        """
        search = self.search
        pointers = _fixed_pointers(self.problem)
        orders: dict[bytes, IntArray] = {}
        opened = [int(c) for c in np.flatnonzero(search.horizons > self.target)]
        opened.sort(key=lambda c: -int(search.horizons[c]))
        for place, component in enumerate(opened):
            if self.limits.expired():
                return
            begin = time.monotonic()
            transfers = np.flatnonzero(search.component == component)
            phase = restrict(search.forward, transfers)
            self.build_time_s += time.monotonic() - begin
            if not exact.fits(phase):
                continue
            shape = _shape(phase)
            if shape in orders:
                self._offer(orders[shape], phase, transfers)
            if search.horizons[component] <= self.target:
                continue
            answer = exact.solve_component(
                phase,
                search.start[transfers],
                self.bound,
                self._share(len(opened) - place),
                pointers=pointers[_receivers(search.forward, transfers)],
                name=STAGE,
                effort=COMPONENT_EFFORT / len(opened),
            )
            self._take(answer, phase, transfers)
            orders[shape] = search.start[transfers]

    def _share(self, left: int) -> Limits:
        """Limits of one of the components left; a repeatable run counts effort, not seconds."""
        if self.limits.deterministic:
            return self.limits
        share = self.limits.remaining_s() / min(left, LONG_SHARES)
        return self.limits.within(min(COMPONENT_SECONDS, share))

    def _take(self, answer: exact.Answer, phase: Instance, transfers: IntArray) -> None:
        self.solver = answer.result.solver
        if answer.result.note:
            self.notes.append(answer.result.note)
        self.refused |= answer.result.reason is Limit.SOLVER
        if answer.start is not None:
            self._offer(answer.start, phase, transfers)
            self._keep(answer.start, phase, transfers)
        if not self._decided() and answer.bound is not None:
            self._raise(answer.bound, "cp-sat")
        self._progress()

    def _offer(self, found: IntArray, phase: Instance, transfers: IntArray) -> None:
        """Insert in the order of ``found``: that also mends control events (E4), (E7)."""
        part = Search(phase, self.search.start[transfers])
        part.justify(part.insert(phase, topological(phase, found), 2 * part.horizon), 1)
        start = self.search.start.copy()
        start[transfers] = part.start
        self.search.offer(start)

    def _keep(self, found: IntArray, phase: Instance, transfers: IntArray) -> None:
        """Take over ``found`` as it is if that ends earlier and is valid.

        Insertion is stricter than the rules where pointers may be dropped (E4, E7). Only control
        events may be at fault in an honest answer.
        """
        component = self.search.component[transfers[0]]
        if horizon_of(found, phase.tail) >= self.search.horizons[component]:
            return
        start = self.search.start.copy()
        start[transfers] = found
        violations = check(self.problem, Solution(start, self.paired))
        if not violations:
            self.search.offer(start)
        for label, message in violations:
            if label not in ("E4", "E7"):
                self.notes.append(f"refused: {label}: {message}")
                self.refused = True
                return

    def _report(self) -> tuple[Solution, SolveReport]:
        solution = Solution(self.search.start, self.paired)
        violations = check(self.problem, solution)
        if violations:
            self.notes.append(f"refused: {violations[0][0]}: {violations[0][1]}")
            self.refused = True
            solution = self.baseline
            violations = check(self.problem, solution)
            if violations:
                raise CheckError(f"exchange {self.problem.name}", violations)
        objective = horizon(self.problem, solution)
        if self.bound > objective:
            self.notes.append(f"refused: bound {self.bound} above a checked horizon {objective}")
            self.refused = True
            self.bound, self.source = lower_bound(self.problem, free=self.free)
        status = status_of(objective, self.bound)
        return solution, SolveReport(
            stage=STAGE,
            model=self.problem.name,
            status=status,
            objective=objective,
            bound=self.bound,
            bound_source=self.source,
            unit="cycles",
            limit=self._limit(status, objective),
            heuristic=self.heuristic,
            build_time_s=self.build_time_s,
            wall_time_s=time.monotonic() - self.begin,
            run=RunInfo(
                solver=self.solver,
                seed=self.limits.seed,
                threads=self.limits.threads,
                deterministic=self.limits.deterministic,
                note="; ".join(dict.fromkeys(self.notes)),
            ),
            trace=tuple(self.trace),
        )

    def _limit(self, status: SolveStatus, objective: int) -> Limit | None:
        if status is SolveStatus.OPTIMAL:
            return None
        if self.refused:
            return Limit.SOLVER
        if objective <= self.target:
            return Limit.GAP
        if self.limits.should_stop():
            return Limit.INTERRUPT
        return Limit.TIME if self.limits.expired() else None


def _fixed_pointers(problem: Problem) -> BoolArray:
    """Receivers whose address no receive of the tile ends at: the pointer event is always there."""
    words = np.repeat(problem.words, np.diff(problem.destination_start))
    base = problem.destination_tile << 32
    address = base + problem.destination_address
    fixed: BoolArray = ~np.isin(address, address + 4 * words)
    return fixed


def _receivers(phase: Instance, transfers: IntArray) -> IntArray:
    """Receivers of some transfers, in order."""
    chosen = np.zeros(len(phase.words), np.bool_)
    chosen[transfers] = True
    return np.flatnonzero(np.repeat(chosen, np.diff(phase.bounds)))


def _shape(phase: Instance) -> bytes:
    """Equal for components that send the same words between the same tiles, renumbered."""
    columns = (phase.source, phase.words, phase.bounds, phase.receiver)
    return b"".join(column.tobytes() for column in columns)
