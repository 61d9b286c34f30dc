"""Random mapping problems, and exhaustive search as their judge."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from ipuopt.models.mapping import Capacity, Edge, Node, Problem, Solution, check, evaluate

MakeProblem = Callable[..., Problem]
Optimum = Callable[[Problem], int | None]


@pytest.fixture(scope="session")
def random_problem() -> MakeProblem:
    """``random_problem(seed, nodes=4, labels=4, chain=False)``; about a third is infeasible."""

    def make(seed: int, nodes: int = 4, labels: int = 4, chain: bool = False) -> Problem:
        draw = np.random.default_rng(seed)
        steps = int(draw.integers(1, 4))
        made = []
        for index in range(nodes):
            count = int(draw.integers(1, labels + 1))
            made.append(
                Node(
                    f"node {index}",
                    draw.integers(0, 50, count),
                    draw.integers(0, 60, (count, steps)),
                    draw.integers(0, 40, (count, steps)),
                    draw.integers(0, 60, (count, steps)),
                )
            )
        edges = []
        for tail, head in itertools.combinations(range(nodes), 2):
            if head == tail + 1 if chain else draw.random() < 0.5:
                shape = (int(draw.integers(1, 4)), int(draw.integers(1, 4)))
                cost = draw.integers(0, 40, shape)
                cost[draw.random(shape) < 0.1] = -1
                edges.append(
                    Edge(
                        tail,
                        head,
                        draw.integers(0, shape[0], len(made[tail].cost)),
                        draw.integers(0, shape[1], len(made[head].cost)),
                        cost,
                        draw.integers(0, 30, shape),
                        draw.integers(0, 30, shape),
                        int(draw.integers(0, steps)),
                    )
                )
        room = draw.uniform(0.6, 1.3)
        capacity = Capacity(
            int(25 * nodes * room),
            int(60 * nodes * room),
            int(draw.integers(20, 60)),
            int(draw.integers(50, 95) * nodes),
            int(draw.integers(1, 20)),
        )
        names = tuple(f"step {step}" for step in range(steps))
        return Problem(tuple(made), tuple(edges), names, capacity)

    return make


@pytest.fixture(scope="session")
def optimum() -> Optimum:
    """Least cost over every choice of labels that passes the checker; None if there is none."""

    def search(problem: Problem) -> int | None:
        choices = itertools.product(*(range(len(node.cost)) for node in problem.nodes))
        costs = (
            evaluate(problem, Solution(labels))
            for labels in choices
            if not check(problem, Solution(labels))
        )
        return min(costs, default=None)

    return search
