"""Solver against exhaustive search; limits, refusals, and what a report says."""

from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from ipuopt.limits import Limits
from ipuopt.models.placement import classes, peer
from ipuopt.models.placement.bounds import footprint_bound
from ipuopt.models.placement.check import check, conflict_words, footprint
from ipuopt.models.placement.classes import improve_all
from ipuopt.models.placement.heuristics import Cost, quick
from ipuopt.models.placement.problem import IntArray, Problem, Regions, Solution
from ipuopt.models.placement.solve import TRIALS, search, solve
from ipuopt.models.placement.tables import tables_of
from ipuopt.models.placement.tiles import TileClass
from ipuopt.report import Limit, SolveStatus
from ipuopt.solvers import cpsat
from ipuopt.solvers.cpsat import CpResult
from ipuopt.solvers.parallel import Workers

GRAIN = 0x2000
TINY = Regions(0x7C000, 0x80000, 0x80000, 0x80000 + 0xE000, 0x8000)
"""Two grains below, seven above: a whole pair of elements and most of the next."""


def tiny_problem(seed: int, count: int = 4) -> Problem:
    """Random buffers of 1 to 3 grains, with pairs, at addresses of whole grains."""
    random = np.random.default_rng(seed)
    start = random.integers(0, 3, count)
    pairs = np.array(list(itertools.combinations(range(count), 2)))
    chosen = random.permutation(len(pairs))
    return Problem(
        name=f"tiny {seed}",
        regions=TINY,
        size_bytes=random.integers(1, 4, count) * GRAIN - random.integers(0, 2, count) * 0x800,
        alignment=np.full(count, GRAIN),
        interleaved=random.integers(0, 2, count),
        live_start=start,
        live_stop=start + random.integers(1, 3, count),
        distinct=pairs[chosen[:1]],
        conflict=pairs[chosen[1:4]],
        conflict_words=random.integers(1, 9, 3),
    )


def best_by_search(problem: Problem) -> tuple[int, int] | None:
    """Least (conflict words, footprint) over all addresses of whole grains and boundaries."""
    low = range(TINY.low_start, TINY.low_stop, GRAIN)
    high = range(TINY.high_start, TINY.high_stop, GRAIN)
    slots = [high if kind else (*low, *high) for kind in problem.interleaved.tolist()]
    best: tuple[int, int] | None = None
    for address in itertools.product(*slots):
        if collide(problem, address):
            continue
        for boundary in (0x80000, 0x88000, 0x90000):
            solution = Solution(np.array(address), boundary)
            if check(problem, solution):
                continue
            cost = conflict_words(problem, solution), footprint(problem, solution)
            best = cost if best is None else min(best, cost)
    return best


def collide(problem: Problem, address: tuple[int, ...]) -> bool:
    """Quick test for (A3), so that the search stays short."""
    size, start, stop = (
        column.tolist() for column in (problem.size_bytes, problem.live_start, problem.live_stop)
    )
    return any(
        address[i] < address[j] + size[j]
        and address[j] < address[i] + size[i]
        and start[i] < stop[j]
        and start[j] < stop[i]
        for i, j in itertools.combinations(range(len(size)), 2)
    )


@pytest.mark.parametrize("seed", range(14))
def test_optimum_is_that_of_exhaustive_search(seed: int) -> None:
    problem = tiny_problem(seed)
    solution, report = solve(problem, Limits(deterministic=True))
    best = best_by_search(problem)
    if best is None:
        assert solution is None
        assert report.status in (SolveStatus.INFEASIBLE, SolveStatus.UNKNOWN)
        return
    assert solution is not None and not check(problem, solution)
    assert (conflict_words(problem, solution), footprint(problem, solution)) == best
    assert report.status is SolveStatus.OPTIMAL
    assert footprint_bound(problem) <= best[1] == report.objective


def test_tiny_problems_cover_both_outcomes() -> None:
    outcomes = {solve(tiny_problem(seed), Limits())[1].status for seed in range(14)}
    assert SolveStatus.OPTIMAL in outcomes
    assert outcomes & {SolveStatus.INFEASIBLE, SolveStatus.UNKNOWN}


def crowded_problem(seed: int) -> Problem:
    """Forty buffers with odd sizes: the heuristic misses the bound by some bytes."""
    random = np.random.default_rng(seed)
    count = 40
    start = random.integers(0, 20, count)
    ring = (np.arange(count) + 1) % count
    return Problem(
        name=f"crowded {seed}",
        regions=Regions(0x64000, 0x80000, 0x80000, 0xE7BB0, 0x8000),
        size_bytes=random.lognormal(8.6, 1.2, count).astype(np.int64).clip(4, 90_000) // 4 * 4,
        alignment=random.choice([4, 8, 32], count),
        interleaved=(random.random(count) < 0.3).astype(np.int64),
        live_start=start,
        live_stop=start + random.integers(1, 10, count),
        distinct=np.zeros((0, 2), dtype=np.int64),
        conflict=np.stack((np.arange(count), ring), axis=1),
        conflict_words=random.integers(1, 2000, count),
    )


