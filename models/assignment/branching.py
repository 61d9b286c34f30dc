"""Tree search that proves in integers: bounds by messages and prices, pruning, branching on a node.

A part of the search is a graph whose solutions are some of the problem's. Its bound is certified;
what cannot beat the incumbent is pruned and the rest presolved, for as long as that makes it smaller;
then the labels of one node are split in halves. The part with the least bound comes first, and that
bound holds for everything that is open.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from ipuopt.models.assignment.graph import Graph
from ipuopt.models.assignment.heuristics import Searchable
from ipuopt.models.assignment.multipliers import Ascent, priced
from ipuopt.models.assignment.presolve import Presolved, presolve
from ipuopt.models.assignment.problem import FORBIDDEN, BoolArray
from ipuopt.models.assignment.pruning import without_worse
from ipuopt.models.assignment.run import Run
from ipuopt.models.assignment.splitting import halves

SOURCE = "tree search with certified bounds"

PASSES, CHECK_EVERY = 400, 25
"""Passes at most for the bound of a part, and between looks at whether they still help."""

WORTH = 0.02
"""Passes go on while those since the last look closed this share of the gap."""

SMALLER = 0.8
"""A part is bounded anew when pruning left less than this share of its labels and pairs."""


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """Solutions that are still to be searched.

    Attributes
    ----------
    bound
        On what they cost.
    number
        In the order of making; decides among equal bounds.
    left, keep
        The graph, and the labels of it that are kept in either half of the part.
    """

    bound: int
    number: int
    left: Presolved = field(compare=False)
    keep: tuple[BoolArray, BoolArray] = field(compare=False)


def search_tree(run: Run, left: Presolved, *, until: float, parts: int) -> None:
    """Search all of ``left`` for better solutions and raise the bound, or stop at a limit.

    Parameters
    ----------
    until
        Value of :func:`time.monotonic` at which to stop; ignored in repeatable mode.
    parts
        Parts at most.
    """
    numbers = itertools.count()
    waiting = list(_bounded(run, left, run.bound, numbers))
    repeatable = run.limits.deterministic
    while waiting:
        part = heapq.heappop(waiting)
        if run.objective is not None and part.bound >= run.objective:
            break
        run.raise_bound(part.bound, SOURCE)
        late = time.monotonic() > until and not repeatable
        if late or part.number >= parts or run.done():
            return
        for keep in part.keep:
            graph = part.left.graph
            half = replace(graph, cost=np.where(keep, graph.cost, FORBIDDEN))
            smaller = presolve(half)
            if smaller is not None:
                below = Presolved(smaller.graph, part.left.steps + smaller.steps)
                for found in _bounded(run, below, part.bound, numbers):
                    heapq.heappush(waiting, found)
    if run.objective is not None:
        run.raise_bound(run.objective, SOURCE)


def _bounded(run: Run, left: Presolved, bound: int, numbers: Iterator[int]) -> Iterator[Part]:
    """The part with its bound, as small as pruning makes it; nothing if no better one is in it."""
    while not run.limits.expired():
        graph = left.graph
        if not len(graph.cost):
            run.offer(left.lift(np.zeros(0, dtype=np.int64)))
            return
        ascent = _ascended(run, graph)
        proof = ascent.proof()
        _offer_decoded(run, left, ascent)
        assert run.objective is not None  # there is one before a tree is searched
        if proof.bound >= run.objective:
            return
        bound = max(bound, proof.bound)
        pruned = without_worse(graph, proof, run.objective)
        smaller = presolve(pruned)
        if smaller is None:
            return
        if _size(smaller.graph) > SMALLER * _size(graph):
            keep = halves(pruned, proof, ascent.best)
            yield Part(bound, next(numbers), Presolved(pruned, left.steps), keep)
            return
        left = Presolved(smaller.graph, left.steps + smaller.steps)
    # Out of time: what is left stays open.
    everything = np.ones(len(left.graph.cost), dtype=np.bool_)
    yield Part(bound, next(numbers), left, (everything, everything))


def _size(graph: Graph) -> int:
    return len(graph.cost) + len(graph.table)


def _ascended(run: Run, graph: Graph) -> Ascent:
    """The bound after as many passes as are worth their time."""
    ascent = Ascent(graph)
    assert run.objective is not None
    before = ascent.bound
    for number in range(1, PASSES + 1):
        ascent.advance(float(run.objective))
        gap = run.objective - ascent.bound
        if number % CHECK_EVERY == 0 or gap <= 0.0:
            if gap <= 0.0 or ascent.bound - before < WORTH * gap or run.limits.expired():
                break
            before = ascent.bound
    return ascent


def _offer_decoded(run: Run, left: Presolved, ascent: Ascent) -> None:
    """Offer the labels that messages and prices suggest, if they fit."""
    searchable = Searchable.of(left.graph, ascent.passing)
    labels = searchable.decode(ascent.passing, priced(left.graph, ascent.prices))
    if not (searchable.use(labels) > 0).any():
        run.offer(left.lift(labels))
