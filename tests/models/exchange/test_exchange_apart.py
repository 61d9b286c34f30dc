"""The schedule of one pass is valid, its own check accepts nothing that is not, its bound holds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipuopt.models.exchange import Problem, Solution, check, horizon, lower_bound
from ipuopt.models.exchange.apart import quick_bound, schedule_apart
from ipuopt.models.exchange.check_apart import check_apart
from ipuopt.target.fabric import PARTNER

Phases = Callable[..., st.SearchStrategy[Problem]]


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_valid_and_between_bound_and_check(phases: Phases, data: st.DataObject) -> None:
    problem = data.draw(phases())
    solution = schedule_apart(problem)
    assert check(problem, solution) == ()
    assert check_apart(problem, solution) == (True, horizon(problem, solution))
    quick, exact = quick_bound(problem)[0], lower_bound(problem)[0]
    assert quick <= exact <= horizon(problem, solution)
    assert quick_bound(problem, free=True)[0] <= quick


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_what_it_accepts_is_valid(phases: Phases, data: st.DataObject) -> None:
    """Starts moved at random: those that pass also pass the full checker."""
    problem = data.draw(phases(most=5))
    move = st.lists(st.integers(-90, 90), min_size=len(problem), max_size=len(problem))
    solution = Solution(schedule_apart(problem).start + np.array(data.draw(move)))
    passed, last = check_apart(problem, solution)
    if passed:
        assert check(problem, solution) == ()
        assert last == horizon(problem, solution)


def paired_phase(second_source: int) -> Problem:
    """A Paired64 transfer of 200 words to a pair, then a Word32 one."""
    target = 8
    return Problem.from_arrays(
        tiles=64,
        source=[0, second_source],
        source_address=[0x64000, 0x64000],
        words=[200, 50],
        destination_tile=[[target, int(PARTNER[target])], [20]],
        destination_address=[[0x68000, 0x68000], [0x70000]],
        paired=[True, False],
    )


def test_partner_of_a_paired_source_is_busy() -> None:
    partner = int(PARTNER[0])
    for source, apart in ((partner, True), (40, False)):
        problem = paired_phase(source)
        solution = schedule_apart(problem)
        assert check_apart(problem, solution) == (True, horizon(problem, solution))
        assert check(problem, solution) == ()
        assert (solution.start[1] > 100) == apart
        early = Solution(np.array([solution.start[0], 78]), solution.paired)
        assert check_apart(problem, early)[0] != apart


def test_widths_that_do_not_qualify_and_wrong_shapes_fail() -> None:
    problem = paired_phase(40)
    start = schedule_apart(problem).start
    assert not check_apart(problem, Solution(start, np.array([True, True])))[0]
    assert not check_apart(problem, Solution(start[:1]))[0]
    assert not check_apart(problem, Solution(start.astype(float), problem.paired))[0]
    assert not check_apart(problem, Solution(start - 200, problem.paired))[0]


def test_empty_phase() -> None:
    problem = Problem.from_arrays(
        tiles=4,
        source=[],
        source_address=[],
        words=[],
        destination_tile=[],
        destination_address=[],
    )
    assert check_apart(problem, schedule_apart(problem)) == (True, 0)
    assert quick_bound(problem)[0] == 0


@pytest.mark.parametrize("free", [False, True])
def test_bound_of_free_widths_is_half(free: bool) -> None:
    """200 words are 100 items: at least as many events."""
    bound, source = quick_bound(paired_phase(40), free=free)
    assert source == "head + words + tail"
    assert 100 < bound < 300
