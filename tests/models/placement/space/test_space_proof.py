"""Bounds above the load: cliques and windows of time, on instances small enough to follow."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from ipuopt.limits import Limits
from ipuopt.models.placement.space import Problem, check, place
from ipuopt.models.placement.space.bounds import load_bound
from ipuopt.models.placement.space.cliques import clique_bound
from ipuopt.models.placement.space.energy import energy_bound
from ipuopt.models.placement.space.instance import build
from ipuopt.models.placement.space.proof import Windows, verdict
from ipuopt.models.placement.space.race import Race
from ipuopt.models.placement.space.search import FAILED, FOUND
from ipuopt.models.placement.space.shape import tables_of
from ipuopt.report import SolveStatus


def never() -> bool:
    return False


def in_turn(element_bytes: int) -> Problem:
    """Three buffers of 5 bytes that live one after the other, and are apart from each other."""
    return replace(
        Problem.of("in turn", [5, 5, 5], [0, 1, 2], [1, 2, 3]),
        apart=np.array([[0, 1], [1, 2], [0, 2]]),
        elements=np.array([[0, element_bytes]]),
    )


@pytest.mark.parametrize(("element_bytes", "least"), [(1, 15), (4, 21), (8, 21)])
def test_clique_of_buffers_that_never_live_together(element_bytes: int, least: int) -> None:
    """With 4-byte elements each takes two of them, but for the topmost: 8 + 8 + 5."""
    problem = in_turn(element_bytes)
    instance = build(problem)
    assert load_bound(instance) * instance.unit == 5
    assert clique_bound(instance) * instance.unit == least
    answer = place(problem, Limits(deterministic=True))
    assert answer.solution is not None and check(problem, answer.solution) == ()
    report = answer.report
    assert (report.status, report.objective) == (SolveStatus.OPTIMAL, least)
    assert report.bound_source == "clique"
    tight = place(replace(problem, capacity=least - 1), Limits(deterministic=True))
    assert tight.report.status is SolveStatus.INFEASIBLE
    assert tight.conflict is not None and tight.conflict.buffers.tolist() == [0, 1, 2]


def test_clique_counts_the_elements_that_there_are() -> None:
    """Five bytes apart in elements of 4, then 8 bytes; a long hole over all of 8 to 2 ** 40 but 2."""
    problem = replace(
        Problem.of("apart", [1] * 5, [0] * 5, [1] * 5),
        apart=np.array(list(itertools.combinations(range(5), 2))),
        elements=np.array([[0, 4], [16, 8]]),
        holes=np.array([[8, (1 << 40) - 2]]),
    )
    instance = build(problem)
    # Elements at 0 and 4, the one with the two last bytes before 2 ** 40, then two of 8 bytes.
    least = (1 << 40) + 8 + 1
    assert clique_bound(instance) * instance.unit == least
    answer = place(problem, Limits(deterministic=True))
    assert answer.report.objective == least == answer.report.bound


def fenced(high: int) -> Problem:
    """Three of 3 bytes in bytes 2 to ``high`` - 1, one anywhere, all at once."""
    problem = Problem.of("fenced", [3, 3, 3, 4], [0, 0, 0, 0], [1, 1, 1, 1])
    low, end = problem.low.copy(), problem.high.copy()
    low[:3], end[:3] = 2, high
    return replace(problem, low=low, high=end)


def test_energy_of_a_range_proves_what_no_load_does() -> None:
    """Nine bytes do not fit into eight; into nine they do, and the fourth lies above them."""
    tight = build(fenced(10))
    assert load_bound(tight) == 13 and energy_bound(tight, 13, 99) == 100
    answer = place(fenced(10), Limits(deterministic=True))
    assert answer.report.status is SolveStatus.INFEASIBLE
    assert answer.report.bound_source == "energy"
    assert answer.conflict is not None and answer.conflict.buffers.tolist() == [0, 1, 2]
    wide = place(fenced(11), Limits(deterministic=True))
    assert wide.report.objective == 15 == wide.report.bound
    assert energy_bound(build(fenced(11)), 13, 99) == 15
    assert wide.report.bound_source == "energy"


def wedged(steps: int) -> Problem:
    """Load 3, least height 5, among ``2 * steps`` buffers that fit into 3 bytes.

    The last buffer, of 2 bytes, meets byte 2 in one step and byte 0 in the next one, both taken: it
    lies above byte 2.
    """
    around = np.arange(2 * steps) // 2
    middle = steps // 2
    problem = Problem.of(
        "wedged",
        [1] * (2 * steps) + [1, 1, 2],
        np.concatenate((around + 2 * (around >= middle), [middle, middle + 1, middle])),
        np.concatenate((around + 2 * (around >= middle) + 1, [middle + 1, middle + 2, middle + 2])),
    )
    low, high = problem.low.copy(), problem.high.copy()
    low[-3:-1], high[-3:-1] = (2, 0), (3, 1)
    return replace(problem, low=low, high=high)


def test_window_of_two_steps_proves_what_no_load_does() -> None:
    problem = wedged(40)
    instance = build(problem)
    assert load_bound(instance) == 3 and clique_bound(instance) == 0
    windows = Windows(instance)
    assert windows.refute(3, 99, 50, never) == 5
    assert windows.refute(5, 99, 50, never) == 5
    assert Windows(instance).refute(3, 3, 50, never) == 4  # no height above 3 is of interest
    assert Windows(instance).refute(5, 99, 50, never) == 5


def test_no_window_is_looked_at_when_time_is_over() -> None:
    windows = Windows(build(wedged(10)))
    assert windows.refute(3, 99, 50, lambda: True) == 3
    assert windows.nodes == 0


def test_race_takes_over_what_a_window_proves() -> None:
    problem = wedged(40)
    tables = tables_of(build(problem))
    assert tables is not None
    race = Race(tables, bound=3, source="load", best=None, ceiling=4, only=True, seed=0)
    race.refute_windows(never)
    assert race.over() and (race.bound, race.source) == (5, "time window")


@pytest.mark.parametrize(("height", "said"), [(2, FAILED), (3, FAILED), (4, FAILED), (5, FOUND)])
def test_verdict(height: int, said: int) -> None:
    assert verdict(wedged(4), height, 100, never).said == said
