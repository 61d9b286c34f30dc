"""Beam search: feasible, never below the optimum, exact where the beam holds every state."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipuopt.limits import Limits
from ipuopt.models.mapping import Capacity, Edge, Node, Problem, beam_search, check, evaluate
from ipuopt.models.mapping.dominance import nondominated
from ipuopt.models.mapping.heuristics import cost_to_go

MakeProblem = Callable[..., Problem]
Optimum = Callable[[Problem], int | None]


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**6), width=st.sampled_from([1, 4, 64]), guided=st.booleans())
def test_feasible_and_not_below_the_optimum(
    seed: int, width: int, guided: bool, random_problem: MakeProblem, optimum: Optimum
) -> None:
    problem = random_problem(seed)
    solution = beam_search(problem, Limits(), width=width, guided=guided)
    best = optimum(problem)
    if solution is not None:
        assert check(problem, solution) == ()
        assert best is not None
        assert evaluate(problem, solution) >= best


@pytest.mark.parametrize("seed", range(20))
def test_exact_without_memory(seed: int, random_problem: MakeProblem, optimum: Optimum) -> None:
    """With at most 3 groups an edge and room for all, width 64 holds the cheapest of each class."""
    problem = random_problem(seed, chain=True)
    free = Problem(problem.nodes, problem.edges, problem.steps, Capacity(9**9, 9**9, 9**9, 9**9, 1))
    solution = beam_search(free, Limits())
    assert (None if solution is None else evaluate(free, solution)) == optimum(free)


@pytest.mark.parametrize("seed", range(20))
def test_cost_to_go_is_a_bound(seed: int, random_problem: MakeProblem, optimum: Optimum) -> None:
    """From any first label of a chain: its cost and the cost to go are the optimum with it."""
    problem = random_problem(seed, chain=True)
    free = Problem(problem.nodes, problem.edges, problem.steps, Capacity(9**9, 9**9, 9**9, 9**9, 1))
    ahead, first = cost_to_go(free)[0], free.nodes[0]
    best = optimum(free)
    if best is not None:
        assert int((first.cost + ahead[free.edges[0].tail_group]).min()) == best


def test_late_beam_still_ends_with_a_plan(random_problem: MakeProblem) -> None:
    problem = random_problem(16, chain=True)
    late = beam_search(problem, Limits().within(0))
    assert late is not None
    assert check(problem, late) == ()


def test_the_same_twice(random_problem: MakeProblem) -> None:
    problem = random_problem(7, nodes=5, labels=8)
    assert beam_search(problem, Limits()) == beam_search(problem, Limits())


def plain_filter(key: list[int], rows: list[list[int]]) -> list[bool]:
    """What the compiled filter should do, row against row."""
    kept = []
    for number, row in enumerate(rows):
        undercut = False
        for other_number, other in enumerate(rows):
            if key[number] != key[other_number] or other_number == number:
                continue
            below = all(a <= b for a, b in zip(other, row, strict=True))
            undercut |= below and (other != row or other_number < number)
        kept.append(not undercut)
    return kept


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.lists(st.integers(0, 3), min_size=3, max_size=3)),
        min_size=1,
        max_size=25,
    )
)
def test_dominance_kernel_has_a_plain_twin(rows: list[tuple[int, list[int]]]) -> None:
    key, figures = [k for k, _ in rows], [f for _, f in rows]
    mask = nondominated(np.array(key), np.array(figures))
    assert mask.tolist() == plain_filter(key, figures)


@pytest.mark.slow
def test_as_large_as_the_real_one() -> None:
    """Three nodes of 1500 labels, 300 groups an end: the beam is done within its minute."""
    draw = np.random.default_rng(0)
    nodes = tuple(
        Node(
            f"node {i}",
            draw.integers(1000, 100_000, 1500),
            draw.integers(0, 150_000, (1500, 8)),
            draw.integers(0, 120_000, (1500, 8)),
            draw.integers(0, 150_000, (1500, 8)),
        )
        for i in range(3)
    )
    edges = tuple(
        Edge(
            i,
            i + 1,
            draw.integers(0, 300, 1500),
            draw.integers(0, 300, 1500),
            draw.integers(0, 90_000, (300, 300)),
            draw.integers(0, 30_000, (300, 300)),
            draw.integers(0, 30_000, (300, 300)),
            2 * i + 1,
        )
        for i in range(2)
    )
    capacity = Capacity(424_880, 523_184, 114_688, 424_880, 32_768)
    problem = Problem(nodes, edges, tuple("abcdefgh"), capacity)
    begin = time.monotonic()
    solution = beam_search(problem, Limits())
    assert time.monotonic() - begin < 60
    assert solution is not None
    assert check(problem, solution) == ()
