"""The CP-SAT model alone: no hint, no heuristic; other units and orders; complete hints."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipuopt.limits import Limits
from ipuopt.models.placement.check import check, conflict_words, footprint
from ipuopt.models.placement.exact import Model, unit_bytes
from ipuopt.models.placement.heuristics import quick
from ipuopt.models.placement.problem import Problem, Regions, Solution
from ipuopt.models.placement.solve import solve
from ipuopt.models.placement.tables import tables_of
from ipuopt.report import SolveStatus
from ipuopt.solvers import cpsat

GRAIN = 0x2000
SMALL = Regions(0x7C000, 0x80000, 0x80000, 0x80000 + 0xC000, 0x8000)
NO_PAIRS = np.zeros((0, 2), dtype=np.int64)
REPEATABLE = Limits(deterministic=True)


def small_problem(seed: int, regions: Regions = SMALL) -> Problem:
    """Four buffers of whole grains, two distinct pairs and two conflicts."""
    random = np.random.default_rng(seed)
    start = random.integers(0, 3, 4)
    pairs = random.permutation(np.array(list(itertools.combinations(range(4), 2))))
    return Problem(
        name=f"small {seed}",
        regions=regions,
        size_bytes=random.integers(1, 3, 4) * GRAIN,
        alignment=np.full(4, GRAIN),
        interleaved=random.integers(0, 2, 4),
        live_start=start,
        live_stop=start + random.integers(1, 3, 4),
        distinct=pairs[:2],
        conflict=pairs[2:4],
        conflict_words=random.integers(1, 9, 2),
    )


def every_placement(problem: Problem) -> list[tuple[int, int]]:
    """Conflict words and footprint of every valid placement on whole grains."""
    low = list(range(problem.regions.low_start, problem.regions.low_stop, GRAIN))
    high = list(range(problem.regions.high_start, problem.regions.high_stop, GRAIN))
    slots = [high if kind else low + high for kind in problem.interleaved.tolist()]
    regions = problem.regions
    # the last boundary is the first one at or above high_stop
    boundaries = range(regions.high_start, regions.high_stop + regions.granule, regions.granule)
    size = problem.size_bytes.tolist()
    found = []
    for address in itertools.product(*slots):
        clash = any(
            address[i] < address[j] + size[j]
            and address[j] < address[i] + size[i]
            and problem.live_start[i] < problem.live_stop[j]
            and problem.live_start[j] < problem.live_stop[i]
            for i, j in itertools.combinations(range(len(size)), 2)
        )
        for boundary in () if clash else boundaries:
            solution = Solution(np.array(address), boundary)
            if not check(problem, solution):
                found.append((conflict_words(problem, solution), footprint(problem, solution)))
    return found


@pytest.mark.parametrize("seed", range(16))
def test_both_objectives_by_the_model_alone(seed: int) -> None:
    """Also with granules of half a pair, where the boundary parts no elements."""
    granule = 0x8000 if seed % 2 else 0x4000
    problem = small_problem(seed, replace(SMALL, granule=granule))
    placements = every_placement(problem)
    for least in (0, 1):
        model = Model(problem)
        if least == 0 and model.shared:
            model.cp.minimize(model.words)
        elif least == 1:
            model.cp.minimize(model.unit * model.footprint)
        result = cpsat.run(model.cp, REPEATABLE, name="test")
        if not placements:
            assert result.status is SolveStatus.INFEASIBLE
            continue
        assert result.values is not None
        solution = model.read(result.values)
        assert not check(problem, solution)
        cost = conflict_words(problem, solution), footprint(problem, solution)
        assert cost[least] == min(placement[least] for placement in placements)
        if least == 1:
            assert result.objective == result.bound == cost[1]


def unpaired_problem(seed: int, unit: int) -> Problem:
    """Buffers in units; regions in units as well, so that every unit asks the same question."""
    random = np.random.default_rng(seed)
    count = 9
    start = random.integers(0, 5, count)
    shuffled = np.random.default_rng(seed + unit).permutation(count)
    return Problem(
        name=f"unit {unit}",
        regions=Regions(0, 40 * unit, 64 * unit, 164 * unit, 8 * unit),
        size_bytes=(random.integers(3, 60, count) * unit)[shuffled],
        alignment=(random.choice([1, 2, 4], count) * unit)[shuffled],
        interleaved=random.integers(0, 2, count)[shuffled],
        live_start=start[shuffled],
        live_stop=(start + random.integers(1, 4, count))[shuffled],
        distinct=NO_PAIRS,
        conflict=NO_PAIRS,
        conflict_words=np.zeros(0, dtype=np.int64),
    )


@pytest.mark.parametrize("seed", range(8))
def test_units_and_order_leave_the_answer(seed: int) -> None:
    """google/or-tools #5274, #3168: answers changed with the scale and the order of buffers."""
    answers = set()
    for unit in (1, 8, 32):
        model = Model(unpaired_problem(seed, unit))
        model.cp.minimize(model.unit * model.footprint)
        result = cpsat.run(model.cp, REPEATABLE, name="test")
        value = None if result.objective is None else result.objective // unit
        answers.add((result.status, value))
    assert len(answers) == 1
    assert answers.pop()[0] in (SolveStatus.OPTIMAL, SolveStatus.INFEASIBLE)


