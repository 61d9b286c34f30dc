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

MOMENTUM, GROWTH = (0.0, 0.5), (1.0, 1.1)
"""Two ways to step, each with its own length: share of the last direction that is kept, and what a
better bound lengthens the next step by. N rises by the first alone, S by the second."""

TURN = 40
"""Passes that one way goes on; then the one that gained more in its last turn has the next."""


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
    passes
        So far.
    """

    graph: Graph
    passing: Passing = field(init=False)
    prices: FloatArray = field(init=False)
    bound: float = field(init=False, default=-np.inf)
    best: FloatArray = field(init=False)
    passes: int = field(init=False, default=0)
    _kept: Passing = field(init=False)
    _moved: FloatArray = field(init=False)
    _room: FloatArray = field(init=False)
    _failures: int = field(init=False, default=0)
    _way: int = field(init=False, default=0)
    _steps: list[float] = field(init=False)
    _gains: list[float] = field(init=False)
    _begin: float = field(init=False, default=-np.inf)
    _direction: FloatArray = field(init=False)
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
        self._direction = np.zeros_like(self._room)
        self._steps, self._gains = [FIRST_STEP] * 2, [np.inf] * 2

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
        return max(self._steps) < SMALLEST_STEP

    def advance(self, target: float) -> None:
        """One pass and one step of the prices towards a bound of ``target``."""
        graph, memory = self.graph, self.graph.memory
        bound = self.passing.sweep(priced(graph, self.prices), self._moved) + graph.constant
        bound -= _product(self.prices, self._room)
        self.passes += 1
        before = self.bound
        if bound > self.bound:
            self.bound, self.best, self._failures = bound, self.prices, 0
            self._steps[self._way] = min(1.0, self._steps[self._way] * GROWTH[self._way])
            _copy(self.passing, self._kept)
        else:
            self._failures += 1
        if not len(memory.node):
            return
        if self._failures >= PATIENCE:
            self._steps[self._way] *= SHORTER
            self._failures = 0
        if self.passes <= SETTLE and bound - before > SETTLED * abs(bound):
            return
        if self.passes % 16 == 0 or self._warmth == 0.0:
            positive = self._moved[self._moved > 0.0]
            self._warmth = WARMTH * float(np.median(positive)) if len(positive) else 1.0
        change = np.zeros(len(self._room) + 1)
        _expect(graph.first, memory.node, memory.start, memory.stop, memory.first, memory.usage,
                self._moved, self._warmth, change)  # fmt: skip
        excess = np.cumsum(change)[:-1] - self._room
        self._direction = excess + MOMENTUM[self._way] * self._direction
        towards = np.where((self.prices <= 0.0) & (self._direction < 0.0), 0.0, self._direction)
        slope = _product(towards, excess)
        if slope > 0.0:
            step = self._steps[self._way]
            length = step * max(target - bound, 0.002 * abs(target)) / slope
            self.prices = np.maximum(0.0, self.prices + length * towards)
        if self.passes % TURN == 0:
            self._take_turns()

    def _take_turns(self) -> None:
        """Go on in the way that gained more in its last turn, from the best pass if it is the other."""
        way = self._way
        self._gains[way], self._begin = self.bound - self._begin, self.bound
        if self._gains[1 - way] > self._gains[way]:
            self._way, self._failures = 1 - way, 0
            self._direction = np.zeros_like(self._direction)
            self.return_to_best()


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
