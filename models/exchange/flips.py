"""Local search over widths: some transfers change theirs, and all are inserted again."""

from __future__ import annotations

import numpy as np

from ipuopt.models.exchange.incumbent import Incumbent
from ipuopt.models.exchange.instance import instance
from ipuopt.models.exchange.orders import topological
from ipuopt.models.exchange.search import Budget, Search, run
from ipuopt.models.exchange.widths import qualifying

PATIENCE = 60
"""Flips in a row without an earlier horizon after which the search ends."""

MOST_SHARE = 0.3
"""Share of the qualifying transfers that one flip changes at most."""


def flip_widths(state: Incumbent, budget: Budget, seed: int) -> None:
    """Change the widths of a few transfers that qualify, and keep what does not end later."""
    may = np.flatnonzero(qualifying(state.problem))
    generator = np.random.default_rng(seed)
    idle = 0
    while len(may) and state.open and idle < PATIENCE:
        most = 1 + int(MOST_SHARE * len(may) * generator.random() ** 3)
        some = generator.choice(may, int(generator.integers(1, most + 1)), replace=False)
        paired = state.paired.copy()
        paired[some] = ~paired[some]
        phase = instance(state.problem, paired)
        if not budget.take(phase, 3):
            return
        before = state.search.horizon
        order = topological(phase, state.search.start)
        start = run(phase, order, before + before // 20, state.limits.expired)
        idle += 1
        if start is None:
            continue
        found = Search(phase, start, state.limits.expired)
        found.justify(start, 1)
        if found.horizon <= before:
            state.change_widths(paired, found)
            state.progress()
        if found.horizon < before:
            idle = 0