def test_unit_is_the_common_divisor() -> None:
    assert unit_bytes(small_problem(0)) == 0x2000
    assert unit_bytes(unpaired_problem(0, 8)) == 8


@pytest.mark.parametrize("seed", range(10))
def test_hint_is_complete_and_feasible(seed: int) -> None:
    """A hint that leaves out a variable is often ignored (google/or-tools #4373)."""
    problem = small_problem(seed)
    found = quick(tables_of(problem), 0, lambda: False)
    if found is None:
        pytest.skip("nothing to hint")
    model = Model(problem)
    values = model.hint(found.solution)
    assert sorted(values) == list(range(len(model.cp.proto.variables)))
    for index, value in values.items():
        model.cp.add(model.cp.get_int_var_from_proto_index(index) == value)
    result = cpsat.run(model.cp, REPEATABLE, name="test")
    assert result.status is SolveStatus.OPTIMAL and result.values is not None
    read = model.read(result.values)
    assert read.boundary == found.solution.boundary
    assert np.array_equal(read.address, found.solution.address)


def forgotten_packing(seed: int, unit: int, granules: int) -> Problem:
    """A packing cut out of time and memory; the addresses are forgotten."""
    random = np.random.default_rng(seed)
    boundary = 0x80000 + granules * 0x8000
    areas = [(0, 0x7C000, 0x80000), (0, boundary, 0x98000)]
    if granules:
        areas.append((1, 0x80000, boundary))
    rows = []
    for interleaved, start, stop in areas:
        at = start
        while at < stop:
            size = min(int(random.integers(1, 0x4000 // unit)) * unit, stop - at)
            cut = int(random.integers(1, 4))
            for first, last in ((0, cut), (cut, 4)):
                if first < last and random.random() < 0.8:
                    rows.append((size, interleaved, first, last))
            at += size
    rows = rows[:40]
    size, interleaved, live_start, live_stop = np.array([*rows, (unit, 0, 4, 5)]).T
    return Problem(
        name="forgotten",
        regions=Regions(0x7C000, 0x80000, 0x80000, 0x98000, 0x8000),
        size_bytes=size,
        alignment=np.full(len(size), unit),
        interleaved=interleaved,
        live_start=live_start,
        live_stop=live_stop,
        distinct=NO_PAIRS,
        conflict=NO_PAIRS,
        conflict_words=np.zeros(0, dtype=np.int64),
    )


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([8, 32, 256]), st.integers(0, 3))
def test_a_feasible_packing_is_never_called_infeasible(seed: int, unit: int, granules: int) -> None:
    problem = forgotten_packing(seed, unit, granules)
    solution, report = solve(problem, Limits().within(2.0))
    assert report.status is not SolveStatus.INFEASIBLE
    assert "infeasible" not in report.run.note
    if solution is not None:
        assert not check(problem, solution)
        assert report.objective == footprint(problem, solution)


@pytest.mark.parametrize("seed", range(12))
def test_forgotten_packings_are_found_again(seed: int) -> None:
    problem = forgotten_packing(seed, (8, 32, 256)[seed % 3], seed % 4)
    solution, report = solve(problem, REPEATABLE)
    assert solution is not None and not check(problem, solution)
    assert report.status is SolveStatus.OPTIMAL
