r"""Prices on memory: Lagrangian multipliers, one a row of time, moved along with the messages.

With prices :math:`\lambda_t \ge 0` every solution that fits costs at least its cost plus
:math:`\sum_t \lambda_t (\text{use}_t - \text{room}_t)`, and message passing bounds that. After each
pass the prices take a step along the use that the moved costs suggest: labels weighed by how little
they exceed the best of their node. Steps have Polyak's length towards a target (Held, Wolfe and
Crowder 1974, doi:10.1007/BF01580223).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ipuopt.compiled import kernel
from ipuopt.models.assignment.bounds import Certificate, certificate
from ipuopt.models.assignment.graph import Graph
from ipuopt.models.assignment.messages import FloatArray, Passing
from ipuopt.models.assignment.problem import IntArray

WARMTH = 0.05
"""Labels are weighed by exp(-excess / (warmth x median excess))."""

SETTLE, SETTLED = 40, 2e-3
"""Passes without prices at first, at most, and until the bound gains less than this share in one."""

SMALLEST_STEP = 1e-6
"""Step at which the ascent gives up."""

FIRST_STEP, PATIENCE, SHORTER = 0.3, 3, 0.9
"""The first step, and the factor by which so many passes without a better bound shorten it.

Steps that stay long for longer are worse on all contest instances: N, after 480 passes, comes to
1.83e11 with (1.0, 20, 0.8) and to 1.92e11 with these."""


@dataclass(slots=True)
class Ascent:
    """Bound in progress: messages, prices, the best of both.

    Attributes
    ----------
    graph
        What is bounded.
    passing
        Messages of the last pass.
    prices
        Of the next pass.
    bound, best
        Highest bound of a pass so far, in floating point, and the prices of that pass, whose
        messages are kept as well: the certificate needs both.
    step, passes
        Length of the next step of the prices; passes so far.
    """

    graph: Graph
    passing: Passing = field(init=False)
    prices: FloatArray = field(init=False)
    bound: float = field(init=False, default=-np.inf)
    best: FloatArray = field(init=False)
    step: float = field(init=False, default=FIRST_STEP)
    passes: int = field(init=False, default=0)
    _kept: Passing = field(init=False)
    _moved: FloatArray = field(init=False)
    _room: FloatArray = field(init=False)
    _failures: int = field(init=False, default=0)
    _warmth: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self.passing = Passing.of(self.graph)
        self._kept = replace(
            self.passing,
            to_tail=np.zeros_like(self.passing.to_tail),
            to_head=np.zeros_like(self.passing.to_head),
        )
        self._room = self.graph.memory.room.astype(np.float64)
        self.prices = np.zeros(len(self._room))
        self.best = self.prices
        self._moved = np.empty(len(self.graph.cost))

    def return_to_best(self) -> None:
        """Go on with prices and messages of the best pass."""
        self.prices = self.best
        _copy(self._kept, self.passing)

    def proof(self) -> Certificate:
        """What messages and prices of the best pass prove, in integers."""
        return certificate(self.graph, self._kept, self.best)

    def certified(self) -> int:
        """The bound that they prove."""
        return self.proof().bound

    def stalled(self) -> bool:
        """Whether the steps have become too short to matter."""
        return self.step < SMALLEST_STEP

    def advance(self, target: float) -> None:
        """One pass and one step of the prices towards a bound of ``target``."""
        graph, memory = self.graph, self.graph.memory
        bound = self.passing.sweep(priced(graph, self.prices), self._moved) + graph.constant
        bound -= _product(self.prices, self._room)
        self.passes += 1
        before = self.bound
        if bound > self.bound:
            self.bound, self.best, self._failures = bound, self.prices, 0
            _copy(self.passing, self._kept)
        else:
            self._failures += 1
        if not len(memory.node):
            return
        if self._failures >= PATIENCE:
            self.step, self._failures = self.step * SHORTER, 0
        if self.passes <= SETTLE and bound - before > SETTLED * abs(bound):
            return
        if self.passes % 16 == 0 or self._warmth == 0.0:
            positive = self._moved[self._moved > 0.0]
            self._warmth = WARMTH * float(np.median(positive)) if len(positive) else 1.0
        change = np.zeros(len(self._room) + 1)
        _expect(graph.first, memory.node, memory.start, memory.stop, memory.first, memory.usage,
                self._moved, self._warmth, change)  # fmt: skip
        excess = np.cumsum(change)[:-1] - self._room
        excess[(self.prices <= 0) & (excess < 0)] = 0.0
        square = _product(excess, excess)
        if square > 0.0:
            length = self.step * max(target - bound, 0.002 * abs(target)) / square
            self.prices = np.maximum(0.0, self.prices + length * excess)


def _copy(source: Passing, target: Passing) -> None:
    target.to_tail[:] = source.to_tail
    target.to_head[:] = source.to_head


@kernel
def _product(left: FloatArray, right: FloatArray) -> float:
    """Scalar product, in one order: that of numpy's library depends on its threads."""
    total = 0.0
    for index in range(len(left)):
        total += left[index] * right[index]
    return total


def priced(graph: Graph, prices: FloatArray) -> FloatArray:
    """Costs of the labels with what memory adds to them."""
    cost = graph.cost.astype(np.float64)
    memory = graph.memory
    until = np.concatenate((np.zeros(1), np.cumsum(prices)))
    weight = until[memory.stop] - until[memory.start]
    _price(graph.first, memory.node, memory.first, memory.usage, weight, cost)
    return cost


@kernel
def _price(
    first: IntArray,
    node: IntArray,
    usage_first: IntArray,
    usage: IntArray,
    weight: FloatArray,
    cost: FloatArray,
) -> None:
    for piece in range(len(node)):
        if weight[piece] > 0.0:
            at, begin = first[node[piece]], usage_first[piece]
            for label in range(usage_first[piece + 1] - begin):
                cost[at + label] += usage[begin + label] * weight[piece]


@kernel
def _expect(
    first: IntArray,
    node: IntArray,
    start: IntArray,
    stop: IntArray,
    usage_first: IntArray,
    usage: IntArray,
    moved: FloatArray,
    warmth: float,
    change: FloatArray,
) -> None:
    """Expected use of every piece, as changes at its first row and after its last."""
    share = np.empty(len(moved), dtype=np.float64)
    for owner in range(len(first) - 1):
        total = 0.0
        for label in range(first[owner], first[owner + 1]):
            share[label] = np.exp(-moved[label] / warmth)
            total += share[label]
        for label in range(first[owner], first[owner + 1]):
            share[label] /= total
    for piece in range(len(node)):
        at, begin = first[node[piece]], usage_first[piece]
        expected = 0.0
        for label in range(usage_first[piece + 1] - begin):
            expected += usage[begin + label] * share[at + label]
        change[start[piece]] += expected
        change[stop[piece]] -= expected