def open_problem() -> Problem:
    """A problem whose heuristic placement is not proven by the load bound."""
    for seed in range(50):
        problem = crowded_problem(seed)
        bound = footprint_bound(problem)
        found = search(problem, Limits(), bound, TRIALS)
        if found is not None and found.cost > Cost(0, bound):
            return problem
    raise AssertionError("no open problem")


def test_passed_deadline_leaves_the_heuristic_placement() -> None:
    problem = open_problem()
    solution, report = solve(problem, Limits(deadline=0.0))
    assert solution is not None and not check(problem, solution)
    assert report.status is SolveStatus.FEASIBLE
    assert report.limit is Limit.TIME
    assert report.bound is not None and report.run.solver == "none"


def test_wall_clock_limit_holds() -> None:
    _, report = solve(open_problem(), Limits().within(1.0))
    assert report.wall_time_s < 3.0


def test_stop_is_an_interrupt() -> None:
    _, report = solve(open_problem(), Limits(should_stop=lambda: True))
    assert report.limit is Limit.INTERRUPT


def test_no_solver_when_the_bound_is_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpsat, "run", None)
    problem = replace(tiny_problem(0), distinct=np.zeros((0, 2), dtype=np.int64), conflict=np.zeros((0, 2), dtype=np.int64),
                      conflict_words=np.zeros(0, dtype=np.int64), interleaved=np.zeros(4, dtype=np.int64),
                      size_bytes=np.full(4, 0x100), alignment=np.full(4, 0x100))  # fmt: skip
    _, report = solve(problem, Limits())
    assert report.status is SolveStatus.OPTIMAL and report.run.solver == "none"


def test_heuristics_load_no_solver() -> None:
    """Importing the package, and placing what meets its bound, takes no second for a solver."""
    code = "import sys, ipuopt.models.placement; print('ortools' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def fake_result(values: IntArray, bound: int) -> CpResult:
    return CpResult(
        status=SolveStatus.FEASIBLE,
        objective=bound,
        bound=bound,
        values=values,
        reason=None,
        solver="fake",
    )


def test_lying_solver_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """All addresses 0 and a bound above the known placement: both are refused, the plan stays."""
    problem = open_problem()

    def lie(model: object, limits: object, **options: object) -> CpResult:
        del model, limits, options
        return fake_result(np.zeros(10_000, dtype=np.int64), 10**9)

    monkeypatch.setattr(cpsat, "run", lie)
    solution, report = solve(problem, Limits())
    assert solution is not None and not check(problem, solution)
    assert report.status is SolveStatus.FEASIBLE and report.limit is Limit.SOLVER
    assert "placement refused" in report.run.note
    assert report.bound == footprint_bound(problem)


def test_deterministic_solves_are_equal() -> None:
    problem = crowded_problem(1)
    limits = Limits(deterministic=True, threads=2)
    one, other = solve(problem, limits)[0], solve(problem, limits)[0]
    assert one is not None and other is not None
    assert np.array_equal(one.address, other.address) and one.boundary == other.boundary


def test_no_buffers() -> None:
    empty = np.zeros(0, dtype=np.int64)
    pairs = np.zeros((0, 2), dtype=np.int64)
    problem = Problem(
        name="tile 0",
        regions=TINY,
        size_bytes=empty,
        alignment=empty,
        interleaved=empty,
        live_start=empty,
        live_stop=empty,
        distinct=pairs,
        conflict=pairs,
        conflict_words=empty,
    )
    solution, report = solve(problem, Limits())
    assert solution is not None and not check(problem, solution)
    assert report.status is SolveStatus.OPTIMAL and report.objective == 0


@pytest.mark.parametrize("seed", range(20))
def test_heuristics_give_valid_placements_at_the_cost_they_name(seed: int) -> None:
    problem = crowded_problem(seed)
    found = quick(tables_of(problem), 0, lambda: False)
    assert found is not None and not check(problem, found.solution)
    assert found.cost.words == conflict_words(problem, found.solution)
    assert found.cost.footprint == footprint(problem, found.solution)
    peers = peer.heuristic(problem)
    assert peers is None or not check(problem, peers)


def test_construction_stops_after_an_order_when_time_is_up() -> None:
    """One order is tried whatever the time; what it found is kept."""
    problem = crowded_problem(0)
    looks: list[bool] = []

    def expired() -> bool:
        looks.append(True)
        return True

    found = quick(tables_of(problem), 0, expired)
    assert len(looks) == 1
    assert found is None or not check(problem, found.solution)


def test_workers_find_what_one_process_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Classes that are not settled at once go to processes."""
    monkeypatch.setattr(classes, "JOBS_WORK", 0)
    groups = [TileClass(crowded_problem(seed), np.arange(40)[None]) for seed in range(6)]
    goal = [0] * len(groups)  # none is settled
    limits = Limits(deterministic=True, threads=2)
    states = improve_all(groups, goal, limits)
    with Workers(2) as workers:
        helped = improve_all(groups, goal, replace(limits, workers=workers))
        assert workers.used
    for one, other in zip(states, helped, strict=True):
        assert one.found is not None and other.found is not None
        assert one.found.cost == other.found.cost
        assert np.array_equal(one.found.solution.address, other.found.solution.address)
