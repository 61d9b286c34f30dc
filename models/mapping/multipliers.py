r"""Memory priced into the costs: Lagrangian bounds within one slice of boundaries.

Each limit that some choice can break gets a price in cycles a byte. With prices
:math:`\lambda \ge 0` the least of cost + price x (bytes - limit) bounds every feasible choice from
below; :mod:`ipuopt.models.mapping.messages` finds that least value. Prices are integers over
``SCALE`` cycles, so that a bound is exact arithmetic. Subgradient steps of Polyak's length raise it
(Held, Wolfe and Crowder 1974, doi:10.1007/BF01580223).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ipuopt.models.mapping.messages import (
    INFINITE,
    Potentials,
    label_bounds,
    pair_bounds,
    settle,
)
from ipuopt.models.mapping.problem import FORBIDDEN, IntArray, Problem
from ipuopt.models.mapping.reduction import Reduction
from ipuopt.models.mapping.slices import Slice

FloatArray = npt.NDArray[np.float64]

SCALE = 1 << 12
"""Parts of a cycle; costs x SCALE and bytes x prices stay far below 2^60."""

MAX_PRICE = 1 << 20
"""Largest price in cycles a byte x SCALE."""

STEPS, PATIENCE, SMALLEST_STEP = 120, 6, 0.02
"""Subgradient steps; failures after which the step is halved; step at which to give up."""


@dataclass(frozen=True, slots=True)
class Priced:
    """Best prices found, and what they prove.

    Attributes
    ----------
    prices
        By step: standard, then interleaved, then large, x SCALE.
    bound
        Cycles, rounded up.
    """

    prices: IntArray
    bound: int


def raise_bound(
    reduction: Reduction,
    limits: Slice,
    prices: IntArray,
    target: int,
    *,
    expired: Callable[[], bool],
    found: Callable[[tuple[int, ...]], int],
) -> Priced:
    """Raise the bound of one slice by subgradient steps, until it exceeds ``target``.

    Parameters
    ----------
    reduction
        What is left of the problem; arc consistent.
    limits
        The slice.
    prices
        To start from.
    target
        A bound above this ends the search; also scales the steps.
    expired
        Polled between steps.
    found
        Told every choice that the priced problem prefers; returns the target from then on.
    """
    problem = reduction.problem
    breakable = _breakable(problem, limits)
    prices = np.where(breakable, prices, 0)
    best = Priced(prices, _scaled_down(0))
    point, length, failures = prices.astype(np.float64), 1.0, 0
    for step in range(STEPS):
        value, labels = _evaluate(problem, limits, prices)
        bound = _scaled_down(value)
        target = found(labels)
        if step == 0 or bound > best.bound:
            failures = 0 if bound > best.bound else failures + 1
            best = Priced(prices, bound)
        else:
            failures += 1
        excess = _excess(problem, limits, labels) * breakable
        if bound > target or not breakable.any() or expired():
            return best
        if np.all(excess <= 0) and not np.any(prices * excess):
            return best  # feasible, and nothing is paid for spare room: optimal in this slice
        if failures >= PATIENCE:
            length, failures, point = length / 2, 0, best.prices.astype(np.float64)
            if length < SMALLEST_STEP:
                return best
        direction = np.where((point <= 0) & (excess < 0), 0, excess).astype(np.float64)
        square = float((direction * direction).sum())
        if square == 0.0:
            return best
        point = point + length * max(1, target + 1 - bound) * SCALE / square * direction
        point = np.clip(point, 0.0, float(MAX_PRICE))
        prices = np.round(point).astype(np.int64)
    return best


def bounds_of(
    reduction: Reduction, limits: Slice, prices: IntArray
) -> tuple[list[IntArray], list[IntArray]]:
    """Bounds on solutions within the slice by label and by pair of groups, in cycles.

    Forbidden pairs have huge bounds.
    """
    potentials, constant = _potentials(reduction.problem, limits, prices)
    settle(potentials)
    labels = [-(-(bounds + constant) // SCALE) for bounds in label_bounds(potentials)]
    pairs = [-(-(bounds + constant) // SCALE) for bounds in pair_bounds(potentials)]
    return labels, pairs


def _evaluate(problem: Problem, limits: Slice, prices: IntArray) -> tuple[int, tuple[int, ...]]:
    """Bound x SCALE at ``prices``, and the labels that attain it on a forest."""
    potentials, constant = _potentials(problem, limits, prices)
    order = settle(potentials)
    return potentials.bound + constant, potentials.decode(order)


def _potentials(problem: Problem, limits: Slice, prices: IntArray) -> tuple[Potentials, int]:
    """Priced costs x SCALE, and the constant that the prices of the limits take off."""
    standard, interleaved, large = prices.reshape(3, len(problem.steps))
    unary = [
        node.cost * SCALE
        + node.standard @ standard
        + node.interleaved @ interleaved
        + node.large @ large
        for node in problem.nodes
    ]
    pair = []
    for edge in problem.edges:
        priced = edge.staging * standard[edge.step] + edge.large * large[edge.step]
        costs = edge.cost * SCALE + priced
        pair.append(np.where(edge.cost == FORBIDDEN, INFINITE, costs))
    constant = int(standard.sum()) * limits.standard
    constant += int(interleaved.sum()) * limits.interleaved + int(large.sum()) * limits.large
    return Potentials(problem, unary, pair), -constant


def _excess(problem: Problem, limits: Slice, labels: tuple[int, ...]) -> IntArray:
    """Bytes above the limits by step: standard, then interleaved, then large."""
    standard, interleaved, large = excess = _below(problem, limits)
    for node, label in zip(problem.nodes, labels, strict=True):
        standard += node.standard[label]
        interleaved += node.interleaved[label]
        large += node.large[label]
    for edge in problem.edges:
        pair = edge.tail_group[labels[edge.tail]], edge.head_group[labels[edge.head]]
        standard[edge.step] += edge.staging[pair]
        large[edge.step] += edge.large[pair]
    return excess.reshape(-1)


def _breakable(problem: Problem, limits: Slice) -> npt.NDArray[np.bool_]:
    """Limits that the most hungry labels together would break."""
    standard, interleaved, large = excess = _below(problem, limits)
    for node in problem.nodes:
        standard += node.standard.max(axis=0)
        interleaved += node.interleaved.max(axis=0)
        large += node.large.max(axis=0)
    for edge in problem.edges:
        standard[edge.step] += edge.staging.max(initial=0)
        large[edge.step] += edge.large.max(initial=0)
    return excess.reshape(-1) > 0


def _below(problem: Problem, limits: Slice) -> IntArray:
    """The limits of every step with a minus sign, shape ``(3, steps)``."""
    limit = np.array([limits.standard, limits.interleaved, limits.large], dtype=np.int64)
    return np.tile(-limit[:, None], len(problem.steps))


def _scaled_down(value: int) -> int:
    return -(-value // SCALE)
