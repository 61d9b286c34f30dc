"""Small components of a phase, solved to the end by CP-SAT."""

from __future__ import annotations

import time

import numpy as np

from ipuopt.limits import Limits
from ipuopt.models.exchange import exact
from ipuopt.models.exchange.check import check
from ipuopt.models.exchange.components import restrict
from ipuopt.models.exchange.incumbent import STAGE, Incumbent
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.orders import topological
from ipuopt.models.exchange.problem import BoolArray, IntArray, Problem, Solution
from ipuopt.models.exchange.search import Search
from ipuopt.models.exchange.timing import horizon_of
from ipuopt.report import Limit

COMPONENT_SECONDS = 20.0
"""Most wall clock for CP-SAT on one component; those of the snapshots close within seconds."""

LONG_SHARES = 8
"""A component may use the time left divided by those left, or by this if there are more: what is
found for the first ones serves the others of their shape."""

COMPONENT_EFFORT = 5.0
"""Deterministic effort of CP-SAT over all components of a phase in repeatable mode; a unit takes 5
to 10 seconds of one core on these models."""


def close_components(run: Incumbent) -> None:
    """Solve the open components that are small enough; bounds and schedules go to ``run``."""
    _Closing(run).components()


class _Closing:
    """State of the pass over the components."""

    def __init__(self, run: Incumbent) -> None:
        self.run = run

    def components(self) -> None:
        """Solve the open components that are small enough, latest first.

        Bounds found here hold for the widths at hand, so they count where those are given.
        Components of one shape differ by the distances of their tiles only: what the solver finds
        for one is tried as an order of insertion for the next.
        """
        search = self.run.search
        pointers = _fixed_pointers(self.run.problem)
        orders: dict[bytes, IntArray] = {}
        opened = [int(c) for c in np.flatnonzero(search.horizons > self.run.target)]
        opened.sort(key=lambda c: -int(search.horizons[c]))
        for place, component in enumerate(opened):
            if self.run.limits.expired():
                return
            begin = time.monotonic()
            transfers = np.flatnonzero(search.component == component)
            phase = restrict(search.forward, transfers)
            self.run.build_time_s += time.monotonic() - begin
            pairs = exact.few_pairs(phase)
            if pairs is None:
                continue
            shape = _shape(phase)
            if shape in orders:
                self._offer(orders[shape], phase, transfers)
            if search.horizons[component] <= self.run.target:
                continue
            answer = exact.solve_component(
                phase,
                pairs,
                search.start[transfers],
                self.run.bound,
                self._share(len(opened) - place),
                pointers=pointers[_receivers(search.forward, transfers)],
                name=STAGE,
                effort=COMPONENT_EFFORT / len(opened),
            )
            self._take(answer, phase, transfers)
            orders[shape] = search.start[transfers]

    def _share(self, left: int) -> Limits:
        """Limits of one of the components left; a repeatable run counts effort, not seconds."""
        if self.run.limits.deterministic:
            return self.run.limits
        share = self.run.limits.remaining_s() / min(left, LONG_SHARES)
        return self.run.limits.within(min(COMPONENT_SECONDS, share))

    def _take(self, answer: exact.Answer, phase: Instance, transfers: IntArray) -> None:
        self.run.solver = answer.result.solver
        if answer.result.note:
            self.run.notes.append(answer.result.note)
        self.run.refused |= answer.result.reason is Limit.SOLVER
        if answer.start is not None:
            self._offer(answer.start, phase, transfers)
            self._keep(answer.start, phase, transfers)
        if answer.bound is not None:
            self.run.raise_bound(answer.bound, "cp-sat")
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
