"""Small components of a phase, solved to the end by CP-SAT."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ipuopt.limits import Limits
from ipuopt.models.exchange import exact
from ipuopt.models.exchange.check import check
from ipuopt.models.exchange.components import restrict
from ipuopt.models.exchange.incumbent import STAGE, Incumbent
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.orders import topological
from ipuopt.models.exchange.pairs import Pairs
from ipuopt.models.exchange.problem import BoolArray, IntArray, Problem, Solution
from ipuopt.models.exchange.search import Search
from ipuopt.models.exchange.timing import horizon_of
from ipuopt.report import NO_SOLVER, Limit
from ipuopt.solvers.parallel import side_by_side

COMPONENT_SECONDS = 20.0
"""Most wall clock for CP-SAT on one component; those of the snapshots close within seconds."""

LONG_SHARES = 8
"""A component may use the time left divided by those left, or by this if there are more: what is
found for the first ones serves the others of their shape."""

SIDE_BY_SIDE = 4
"""Components of different shapes that are solved at a time in repeatable mode."""

WORTH_WORKERS = 1_000
"""Pairs of transfers a component from which a process of its own is worth its start."""

COMPONENT_EFFORT = 5.0
"""Deterministic effort of CP-SAT over all components of a phase in repeatable mode; a unit takes 5
to 10 seconds of one core on these models."""


def close_components(run: Incumbent) -> None:
    """Solve the open components that are small enough; bounds and schedules go to ``run``."""
    _Closing(run).components()


class _Part(NamedTuple):
    """A component to solve: a job for a worker.

    Attributes
    ----------
    transfers
        Of the component, in the whole phase.
    phase, pairs, shape
        The component alone, what it forbids, and what it shares with others of its shape.
    start
        Its schedule so far.
    least
        Bound that is known.
    pointers
        Receivers whose pointer event can never be dropped.
    effort
        Deterministic effort of CP-SAT in repeatable mode.
    """

    transfers: IntArray
    phase: Instance
    pairs: Pairs
    shape: bytes
    start: IntArray
    least: int
    pointers: BoolArray
    effort: float


def _solve_part(part: _Part, limits: Limits) -> exact.Answer:
    return exact.solve_component(
        part.phase,
        part.pairs,
        part.start,
        part.least,
        limits,
        pointers=part.pointers,
        name=STAGE,
        effort=part.effort,
    )


class _Closing:
    """State of the pass over the components."""

    def __init__(self, run: Incumbent) -> None:
        self.run = run
        self.parts: dict[int, _Part | None] = {}
        self.orders: dict[bytes, IntArray] = {}
        self.pointers = _fixed_pointers(run.problem)

    def components(self) -> None:
        """Solve the open components that are small enough, latest first.

        Bounds found here hold for the widths at hand, so they count where those are given.
        Components of one shape differ by the distances of their tiles only: what the solver finds
        for one is tried as an order of insertion for the next. Those of other shapes are solved
        side by side.
        """
        search, limits = self.run.search, self.run.limits
        left = [int(c) for c in np.flatnonzero(search.horizons > self.run.target)]
        left.sort(key=lambda c: -int(search.horizons[c]))
        effort = COMPONENT_EFFORT / max(1, len(left))
        while left and not limits.expired():
            parts: list[_Part] = []
            width, later = self._width(), []
            for component in left:
                if len(parts) == width:
                    later.append(component)
                    continue
                if component not in self.parts:
                    self.parts[component] = self._part(component, effort)
                part = self.parts[component]
                if part is None:
                    continue
                if any(part.shape == other.shape for other in parts):
                    later.append(component)
                elif not self._closed(part, component):
                    start = search.start[part.transfers]
                    parts.append(part._replace(start=start, least=self.run.bound))
            self._solve(parts, len(parts) + len(later))
            left = later

    def _width(self) -> int:
        """Components at a time; in a repeatable run the same with any workers, or none."""
        limits = self.run.limits
        if limits.deterministic:
            return SIDE_BY_SIDE
        return 1 if limits.workers is None else limits.workers.width(limits)

    def _part(self, component: int, effort: float) -> _Part | None:
        """A component, unless it is too large to be solved."""
        search = self.run.search
        begin = time.monotonic()
        transfers = np.flatnonzero(search.component == component)
        phase = restrict(search.forward, transfers)
        self.run.build_time_s += time.monotonic() - begin
        pairs = exact.few_pairs(phase)
        if pairs is None:
            return None
        pointers = self.pointers[_receivers(search.forward, transfers)]
        start = search.start[transfers]
        bound = self.run.bound
        return _Part(transfers, phase, pairs, _shape(phase), start, bound, pointers, effort)

    def _closed(self, part: _Part, component: int) -> bool:
        """Whether nothing is left to gain, after the order of another one of its shape."""
        if part.shape in self.orders:
            self._offer(self.orders[part.shape], part.phase, part.transfers)
        return bool(self.run.search.horizons[component] <= self.run.target)

    def _solve(self, parts: Sequence[_Part], left: int) -> None:
        """Solve some components of different shapes."""
        limits = self._share(left, len(parts))
        work = sum(len(part.pairs.one) for part in parts)
        alone = work < WORTH_WORKERS * len(parts)
        answers = side_by_side(_solve_part, parts, limits, alone=alone)
        for part, answer in zip(parts, answers, strict=True):
            if answer is None:
                self.run.notes.append("a component was left: its process died, or did not end")
            else:
                self._take(answer, part.phase, part.transfers)
            self.orders[part.shape] = self.run.search.start[part.transfers]

    def _share(self, left: int, at_a_time: int) -> Limits:
        """Limits of some of the components left; a repeatable run counts effort, not seconds.

        The horizon of one component is not that of the phase: nobody is told of it.
        """
        limits = self.run.limits.unheard()
        if limits.deterministic or not at_a_time:
            return limits
        turns = -(-min(left, LONG_SHARES) // at_a_time)
        return limits.within(min(COMPONENT_SECONDS, limits.remaining_s() / turns))

    def _take(self, answer: exact.Answer, phase: Instance, transfers: IntArray) -> None:
        if answer.result.solver != NO_SOLVER:
            self.run.solver = answer.result.solver
        if answer.result.note:
            self.run.notes.append(answer.result.note)
        self.run.refused |= answer.result.reason is Limit.SOLVER
        if answer.start is not None:
            self._offer(answer.start, phase, transfers)
            self._keep(answer.start, phase, transfers)
        self.run.raise_bound(answer.bound, answer.source)
        self.run.progress()

    def _offer(self, found: IntArray, phase: Instance, transfers: IntArray) -> None:
        """Insert in the order of ``found``: that also mends control events (E4), (E7)."""
        part = Search(phase, self.run.search.start[transfers])
        part.justify(part.insert(phase, topological(phase, found), 2 * part.horizon), 1)
        self.run.search.offer_part(transfers, part.start)

    def _keep(self, found: IntArray, phase: Instance, transfers: IntArray) -> None:
        """Take over ``found`` as it is if that ends earlier and is valid.

        Insertion is stricter than the rules where pointers may be dropped (E4, E7). Only control
        events may be at fault in an honest answer.
        """
        component = self.run.search.component[transfers[0]]
        if horizon_of(found, phase.tail) >= self.run.search.horizons[component]:
            return
        start = self.run.search.start.copy()
        start[transfers] = found
        violations = check(self.run.problem, Solution(start, self.run.paired))
        if not violations:
            self.run.search.offer(start)
        for label, message in violations:
            if label not in ("E4", "E7"):
                self.run.notes.append(f"refused: {label}: {message}")
                self.run.refused = True
                return


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
