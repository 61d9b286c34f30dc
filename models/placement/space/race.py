"""Searches with many orders and restarts, at the bound first, then up, in several threads."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ipuopt.models.placement.problem import IntArray
from ipuopt.models.placement.space.heuristics import Packing
from ipuopt.models.placement.space.proof import Windows
from ipuopt.models.placement.space.search import FAILED, FOUND, FULL, NODES, OPEN, search
from ipuopt.models.placement.space.shape import FAILED_WORDS, Tables, start

NODES_PER_BLOCK = 8
"""Nodes a block of the first attempts; they double when all heights have been tried."""

ATTEMPTS = 4
"""Attempts at a height, each in another order, before a greater one is tried."""

FIRST_REACH = 8
"""Part of the gap by which the first attempts after those at the bound reach below the best; the
reach doubles after a success and halves after attempts that failed."""

WINDOWS_AFTER = 4
"""Windows of time are searched once attempts have this many times the nodes of the first ones."""

CHUNK_NODES = 20_000
"""Nodes between two looks at the clock: 0.1 to 1 s."""

NOISE = (0.05, 0.1, 0.2, 0.5, 1.0)
"""Relative disturbances of the orders after each was tried as it is."""

RECIPES = (
    ("area width", True),
    ("width area", True),
    ("width area", False),
    ("size area", True),
    ("tallest area width", False),
    ("size width", True),
    ("area width", False),
    ("width size", True),
)
"""Keys of an order, greatest first, and whether parts are ranked anew by their totals."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    number: int
    target: int
    nodes: int


class Race:
    """What all threads know: the best packing, the proven bound, the height to try next.

    Attributes
    ----------
    best
        Best packing; None if there is none yet.
    bound
        Proven least height in units.
    source
        What proved it.
    nodes
        Nodes of all searches so far.
    """

    def __init__(
        self,
        tables: Tables,
        *,
        bound: int,
        source: str,
        best: Packing | None,
        ceiling: int,
        only: bool,
        seed: int,
    ) -> None:
        """Begin; ``only`` asks whether ``ceiling`` is enough, else the least height is sought."""
        self.tables = tables
        self.best, self.bound, self.source = best, bound, source
        self.nodes = 0
        self.ceiling, self.only, self._seed = ceiling, only, seed
        self._lock = threading.Lock()
        self._effort = NODES_PER_BLOCK * max(1, len(tables.instance))
        self._number, self._tried = 0, 0
        self._target = ceiling if only else bound
        self._reach = 0
        self._windows = Windows(tables.instance)
        self._windows_from = WINDOWS_AFTER * self._effort
        self._in_windows = False

    def over(self) -> bool:
        """Whether the question is answered."""
        with self._lock:
            return self._over()

    def _over(self) -> bool:
        if self._upper() < self.bound:
            return True
        return self.only and self.best is not None and self.best.height <= self.ceiling

    def _upper(self) -> int:
        """Greatest height that is still of interest."""
        return self.ceiling if self.best is None else min(self.ceiling, self.best.height - 1)

    def report(self, packing: Packing) -> None:
        """Take over a packing if it is better."""
        with self._lock:
            if self.best is None or packing.height < self.best.height:
                self.best = packing
                self._tried, self._reach = 0, self._reach * 2

    def prove(self, bound: int, source: str) -> None:
        """Take over a bound if it is better."""
        with self._lock:
            if bound > self.bound:
                self.bound, self.source = bound, source

    def _next(self) -> _Attempt | None:
        """The next attempt: at the bound, then a reach below the best height."""
        with self._lock:
            if self._over():
                return None
            upper = self._upper()
            if self._tried >= ATTEMPTS * (2 if self.only else 1):
                self._tried = 0
                self._easier(upper)
            if self._reach:
                self._target = upper + 1 - self._reach
            if self.best is None:
                self._target = upper  # first whether there is a placement at all
            self._target = min(max(self._target, self.bound), upper)
            self._tried += 1
            self._number += 1
            return _Attempt(self._number - 1, self._target, self._effort)

    def _easier(self, upper: int) -> None:
        """After attempts that failed: a smaller reach, or more nodes and the bound again."""
        if self.only:
            self._effort *= 2
        elif self._reach == 0:
            self._reach = max(1, (upper + 1 - self.bound) // FIRST_REACH)
        elif self._reach > 1:
            self._reach //= 2
        else:
            self._effort *= 2
            self._reach, self._target = 0, self.bound

    def _windows_due(self) -> bool:
        """Take a pass over the windows of time if one is due; one thread has it at a time."""
        with self._lock:
            if self._in_windows or self._effort < self._windows_from or self._over():
                return False
            self._in_windows, self._windows_from = True, 2 * self._effort
            return True

    def refute_windows(self, expired: Callable[[], bool]) -> None:
        """One pass over the windows of time, at the height asked for or from the bound on."""
        with self._lock:
            nodes, upper = self._effort, self._upper()
            first = self.ceiling if self.only else self.bound
        before = self._windows.nodes
        bound = self._windows.refute(first, upper, nodes, expired)
        if bound > first:
            self.prove(bound, "time window")
        with self._lock:
            self.nodes += self._windows.nodes - before
            self._in_windows = False

    def _order(self, number: int) -> tuple[IntArray, bool]:
        keys, dynamic = RECIPES[number % len(RECIPES)]
        tables = self.tables
        columns = {
            "area": tables.instance.size * tables.width,
            "width": tables.width,
            "size": tables.instance.size.astype(float),
            "tallest": tables.tallest.astype(float),
        }
        chosen = [columns[key] for key in keys.split()]
        if number >= len(RECIPES):
            random = np.random.default_rng((self._seed, number))
            noise = random.choice(NOISE)
            chosen = [key * (1 + noise * (random.random(len(key)) - 0.5)) for key in chosen]
        order = np.lexsort(tuple(-key for key in reversed(chosen)))
        return order.astype(np.int64), dynamic

    def run(self, expired: Callable[[], bool], most_nodes: float = math.inf) -> None:
        """Work of one thread, until the question is answered, ``expired``, or enough nodes."""
        failed, failed_at = np.zeros(FAILED_WORDS, dtype=np.uint64), -1
        while not expired() and self.nodes < most_nodes:
            if self._windows_due():
                self.refute_windows(expired)
            attempt = self._next()
            if attempt is None:
                return
            if attempt.target > failed_at:  # what failed below says nothing here
                failed[:] = 0
            failed_at = attempt.target
            order, dynamic = self._order(attempt.number)
            shape, state = start(self.tables, attempt.target, order, dynamic)
            said, left = OPEN, attempt.nodes
            while said == OPEN and left > 0 and self.nodes < most_nodes:
                if expired() or self._upper() < attempt.target:
                    break
                before = int(state.registers[NODES])
                chunk = min(left, CHUNK_NODES)
                said = search(shape, state, failed, attempt.target, chunk, dynamic)
                left -= chunk
                with self._lock:
                    self.nodes += int(state.registers[NODES]) - before
            if said == FULL:
                continue
            if said == FOUND:
                found = state.rest.copy()
                self.report(Packing(found, self.tables.instance.height(found)))
            elif said == FAILED:
                self.prove(attempt.target + 1, "canonical search")
