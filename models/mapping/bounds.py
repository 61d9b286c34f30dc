"""Bounds on the mapping problem, and what may be left out once a solution is known.

Without memory: moves of costs (:mod:`.messages`). With memory: the boundary is cut into slices
(:mod:`.slices`), each slice is bounded with prices on its limits (:mod:`.multipliers`), and labels
and pairs whose bound is above the incumbent are left out. The bound is the least over the slices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.limits import Limits
from ipuopt.models.mapping.messages import Potentials, settle
from ipuopt.models.mapping.multipliers import bounds_of, raise_bound
from ipuopt.models.mapping.problem import FORBIDDEN, IntArray, Problem, Solution
from ipuopt.models.mapping.reduction import Reduction, consistent, undominated
from ipuopt.models.mapping.slices import Slice, fitting, slices

ROUNDS = 4
"""Times that prices are raised and labels left out by turns in one slice."""

WORTH = 0.9
"""A further round starts only if at most this share of the labels is left after the last."""


@dataclass(frozen=True, slots=True)
class Tightened:
    """Outcome of :func:`tighten`.

    Attributes
    ----------
    reduction
        Holds the incumbent, and every solution that costs less, but for dominated ones; None if
        no choice at all can be feasible.
    boundary
        Least and most granules of the boundary in such solutions.
    bound
        No solution costs less; None if infeasible.
    incumbent
        Best solution known, in the original labels; None without one.
    complete
        Whether every slice was worked through before the deadline.
    """

    reduction: Reduction | None
    boundary: tuple[int, int]
    bound: int | None
    incumbent: Solution | None
    complete: bool


def lower_bound(problem: Problem) -> int | None:
    """Bound that ignores memory, exact where the edges form a forest; None if infeasible."""
    reduction = consistent(Reduction.of(problem))
    if reduction is None:
        return None
    potentials = Potentials.of(reduction.problem)
    settle(potentials)
    return potentials.bound


class _Incumbent:
    """Best feasible solution seen; candidates are priced and checked on the original problem."""

    def __init__(self, problem: Problem, solution: Solution | None, most: int) -> None:
        self.problem = problem
        self.solution = solution
        self.cost = most if solution is None else _cost(problem, solution)
        self._most = most

    @property
    def target(self) -> int:
        """Most cycles of a solution that is still worth finding."""
        return self._most if self.solution is None else self.cost - 1

    def offer(self, solution: Solution) -> None:
        """Keep the solution if it is better and feasible."""
        if self.solution is not None and _cost(self.problem, solution) >= self.cost:
            return
        if feasible(self.problem, solution):
            self.solution, self.cost = solution, _cost(self.problem, solution)


def tighten(problem: Problem, incumbent: Solution | None, limits: Limits) -> Tightened:
    """Bound the problem with memory, improve the incumbent on the way, leave out what cannot win.

    Parameters
    ----------
    problem
        As given.
    incumbent
        A feasible solution, or None.
    limits
        Deadline, interrupt. What was proven until then stays valid.
    """
    start = consistent(Reduction.of(problem))
    if start is None:
        return Tightened(None, (0, 0), None, incumbent, True)
    start = undominated(start, incumbent)
    best = _Incumbent(problem, incumbent, most_expensive(problem))
    alive: list[tuple[Slice, Reduction, int]] = []
    complete = True
    for limit in slices(problem):
        left = fitting(start, limit)
        if left is None:
            continue
        bound = _bound_without_memory(left)
        if not limits.expired():
            left, bound = _narrow(left, limit, best, bound, limits)
        else:
            complete = False
        if left is not None and bound <= best.target:
            alive.append((limit, left, bound))
    # The incumbent may have improved since a slice was bounded.
    alive = [part for part in alive if part[2] <= best.target]
    if not alive and best.solution is None:
        return Tightened(None, (0, 0), None, None, complete)
    bound = min((part[2] for part in alive), default=best.cost)
    reduction, boundary = _union(start, alive, best.solution)
    return Tightened(reduction, boundary, bound, best.solution, complete)


def _narrow(
    left: Reduction, limit: Slice, best: _Incumbent, bound: int, limits: Limits
) -> tuple[Reduction | None, int]:
    """Raise the bound of a slice and leave out labels and pairs by turns."""
    prices = np.zeros(3 * len(left.problem.steps), dtype=np.int64)
    for _ in range(ROUNDS):
        before = sum(len(labels) for labels in left.labels)
        current = left

        def found(labels: tuple[int, ...], current: Reduction = current) -> int:
            best.offer(current.lift(Solution(labels)))
            return best.target

        priced = raise_bound(
            current, limit, prices, best.target, expired=limits.expired, found=found
        )
        prices, bound = priced.prices, max(bound, priced.bound)
        if bound > best.target:
            return None, bound
        by_label, by_pair = bounds_of(left, limit, prices)
        pairs = [
            (edge.cost != FORBIDDEN) & (bounds > best.target)
            for edge, bounds in zip(left.problem.edges, by_pair, strict=True)
        ]
        narrower = left.forbid(pairs).restrict([bounds <= best.target for bounds in by_label])
        smaller = None if narrower is None else fitting(narrower, limit)
        if smaller is None:
            return None, max(bound, best.target + 1)
        left = smaller
        after = sum(len(labels) for labels in left.labels)
        if limits.expired() or after > WORTH * before:
            break
    return left, bound


def _bound_without_memory(reduction: Reduction) -> int:
    potentials = Potentials.of(reduction.problem)
    settle(potentials)
    return potentials.bound


def _union(
    start: Reduction, alive: list[tuple[Slice, Reduction, int]], solution: Solution | None
) -> tuple[Reduction, tuple[int, int]]:
    """Labels and pairs that any slice kept, and those of the incumbent."""
    problem = start.problem
    labels = [np.zeros(len(node.cost), dtype=np.bool_) for node in problem.nodes]
    pairs = [np.zeros(edge.cost.shape, dtype=np.bool_) for edge in problem.edges]
    granules: list[int] = []
    for limit, left, _ in alive:
        granules += [limit.least, limit.most]
        kept = [
            np.searchsorted(whole, some)
            for whole, some in zip(start.labels, left.labels, strict=True)
        ]
        for mask, rows in zip(labels, kept, strict=True):
            mask[rows] = True
        for pair, edge, part in zip(pairs, problem.edges, left.problem.edges, strict=True):
            rows = _original_groups(edge.tail_group[kept[edge.tail]], part.tail_group)
            columns = _original_groups(edge.head_group[kept[edge.head]], part.head_group)
            pair[np.ix_(rows, columns)] |= part.cost != FORBIDDEN
    chosen = None if solution is None else start.lower(solution)
    if chosen is not None:
        peak = sum(n.interleaved[x] for n, x in zip(problem.nodes, chosen.labels, strict=True))
        granules.append(-(-int(np.max(peak, initial=0)) // problem.capacity.granule))
        for mask, label in zip(labels, chosen.labels, strict=True):
            mask[label] = True
        for pair, edge in zip(pairs, problem.edges, strict=True):
            row = edge.tail_group[chosen.labels[edge.tail]]
            pair[row, edge.head_group[chosen.labels[edge.head]]] = True
    elif not alive:
        return start, (0, 0)
    closed = [
        (edge.cost != FORBIDDEN) & ~pair for edge, pair in zip(problem.edges, pairs, strict=True)
    ]
    reduction = start.forbid(closed).restrict(labels)
    assert reduction is not None
    return reduction, (min(granules), max(granules))


def _original_groups(original: IntArray, group: IntArray) -> IntArray:
    """Original group of every group of a reduced edge."""
    groups = np.zeros(int(group.max()) + 1, dtype=np.int64)
    groups[group] = original
    return groups


def most_expensive(problem: Problem) -> int:
    """Cycles that no solution exceeds."""
    nodes = sum(int(node.cost.max()) for node in problem.nodes)
    return nodes + sum(max(0, int(edge.cost.max())) for edge in problem.edges)


def _cost(problem: Problem, solution: Solution) -> int:
    """Cycles of a choice whose pairs are all allowed."""
    labels = solution.labels
    cost = sum(int(node.cost[x]) for node, x in zip(problem.nodes, labels, strict=True))
    for edge in problem.edges:
        row, column = edge.tail_group[labels[edge.tail]], edge.head_group[labels[edge.head]]
        cost += int(edge.cost[row, column])
    return cost


def feasible(problem: Problem, solution: Solution) -> bool:
    """Whether a choice keeps (M2) to (M5)."""
    capacity, labels = problem.capacity, solution.labels
    standard = np.zeros(len(problem.steps), dtype=np.int64)
    interleaved, large = np.zeros_like(standard), np.zeros_like(standard)
    for node, label in zip(problem.nodes, labels, strict=True):
        standard += node.standard[label]
        interleaved += node.interleaved[label]
        large += node.large[label]
    for edge in problem.edges:
        pair = edge.tail_group[labels[edge.tail]], edge.head_group[labels[edge.head]]
        if edge.cost[pair] == FORBIDDEN:
            return False
        standard[edge.step] += edge.staging[pair]
        large[edge.step] += edge.large[pair]
    peak = int(interleaved.max(initial=0))
    boundary = -(-peak // capacity.granule) * capacity.granule
    return (
        peak <= capacity.interleaved
        and int(standard.max(initial=0)) + boundary <= capacity.total
        and int(large.max(initial=0)) + boundary <= capacity.high
    )
