"""Rounds of the search: with prices on memory to gather room, then without, to spend it.

The prices of a round are those of the bound, each times a random factor: room is gathered at other
rows every time. A climb that no longer leads anywhere is given up for another one from the start.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from ipuopt.models.assignment.heuristics import Searchable
from ipuopt.models.assignment.messages import FloatArray
from ipuopt.models.assignment.multipliers import Ascent, priced
from ipuopt.models.assignment.presolve import Presolved
from ipuopt.models.assignment.problem import FORBIDDEN, IntArray
from ipuopt.models.assignment.run import Run
from ipuopt.models.assignment.windows import Windows

SHARES = (2.0, 1.0, 0.5, 0.0)
"""Multiples of the prices that count, one after the other in a round."""

NOISE = 1.0
"""Standard deviation of the logarithm of the factor that a round's price of a row has."""

SIZES = (20, 60)
"""Nodes of a forest at most, in every other round."""

FORESTS_PER_S = 2500.0
"""Forests of a repeatable run in a second, on a slow machine."""

WORSE = 1.005
"""A round begins at the climb's best labels when the last one ended above so many times their cost."""

WINDOW = 50
"""Forests that a repeatable run takes a window for; others go by the clock."""

LEAST_SHARE = 1 / 8
"""Effort of windows for that of forests at least; as much at most."""

PATIENCE = 8
"""Rounds without a better solution after which a climb ends, or as many as it led upwards if more."""

Summit = tuple[int, IntArray]
"""Least cost of a climb, and the labels."""


class Rounds:
    """State of the search; it starts at the labels that messages and prices suggest.

    Attributes
    ----------
    best
        Best labels that fit; None before there are any.
    """

    def __init__(self, run: Run, left: Presolved, searchable: Searchable, ascent: Ascent) -> None:
        self.best: IntArray | None = None
        self._run, self._left, self._searchable, self._ascent = run, left, searchable, ascent
        self._prices: FloatArray = ascent.best
        self._cost: int | None = None
        self._forests = max(200, len(left.graph.first) // 3)
        self._seed = run.limits.seed * 1_000_003
        self._random = np.random.default_rng(run.limits.seed)
        # A copy: another thread may change the messages while climbs begin at them.
        passing = ascent.passing
        to_tail, to_head = passing.to_tail.copy(), passing.to_head.copy()
        self._passing = replace(passing, to_tail=to_tail, to_head=to_head)
        self._round = 0
        self._windows = Windows(searchable, run.limits, np.random.default_rng((run.limits.seed, 1)))
        self._share, self._credit = 0.5, 0.0
        self._begin(self._prices)

    def _begin(self, prices: FloatArray) -> None:
        """Begin a climb at the labels that the messages and these prices suggest."""
        graph, searchable = self._left.graph, self._searchable
        self._over = 4.0
        self._began = self._gained = self._round
        self._summit: Summit | None = None
        self._place = searchable.place(searchable.decode(self._passing, priced(graph, prices)))
        self._keep()

    def tight_rows(self, most: int) -> IntArray:
        """Rows with the highest prices."""
        order = np.argsort(-self._prices, kind="stable")[:most]
        return np.sort(order[self._prices[order] > 0.0])

    def affordable(self) -> int:
        """Rounds of a repeatable run; others end by the clock."""
        limits = self._run.limits
        if not limits.deterministic:
            return 1 << 40
        seconds = min(limits.budget_s, 3600.0) / 4  # windows take as much, and the bound
        return max(2, int(seconds * FORESTS_PER_S / (self._forests * len(SHARES))))

    def go(self, until: float, rounds: int) -> None:
        """Search until a time or for a number of rounds."""
        searchable = self._searchable
        deterministic = self._run.limits.deterministic
        for number in range(rounds):
            if not deterministic:  # another thread may have raised the bound with better ones
                self._prices = self._ascent.best
            before, begin = self._summit, time.monotonic()
            noisy = self._prices * self._factors()
            for share in SHARES:
                prices = noisy * share
                over = searchable.use(self._place.labels) > 0
                if over.any():
                    # What does not fit yet is made ever dearer until it goes.
                    self._over *= 2.0
                    dear = self._over * max(float(self._prices.max()), 1e-9)
                    prices = prices + np.where(over, dear, 0.0)
                self._seed += 1
                cost = priced(self._left.graph, prices)
                size = SIZES[number % len(SIZES)]
                searchable.improve(self._place, cost, self._forests, size, self._seed)
                if over.any():
                    self._place = searchable.place(self._place.labels)
                self._keep()
                late = time.monotonic() > until and not deterministic
                if late or self._run.done():
                    return
            seconds = max(1e-6, time.monotonic() - begin)
            spent = float(self._forests * len(SHARES)) if deterministic else seconds
            self._look_through_windows(before, spent, until)
            self._round += 1
            self._turn()

    def _look_through_windows(self, before: Summit | None, spent: float, until: float) -> None:
        """Solve windows around the climb's best labels: more next time if they gain more than forests.

        ``before`` is what the climb had when the round began, ``spent`` the effort of its forests: in
        seconds, or in forests where the run is repeatable.
        """
        if self._summit is None:
            return
        reached = summit = self._summit
        deterministic = self._run.limits.deterministic
        self._credit += self._share * spent
        used = 0.0
        while self._credit > 0.0:
            begin = time.monotonic()
            found = self._windows.improved(summit[1])
            if found is not None:
                self._place = self._searchable.place(found)
                self._keep()
                summit = self._summit or summit
            now = time.monotonic()
            effort = WINDOW if deterministic else now - begin
            used, self._credit = used + effort, self._credit - effort
            if (now > until and not deterministic) or self._run.done():
                return
        if used > 0.0:
            forests = (before[0] - reached[0]) / spent if before is not None else np.inf
            paid = (reached[0] - summit[0]) / used > forests
            self._share = min(1.0, max(LEAST_SHARE, self._share * (2.0 if paid else 0.5)))

    def _factors(self) -> FloatArray:
        """Factors of the prices of a round."""
        return np.exp(NOISE * self._random.standard_normal(len(self._prices)))

    def _turn(self) -> None:
        """Where the next round begins: here, at the climb's best labels, or with another climb."""
        if self._round - self._gained >= max(PATIENCE, self._gained - self._began):
            self._begin(self._prices * self._factors())
        elif self._summit is not None:
            cost, labels = self._summit
            if self._searchable.cost(self._place.labels) > WORSE * cost:
                self._place = self._searchable.place(labels)

    def _keep(self) -> None:
        """Keep the labels if they fit and are the best of the climb; offer those that are of all."""
        labels, searchable = self._place.labels, self._searchable
        if (searchable.use(labels) > 0).any():
            return
        cost = searchable.cost(labels)
        if cost >= FORBIDDEN or (self._summit is not None and cost >= self._summit[0]):
            return
        self._summit, self._gained = (cost, labels.copy()), self._round
        if self._cost is None or cost < self._cost:
            self._cost, self.best = cost, labels.copy()
            self._run.offer(self._left.lift(labels))
