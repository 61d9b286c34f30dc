"""One literal bad placement a label."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ipuopt.models.placement.space import Problem, Solution, check
from ipuopt.models.placement.space.check import height


def four_buffers() -> Problem:
    """0 and 1 live together, 2 later with 1; 3 never lives; 0 and 2 are apart by 8 bytes."""
    return Problem(
        name="four",
        size_bytes=np.array([4, 4, 8, 6]),
        guard_bytes=np.array([0, 2, 0, 0]),
        alignment=np.array([1, 2, 4, 1]),
        span_owner=np.array([0, 1, 2, 1, 3]),
        span=np.array([[0, 2], [1, 3], [5, 7], [6, 9], [4, 4]]),
        low=np.array([0, 4, 0, 2]),
        high=np.array([99, 99, 99, 99]),
        alias=np.array([-1, -1, -1, -1]),
        apart=np.array([[0, 2]]),
        elements=np.array([[0, 8]]),
        holes=np.array([[20, 24]]),
        capacity=32,
    )


GOOD = (0, 4, 12, 2)


@pytest.mark.parametrize(
    ("address", "labels"),
    [
        (GOOD, []),
        ((0, 4, 12, 5), []),  # a buffer without a step of life overlaps nothing
        ((0, 5, 12, 2), ["S2"]),
        ((2, 4, 12, 2), ["S1"]),
        ((0, 4, 8, 2), ["S1"]),  # 1 reserves two bytes more than it has
        ((-4, 4, 12, 2), ["S3"]),
        ((0, 2, 12, 2), ["S1", "S3"]),
        ((0, 4, 12, 0), ["S3"]),  # a window holds without life
        ((10, 4, 12, 2), ["S5"]),
        ((8, 14, 0, 2), []),
        ((0, 4, 16, 2), ["S6"]),
        ((0, 28, 12, 2), ["S7"]),
    ],
)
def test_labels(address: tuple[int, ...], labels: list[str]) -> None:
    violations = check(four_buffers(), Solution(np.array(address)))
    assert sorted(label for label, _ in violations) == labels


def test_aliases_may_overlap_each_other_and_nobody_else() -> None:
    problem = replace(
        four_buffers(), alias=np.array([5, 5, -1, -1]), low=np.zeros(4, dtype=np.int64)
    )
    assert check(problem, Solution(np.array((0, 0, 8, 0)))) == ()
    labels = {label for label, _ in check(problem, Solution(np.array((0, 4, 12, 0))))}
    assert labels == {"S4"}


def in_part() -> Problem:
    """0 keeps bytes 6 to 8 in its second span, in which 1 lives; a hole at 8."""
    return Problem(
        name="in part",
        size_bytes=np.array([8, 4]),
        guard_bytes=np.array([1, 0]),
        alignment=np.array([1, 1]),
        span_owner=np.array([0, 0, 1]),
        span=np.array([[0, 2], [2, 4], [2, 4]]),
        part=np.array([[0, 4], [6, 8], [0, 4]]),
        low=np.array([0, 0]),
        high=np.array([99, 99]),
        alias=np.array([-1, -1]),
        holes=np.array([[9, 12]]),
    )


@pytest.mark.parametrize(
    ("address", "labels"),
    [
        ((0, 0), []),
        ((0, 2), []),
        ((0, 3), ["S1"]),
        ((0, 5), ["S1"]),
        ((14, 14), []),
        ((14, 19), ["S1"]),  # the guard lies behind the part
        ((1, 0), ["S6"]),  # with its guard, the part ends at 10
        ((5, 0), ["S6"]),  # the guard of bytes 0 to 4 lies in the hole
    ],
)
def test_parts_reserve_what_they_name(address: tuple[int, ...], labels: list[str]) -> None:
    violations = check(in_part(), Solution(np.array(address)))
    assert [label for label, _ in violations] == labels


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"part": np.array([[0, 4], [6, 8]])}, "differ in length"),
        ({"part": np.array([[0, 4], [6, 9], [0, 4]])}, "not within its buffer"),
        ({"span": np.array([[0, 3], [2, 4], [2, 4]])}, "spans that overlap"),
        ({"alias": np.array([1, 1])}, "alias that lives in part"),
        ({"elements": np.array([[0, 4], [6, 2]])}, "whole elements long"),
        ({"elements": np.array([[4, 4]])}, "start at 0"),
    ],
)
def test_what_is_no_problem_in_part(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(in_part(), **change)


def test_height_counts_guards_and_leaves_out_what_is_empty() -> None:
    assert height(four_buffers(), Solution(np.array((0, 24, 12, 90)))) == 30


def test_wrong_number_of_addresses() -> None:
    assert check(four_buffers(), Solution(np.array((0, 4)))) != ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size_bytes": np.array([-1, 4, 8, 6])}, "size -1"),
        ({"alignment": np.array([0, 2, 4, 1])}, "alignment 0"),
        ({"size_bytes": np.array([1 << 60, 4, 8, 6])}, "size"),
        ({"apart": np.array([[0, 4]])}, "does not exist"),
        ({"holes": np.array([1, 2])}, "shape"),
        ({"low": np.array([0])}, "length"),
    ],
)
def test_what_is_no_problem(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(four_buffers(), **change)
