"""A tile class by class: fit, conflicts and footprint against exhaustive search, with all columns."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from ipuopt.limits import Limits
from ipuopt.models.placement import solve
from ipuopt.models.placement.bounds import explain, footprint_bound
from ipuopt.models.placement.check import check, conflict_words, footprint
from ipuopt.models.placement.problem import ANYWHERE, BoolArray, IntArray, Problem, Regions
from ipuopt.models.placement.spaces import separable, settle
from ipuopt.report import SolveStatus

GRAIN = 0x2000
TINY = Regions(0x7C000, 0x80000, 0x80000, 0x80000 + 0xE000, 0x8000)
"""Two grains below, in one element; seven above, in two pairs of elements."""

SLOTS = np.concatenate((np.arange(0x7C000, 0x80000, GRAIN), np.arange(0x80000, 0x8E000, GRAIN)))
COUNT = 4


def rich_problem(seed: int) -> Problem:
    """Four buffers at addresses of whole grains, with whatever a tile may have."""
    random = np.random.default_rng(seed)

    def sometimes(share: float) -> bool:
        return bool(random.random() < share)

    start = random.integers(0, 3, COUNT)
    pairs = random.permutation(np.array(list(itertools.combinations(range(COUNT), 2))))
    conflict = pairs[2 : 2 + random.integers(0, 3)]
    interleaved = random.integers(0, 2, COUNT)
    alias = np.full(COUNT, -1)
    same = np.flatnonzero(interleaved == 0)[:2]
    if sometimes(0.3) and len(same) == 2:
        alias[same] = 5
    window = np.tile(ANYWHERE, (COUNT, 1))
    if sometimes(0.3):
        fixed = int(random.choice(SLOTS))
        window[0] = fixed, fixed + GRAIN * random.integers(1, 4)
    hole = int(random.choice(SLOTS))
    return Problem(
        name=f"rich {seed}",
        regions=TINY,
        size_bytes=random.integers(0 if sometimes(0.2) else 1, 4, COUNT) * GRAIN,
        alignment=np.full(COUNT, GRAIN),
        interleaved=interleaved,
        live_start=start,
        live_stop=start + random.integers(0 if sometimes(0.2) else 1, 3, COUNT),
        distinct=pairs[: random.integers(0, 2)],
        conflict=conflict,
        conflict_words=np.full(len(conflict), 7),
        executable=(interleaved == 0) * (random.random(COUNT) < 0.2),
        guard_bytes=random.integers(0, 2, COUNT) * 0x800 * int(sometimes(0.3)),
        window_start=window[:, 0],
        window_stop=window[:, 1],
        alias=alias,
        holes=np.array([[hole, hole + GRAIN]]) if sometimes(0.2) else np.zeros((0, 2), dtype=int),
    )  # fmt: skip


def plain_problem(seed: int) -> Problem:
    """Three or four buffers without any of the optional columns."""
    made = rich_problem(seed)
    none = np.zeros(0, dtype=np.int64)
    return replace(
        made,
        name=f"plain {seed}",
        size_bytes=made.size_bytes.clip(min=GRAIN),
        live_stop=np.maximum(made.live_stop, made.live_start + 1),
        executable=none,
        guard_bytes=none,
        window_start=none,
        window_stop=none,
        alias=none,
        holes=np.zeros((0, 2), dtype=np.int64),
    )


def element(address: IntArray) -> IntArray:
    return np.where(address < 0x80000, 0, 1 + (address - 0x80000) // 0x8000)


def best_of_all(problem: Problem) -> dict[bool, int | None]:
    """Least footprint over all grains and boundaries, with conflicts allowed and without any."""
    size = problem.size_bytes + problem.guard_bytes
    real = (problem.size_bytes > 0) & (problem.live_start < problem.live_stop)
    at = np.stack(np.meshgrid(*[SLOTS] * COUNT, indexing="ij"), axis=-1).reshape(-1, COUNT)
    end = at + size
    keep: BoolArray = np.ones(len(at), dtype=bool)
    keep &= (at >= problem.window_start).all(axis=1)
    keep &= (at + problem.size_bytes <= problem.window_stop).all(axis=1)
    for begin, stop in problem.holes.tolist():
        keep &= ~((at < stop) & (end > begin) & real).any(axis=1)
    free = keep.copy()
    for i, j in itertools.combinations(range(COUNT), 2):
        aliases = problem.alias[i] >= 0 and problem.alias[i] == problem.alias[j]
        if aliases:
            keep &= at[:, i] == at[:, j]
        if not (real[i] and real[j]):
            continue
        live = max(problem.live_start[i], problem.live_start[j]) < min(
            problem.live_stop[i], problem.live_stop[j]
        )
        if live and not aliases:
            keep &= (end[:, i] <= at[:, j]) | (end[:, j] <= at[:, i])
        first, last = element(at), element(end - 1)
        shared = (first[:, i] <= last[:, j]) & (first[:, j] <= last[:, i])
        for pairs, rows in ((problem.distinct, keep), (problem.conflict, free)):
            if [i, j] in pairs.tolist() or [j, i] in pairs.tolist():
                rows &= ~shared
    best: dict[bool, int | None] = {False: None, True: None}
    inside = problem.interleaved == 1
    low = (at >= TINY.low_start) & (end <= TINY.low_stop)
    for boundary in (0x80000, 0x88000, 0x90000):
        high = (at >= boundary) & (end <= TINY.high_stop)
        between = (at >= 0x80000) & (end <= min(boundary, TINY.high_stop))
        standard = np.where(problem.executable == 1, low, low | high)
        fits = keep & (np.where(inside, between, standard) | ~real).all(axis=1)
        tops = [
            np.where(chosen & real, end - begin, 0).max(axis=1)
            for chosen, begin in (
                (inside, 0x80000),
                (~inside & (at < boundary), TINY.low_start),
                (~inside & (at >= boundary), boundary),
            )
        ]
        for without, rows in ((False, fits), (True, fits & free)):
            if rows.any():
                found = int(sum(tops)[rows].min())
                known = best[without]
                best[without] = found if known is None else min(known, found)
    return best


def assert_agrees(problem: Problem) -> tuple[bool, bool]:
    """Both questions, and the least footprint where the search claims it."""
    assert separable(problem)
    best = best_of_all(problem)
    limits = Limits(deterministic=True)
    pairs = {False: problem.distinct, True: np.concatenate((problem.distinct, problem.conflict))}
    for without, apart in pairs.items():
        settled = settle(problem, apart, limits, least=False, solver=False)
        assert (settled.solution is not None) == (best[without] is not None), problem.name
        assert (settled.refuted is None) == (best[without] is not None)
        least = settle(problem, apart, limits, least=True, solver=False)
        for found in (settled.solution, least.solution):
            if found is not None:
                assert check(problem, found) == ()
                assert not without or conflict_words(problem, found) == 0
                known = best[without]
                assert known is not None and known <= footprint(problem, found)
        known = best[without]
        if least.solution is not None:
            assert known is not None
            assert footprint_bound(problem) <= least.bound <= known
    known = best[False]
    if known is not None:
        assert footprint_bound(problem) <= known
        assert explain(problem, [""] * COUNT) is None
    return best[False] is None, best[True] is None


@pytest.mark.parametrize("make", [plain_problem, rich_problem])
def test_classes_agree_with_exhaustive_search(make: object) -> None:
    assert callable(make)
    outcomes = {assert_agrees(make(seed)) for seed in range(25)}
    assert {(False, False), (True, True)} <= outcomes


def test_a_hole_among_interleaved_buffers() -> None:
    """It overlaps what the standard buffers leave to them, and takes no room twice."""
    assert best_of_all(rich_problem(1228)) == {False: 49152, True: 49152}
    assert_agrees(rich_problem(1228))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_hundreds_of_tiles(part: int) -> None:
    for seed in range(1000 + part * 50, 1050 + part * 50):
        for make in (plain_problem, rich_problem):
            assert_agrees(make(seed))


@pytest.mark.parametrize("seed", range(12))
def test_solve_takes_problems_with_all_columns(seed: int) -> None:
    problem = rich_problem(seed + 300)
    best = best_of_all(problem)
    solution, report = solve(problem, Limits(deterministic=True))
    if best[False] is None:
        assert solution is None and report.status is SolveStatus.INFEASIBLE
        return
    assert solution is not None and check(problem, solution) == ()
    known = best[True]
    if known is not None:
        assert conflict_words(problem, solution) == 0
        assert report.bound is not None and report.bound <= known <= footprint(problem, solution)


def wedged_tile() -> Problem:
    """Three buffers of 12 KiB in each other's steps: 16 KiB below, 20 KiB above, so a load of 36 KiB."""
    return Problem(
        name="tile 7",
        regions=replace(TINY, high_stop=0x80000 + 0x5000),
        size_bytes=np.full(3, 0x3000),
        alignment=np.full(3, 4),
        interleaved=np.zeros(3, dtype=np.int64),
        live_start=np.zeros(3, dtype=np.int64),
        live_stop=np.array([1, 2, 2]),
        distinct=np.zeros((0, 2), dtype=np.int64),
        conflict=np.zeros((0, 2), dtype=np.int64),
        conflict_words=np.zeros(0, dtype=np.int64),
    )


def test_proof_of_an_address_space_names_tile_and_owners() -> None:
    """Guards of a byte: two of them do not fit below, nor above, and the loads leave that open."""
    problem = replace(wedged_tile(), distinct=np.array([[0, 1]]), live_start=np.array([0, 1, 1]))
    problem = replace(problem, live_stop=np.array([1, 2, 2]))
    assert explain(problem, ["a", "b", "c"]) is None
    solution, report = solve(problem, Limits(deterministic=True))
    assert solution is not None and report.status is SolveStatus.OPTIMAL
    tight = replace(problem, distinct=np.array([[0, 1], [1, 2], [0, 2]]))
    assert explain(tight, ["a", "b", "c"]) is None
    solution, report = solve(tight, Limits(deterministic=True))
    assert solution is None and report.status is SolveStatus.INFEASIBLE
    assert report.bound_source == "canonical search"
    assert report.run.note.startswith(
        "tile 7: standard buffers, in each of their placements: needs "
    )
