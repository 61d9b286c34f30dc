"""Canonical searches in threads, then CP-SAT beside them, under one limit."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import replace

from ipuopt.limits import Limits
from ipuopt.models.placement.space.heuristics import Packing
from ipuopt.models.placement.space.race import Race
from ipuopt.report import NO_SOLVER, Limit, SolveStatus, gap_of

STAGE = "placement"

SEARCH_SHARE, SEARCH_S = 0.4, 30.0
"""Part of the time, and most seconds, that all threads search before CP-SAT takes one."""

REPEATABLE_NODES = 400_000
"""Nodes of all searches in repeatable mode: about 10 s."""

EFFORT = 20.0
"""Deterministic time of CP-SAT in repeatable mode."""

MOST_BLOCKS = 2000
"""Blocks up to which CP-SAT is tried: its model of more takes longer to load than it helps."""

_POLL_S = 0.02


class Portfolio:
    """Runs a race within limits and tells the caller what is new.

    Attributes
    ----------
    solver
        CP-SAT's name and version once it ran.
    limit
        Why the race was given up; None while it goes on or when it is over.
    notes
        What a reader should know.
    """

    def __init__(self, race: Race, limits: Limits, unit: int, nodes: float) -> None:
        self.race, self.limits, self.unit, self._nodes = race, limits, unit, nodes
        self.solver = NO_SOLVER
        self.limit: Limit | None = None
        self.notes: list[str] = []
        self._told: tuple[int | None, int] = (None, -1)

    def run(self, *, searches: bool, solver: bool) -> None:
        """Search until the race is over or a limit is reached."""
        limits = self.limits
        solver = solver and len(self.race.tables.instance) <= MOST_BLOCKS
        first = limits
        if solver and not limits.deterministic and math.isfinite(limits.deadline):
            first = limits.within(min(SEARCH_S, SEARCH_SHARE * limits.remaining_s()))
        if searches and limits.deterministic:
            self.race.run(limits.expired, min(REPEATABLE_NODES, self._nodes))
        elif searches:
            self._search(first.expired, limits.threads)
        self.tell()
        if solver and not self._done() and not limits.expired():
            beside = limits.threads - 1 if searches and not limits.deterministic else 0
            threads, stop = self._threads(limits.expired, beside)
            try:
                self._cpsat()
            finally:
                stop.set()
                for thread in threads:
                    thread.join()
        if searches and not limits.deterministic and not self._done():
            self._search(limits.expired, limits.threads)
        self.tell()
        if not self.race.over():
            self.limit = Limit.GAP if self._within_gap() else Limit.TIME
            if limits.should_stop():
                self.limit = Limit.INTERRUPT

    def tell(self) -> None:
        """Pass on a new incumbent or bound."""
        best, bound = self.race.best, self.race.bound
        height = None if best is None else best.height
        if height is not None and height != self._told[0]:
            self.limits.on_solution(STAGE, height * self.unit)
        if bound != self._told[1]:
            self.limits.on_bound(STAGE, bound * self.unit)
        self._told = (height, bound)

    def _within_gap(self) -> bool:
        best = self.race.best
        gap = gap_of(best.height if best else None, self.race.bound)
        return self.limits.gap > 0 and gap is not None and gap <= self.limits.gap

    def _done(self) -> bool:
        return self.race.over() or self._within_gap()

    def _threads(
        self, expired: Callable[[], bool], count: int
    ) -> tuple[list[threading.Thread], threading.Event]:
        """Start searches; they look at the clock and at the event between chunks of nodes."""
        stop = threading.Event()

        def ends() -> bool:
            return stop.is_set() or expired()

        made = [
            threading.Thread(target=self.race.run, args=(ends, self._nodes)) for _ in range(count)
        ]
        for thread in made:
            thread.daemon = True
            thread.start()
        return made, stop

    def _search(self, expired: Callable[[], bool], count: int) -> None:
        threads, stop = self._threads(expired, count)
        while any(thread.is_alive() for thread in threads):
            self.tell()
            if expired() or self._done():
                stop.set()
            threads[0].join(_POLL_S)

    def _cpsat(self) -> None:
        """One run of CP-SAT from the incumbent."""
        # Imported here: what the searches answer needs no solver, whose loading takes a second.
        from ipuopt.models.placement.space.exact import MOST_UNITS, Model
        from ipuopt.solvers import cpsat

        race = self.race
        best = race.best
        most = race.ceiling if best is None else best.height
        if most > MOST_UNITS:
            self.notes.append(f"CP-SAT was not tried: more than {MOST_UNITS} units of height")
            return
        model = Model(race.tables.instance, race.bound, most)
        if not model.is_possible:
            return
        found = threading.Event()

        def should_stop() -> bool:
            self.tell()
            return (race.only and found.is_set()) or self._done() or self.limits.should_stop()

        result = cpsat.run(
            model.cp,
            replace(
                self.limits,
                threads=1,
                should_stop=should_stop,
                on_solution=lambda _, value: found.set(),
                on_bound=lambda _, value: race.prove(value, "cp-sat"),
            ),
            name=STAGE,
            hint=None if best is None else model.hint(best.start),
            effort=EFFORT,
        )
        self.solver = result.solver
        if result.note:
            self.notes.append(result.note)
        if result.status is SolveStatus.INFEASIBLE:
            self.notes.append("CP-SAT says infeasible; no independent proof")
        if result.values is not None:
            start = model.read(result.values)
            race.report(Packing(start, race.tables.instance.height(start)))
