"""The checker of the mapping: one bad choice per label, and prices in whole numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ipuopt.models.mapping import Capacity, Edge, Node, Problem, Solution, check, evaluate

PROBLEM = Problem(
    nodes=(
        Node(
            "product",
            np.array([10, 20]),
            np.array([[50, 0], [10, 10]]),
            np.array([[30, 0], [5, 5]]),
            np.array([[30, 0], [0, 0]]),
        ),
        Node(
            "gelu",
            np.array([1, 2]),
            np.array([[0, 20], [0, 90]]),
            np.array([[0, 10], [0, 50]]),
            np.array([[0, 20], [0, 25]]),
        ),
    ),
    edges=(
        Edge(
            0,
            1,
            np.array([0, 1]),
            np.array([0, 1]),
            np.array([[5, -1], [7, 3]]),
            np.array([[8, 8], [8, 8]]),
            np.array([[7, 7], [0, 0]]),
            1,
        ),
    ),
    steps=("first", "second"),
    capacity=Capacity(interleaved=60, total=200, low=50, high=100, granule=16),
)
"""Labels (0, 0): 30 interleaved bytes make a boundary of 32; standard 50 and 28 bytes."""


def violated(problem: Problem, labels: tuple[int, ...]) -> list[str]:
    return [label for label, _ in check(problem, Solution(labels))]


def test_good_choice() -> None:
    """10 + 1 + 5 cycles; nothing is violated."""
    assert check(PROBLEM, Solution((0, 0))) == ()
    assert evaluate(PROBLEM, Solution((0, 0))) == 16
    assert evaluate(PROBLEM, Solution((1, 1))) == 25


@pytest.mark.parametrize("labels", [(0,), (0, 2), (-1, 0), (0, 0, 0)])
def test_m1(labels: tuple[int, ...]) -> None:
    """Too few or too many labels, and labels that do not exist."""
    assert violated(PROBLEM, labels) == ["M1"]
    with pytest.raises(ValueError, match="M1"):
        evaluate(PROBLEM, Solution(labels))


def test_m2() -> None:
    """Groups 0 and 1 do not go together."""
    assert violated(PROBLEM, (0, 1)) == ["M2"]
    with pytest.raises(ValueError, match="M2"):
        evaluate(PROBLEM, Solution((0, 1)))


def with_capacity(**changes: int) -> Problem:
    return replace(PROBLEM, capacity=replace(PROBLEM.capacity, **changes))


def test_m3() -> None:
    """The peak of 30 bytes at the first step, against 30 and 29."""
    assert violated(with_capacity(interleaved=30), (0, 0)) == []
    assert violated(with_capacity(interleaved=29), (0, 0)) == ["M3"]


def test_m4() -> None:
    """50 standard bytes at the first step and a boundary of 32, against 82 and 81."""
    assert violated(with_capacity(total=82), (0, 0)) == []
    assert violated(with_capacity(total=81), (0, 0)) == ["M4"]


def test_m4_counts_staging() -> None:
    """Step 2 of (1, 0): 10 + 20 + 8 standard bytes, boundary 16; step 1 needs 10."""
    assert violated(with_capacity(total=54), (1, 0)) == []
    assert violated(with_capacity(total=53), (1, 0)) == ["M4"]


def test_m4_adds_the_boundary_of_another_step() -> None:
    """Interleaved bytes of step 1 count at step 2, which has none of that node's."""
    lean = replace(PROBLEM.nodes[0], standard=np.array([[0, 50], [0, 50]]))
    problem = replace(with_capacity(total=109), nodes=(lean, PROBLEM.nodes[1]))
    assert violated(problem, (0, 0)) == ["M4"]  # 50 + 20 + 8 + 32 = 110


def test_m5() -> None:
    """Buffers of 30 bytes at the first step, above a boundary of 32."""
    assert violated(with_capacity(high=62), (0, 0)) == []
    assert violated(with_capacity(high=61), (0, 0)) == ["M5"]


def test_m5_counts_staging() -> None:
    """20 + 7 bytes at the second step beside a boundary of 32; without the first node's 30."""
    lean = replace(PROBLEM.nodes[0], large=np.zeros((2, 2), dtype=np.int64))
    for high, found in ((59, []), (58, ["M5"])):
        problem = replace(with_capacity(high=high), nodes=(lean, PROBLEM.nodes[1]))
        assert violated(problem, (0, 0)) == found


def test_labels_of_several_violations() -> None:
    """Every violation is reported, not only the first."""
    tight = with_capacity(interleaved=10, total=20, low=0, high=0)
    assert violated(tight, (0, 0)) == ["M3", "M4", "M5", "M4", "M5"]
