"""Packing into slots breaks no rule but the order of memory, which its check notices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ipuopt.models.exchange import Problem, Solution, check, horizon
from ipuopt.models.exchange.apart import schedule_apart
from ipuopt.models.exchange.check_apart import check_apart
from ipuopt.models.exchange.slots import schedule_slots
from ipuopt.models.exchange.timing import timing

Phases = Callable[..., st.SearchStrategy[Problem]]


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_only_order_of_memory_may_be_wrong(phases: Phases, data: st.DataObject) -> None:
    problem = data.draw(phases())
    solution = schedule_slots(problem, timing(problem))
    assert {label for label, _ in check(problem, solution)} <= {"E5"}
    passed, last = check_apart(problem, solution)
    if passed:
        assert check(problem, solution) == ()
        assert last == horizon(problem, solution)


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_any_order_in_time(phases: Phases, data: st.DataObject) -> None:
    """Transfers far apart, in a random order: what passes is valid."""
    problem = data.draw(phases(most=6))
    order = np.array(data.draw(st.permutations(range(len(problem)))), np.int64)
    passed, _ = check_apart(problem, Solution(1000 + 10_000 * order, problem.paired))
    if passed:
        assert check(problem, Solution(1000 + 10_000 * order, problem.paired)) == ()


def test_another_order_needs_memory_of_its_own() -> None:
    """Two writes to one tile, in reverse order: valid unless they overlap."""
    for address, valid in ((0x68400, True), (0x68010, False)):
        problem = Problem.from_arrays(
            tiles=64,
            source=[0, 2],
            source_address=[0x64000, 0x64000],
            words=[50, 50],
            destination_tile=[8, 8],
            destination_address=[0x68000, address],
        )
        solution = Solution(np.array([9000, 100]))
        assert check_apart(problem, solution)[0] == valid == (not check(problem, solution))


def test_wide_and_long_transfers() -> None:
    """Long transfers fill whole words of slots; the horizon stays near the work of a tile."""
    count = 40
    problem = Problem.from_arrays(
        tiles=64,
        source=[0] * count,
        source_address=[0x64000] * count,
        words=[4148, 1] * (count // 2),
        destination_tile=[8 + j % 32 for j in range(count)],
        destination_address=[0x68000 + 0x4400 * (j // 32) for j in range(count)],
    )
    times = timing(problem)
    solution = schedule_slots(problem, times)
    assert check(problem, solution) == ()
    apart = horizon(problem, schedule_apart(problem, times))
    assert horizon(problem, solution) < 3 * apart
