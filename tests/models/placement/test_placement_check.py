"""One literal bad placement per label; the two checkers agree on whole programs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ipuopt.models.placement.check import check, conflict_words, footprint
from ipuopt.models.placement.problem import Problem, Regions, Solution

REGIONS = Regions(0x78000, 0x80000, 0x80000, 0x80000 + 0x17000, 0x8000)


def three_buffers() -> Problem:
    """An interleaved buffer and two standard ones; the last two are distinct."""
    return Problem(
        name="tile 0",
        regions=REGIONS,
        size_bytes=np.array([0x1000, 0x1000, 0x2000]),
        alignment=np.array([32, 8, 64]),
        interleaved=np.array([1, 0, 0]),
        live_start=np.array([0, 0, 1]),
        live_stop=np.array([2, 2, 3]),
        distinct=np.array([[1, 2]]),
        conflict=np.array([[0, 1]]),
        conflict_words=np.array([7]),
    )


GOOD = ((0x80000, 0x78000, 0x7C000), 0x88000)


@pytest.mark.parametrize(
    ("address", "boundary", "labels"),
    [
        (*GOOD, []),
        ((0x80000, 0x78000, 0x88000), 0x88000, []),
        ((0x80000, 0x78000, 0x7C000), 0x80000, ["A1"]),  # interleaved above the boundary
        ((0x80000, 0x78000, 0x7C000), 0x84000, ["A1"]),  # half a granule
        ((0x80000, 0x78000, 0x7C000), 0x78000, ["A1", "A1"]),  # boundary below the region
        ((0x7E000, 0x78000, 0x7A000), 0x88000, ["A1", "A4"]),  # interleaved in standard memory
        ((0x80000, 0x78000, 0x82000), 0x88000, ["A1"]),  # standard below the boundary
        ((0x82000, 0x78000, 0x7F000), 0x88000, ["A1"]),  # runs over the end of low memory
        ((0x80000, 0x78000, 0x96000), 0x88000, ["A1"]),  # runs over the end of high memory
        ((0x80000, 0x77000, 0x7C000), 0x88000, ["A1"]),  # before low memory
        ((0x80000, 0x78004, 0x7C000), 0x88000, ["A2"]),
        ((0x80000, 0x7C000, 0x7C040), 0x88000, ["A3", "A4"]),
        ((0x80000, 0x7A000, 0x78000), 0x88000, ["A4"]),
        ((0x80000, 0x88000, 0x8E000), 0x88000, ["A4"]),  # one pair of elements, 24 KiB apart
    ],
)
def test_labels(address: tuple[int, ...], boundary: int, labels: list[str]) -> None:
    violations = check(three_buffers(), Solution(np.array(address), boundary))
    assert [label for label, _ in violations] == labels


def with_all_columns() -> Problem:
    """The three buffers; 1 is instructions with a guard, 2 has a window; 3 is an alias of 2, 4 empty."""
    return Problem(
        name="tile 0",
        regions=REGIONS,
        size_bytes=np.array([0x1000, 0x1000, 0x2000, 0x1000, 0x4000]),
        alignment=np.array([32, 8, 64, 64, 4]),
        interleaved=np.array([1, 0, 0, 0, 0]),
        live_start=np.array([0, 0, 1, 1, 1]),
        live_stop=np.array([2, 2, 3, 3, 1]),
        distinct=np.array([[1, 2]]),
        conflict=np.array([[1, 3]]),
        conflict_words=np.array([7]),
        executable=np.array([0, 1, 0, 0, 0]),
        guard_bytes=np.array([0, 0x40, 0, 0, 0]),
        window_start=np.array([0, 0, 0x7C000, 0, 0x70000]),
        window_stop=np.array([1 << 40, 1 << 40, 0x8B000, 1 << 40, 0x80000]),
        alias=np.array([-1, -1, 4, 4, -1]),
        holes=np.array([[0x7F000, 0x80000]]),
    )


@pytest.mark.parametrize(
    ("address", "labels"),
    [
        ((0x80000, 0x78000, 0x7C000, 0x7C000, 0x78000), []),  # what is empty overlaps nothing
        ((0x80000, 0x78000, 0x88000, 0x88000, 0x78000), []),
        ((0x80000, 0x8A000, 0x7C000, 0x7C000, 0x78000), ["A1"]),  # instructions above 0x80000
        ((0x80000, 0x7BFC8, 0x7C000, 0x7C000, 0x78000), ["A3", "A3", "A4"]),
        ((0x80000, 0x7AFC8, 0x7C000, 0x7C000, 0x78000), ["A3", "A3", "A4"]),  # the guard only
        ((0x80000, 0x7C000, 0x78000, 0x78000, 0x78000), ["A5"]),
        ((0x80000, 0x78000, 0x8A000, 0x8A000, 0x78000), ["A5"]),
        ((0x80000, 0x78000, 0x7C000, 0x7C000, 0x7E000), ["A5"]),  # a window holds without life
        ((0x80000, 0x78000, 0x7C000, 0x7C040, 0x78000), ["A6"]),
        ((0x80000, 0x78000, 0x7E000, 0x7E000, 0x78000), ["A7"]),
    ],
)
def test_labels_of_the_optional_columns(address: tuple[int, ...], labels: list[str]) -> None:
    violations = check(with_all_columns(), Solution(np.array(address), 0x88000))
    assert sorted(label for label, _ in violations) == labels


def test_objectives_count_guards_and_leave_out_what_is_empty() -> None:
    solution = Solution(np.array((0x80000, 0x78000, 0x88000, 0x88000, 0x7C000)), 0x88000)
    assert footprint(with_all_columns(), solution) == 0x1000 + 0x1040 + 0x2000
    assert conflict_words(with_all_columns(), solution) == 0
    shared = Solution(np.array((0x80000, 0x7C000, 0x7E000, 0x7E000, 0x78000)), 0x88000)
    assert conflict_words(with_all_columns(), shared) == 7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size_bytes": [-1, 1, 1, 1, 1]}, "size_bytes below 0"),
        ({"guard_bytes": [0, 0, -4, 0, 0]}, "guard_bytes below 0"),
        ({"executable": [1, 0, 0, 0, 0]}, "instructions in interleaved"),
        ({"alias": [3, 3, -1, -1, -1]}, "aliases must be of one class"),
        ({"alias": [3, 3]}, "columns differ"),
        ({"alignment": [0, 1, 1, 1, 1]}, "powers of two"),
        ({"holes": [1, 2]}, "holes must have shape"),
        ({"distinct": [[0, 5]]}, "does not exist"),
    ],
)
def test_what_is_no_problem(change: dict[str, Any], message: str) -> None:
    made: dict[str, Any] = {name: np.array(value) for name, value in change.items()}
    with pytest.raises(ValueError, match=message):
        replace(with_all_columns(), **made)


def test_wrong_number_of_addresses() -> None:
    assert check(three_buffers(), Solution(np.array([0x80000]), 0x88000))[0][0] == "A1"


def test_buffers_that_meet_end_to_start_may_overlap() -> None:
    """Lifetimes are half-open: a buffer that ends with step 1 leaves its bytes to step 2."""
    problem = Problem(
        name="tile 0",
        regions=REGIONS,
        size_bytes=np.array([64, 64]),
        alignment=np.array([8, 8]),
        interleaved=np.array([0, 0]),
        live_start=np.array([0, 2]),
        live_stop=np.array([2, 3]),
        distinct=np.zeros((0, 2), dtype=np.int64),
        conflict=np.zeros((0, 2), dtype=np.int64),
        conflict_words=np.zeros(0, dtype=np.int64),
    )
    assert not check(problem, Solution(np.array([0x78000, 0x78000]), 0x80000))


def test_footprint_adds_three_extents() -> None:
    # interleaved 0x1000, low 0x1000, high 0x2000 + 0x100 above the boundary
    solution = Solution(np.array([0x80000, 0x78000, 0x88100]), 0x88000)
    assert footprint(three_buffers(), solution) == 0x1000 + 0x1000 + 0x2100


@pytest.mark.parametrize(
    ("boundary", "at", "words"), [(0x88000, 0x88000, 0), (0x84000, 0x84000, 7)]
)
def test_conflict_words_count_pairs_of_one_element(boundary: int, at: int, words: int) -> None:
    # 0x80000 and 0x84000 lie in one pair of elements, 0x88000 in the next
    solution = Solution(np.array([0x80000, at, 0x7C000]), boundary)
    assert conflict_words(three_buffers(), solution) == words
