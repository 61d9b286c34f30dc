"""Thousands of small address spaces against exhaustive search: search, CP-SAT, bounds, heuristics."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ipuopt.limits import Limits
from ipuopt.models.placement.problem import BoolArray, IntArray
from ipuopt.models.placement.space import Problem, check, place
from ipuopt.models.placement.space.bounds import load_bound
from ipuopt.models.placement.space.buffers_file import read_buffers
from ipuopt.models.placement.space.check import height
from ipuopt.models.placement.space.energy import energy_bound
from ipuopt.models.placement.space.exact import Model
from ipuopt.models.placement.space.heuristics import climb, orders, packing
from ipuopt.models.placement.space.instance import Instance, build
from ipuopt.models.placement.space.proof import Windows
from ipuopt.models.placement.space.search import FAILED, FOUND, search
from ipuopt.models.placement.space.shape import start, tables_of
from ipuopt.models.placement.space.skyline import skyline
from ipuopt.models.placement.space.solve import first_bound
from ipuopt.report import SolveStatus
from ipuopt.solvers import cpsat

ELEMENTS = ([[0, 1]], [[0, 2]], [[0, 4]], [[0, 2], [4, 4]], [[0, 3], [6, 2]], [[0, 1], [5, 4]])
HIGHEST = 24
"""Addresses of the exhaustive search; room for all sizes, alignments and the hole."""


def plain_problem(seed: int) -> Problem:
    """Five buffers with a size and a life each."""
    random = np.random.default_rng(seed)
    begin = random.integers(0, 5, 5)
    sizes = random.integers(1, 4, 5)
    return Problem.of(f"plain {seed}", sizes, begin, begin + random.integers(1, 4, 5))


def rich_problem(seed: int) -> Problem:
    """Four buffers with whatever a problem may have, each in a part of the instances."""
    random = np.random.default_rng(seed)
    count = 4
    begin = random.integers(0, 4, count)
    stop = begin + random.integers(0, 4, count)
    again = stop + random.integers(1, 3, count)  # a second span for the first buffer
    owner, span = np.arange(count), np.stack((begin, stop), axis=1)
    if random.random() < 0.4:
        owner = np.append(owner, 0)
        span = np.concatenate((span, [[again[0], again[0] + random.integers(0, 3)]]))
    size = random.integers(0 if random.random() < 0.3 else 1, 4, count)
    low, high = np.zeros(count, dtype=np.int64), np.full(count, 99)
    if random.random() < 0.5:
        low[1] = random.integers(0, 5)
    if random.random() < 0.2:
        high[2] = random.integers(3, 9)
    if random.random() < 0.1:  # all in one range
        low[:], high[:] = 2, random.integers(5, 9)
    alignment = random.choice([1, 1, 2, 4], count) if random.random() < 0.5 else low + 1 - low
    if random.random() < 0.2:  # a fixed address
        low[3] = random.integers(0, 3) * alignment[3]
        high[3] = low[3] + size[3]
    alias = np.full(count, -1)
    if random.random() < 0.3:
        alias[random.permutation(count)[: random.integers(2, 4)]] = 7
    pairs = random.permutation(np.array(list(itertools.combinations(range(count), 2))))
    begin_hole = int(random.integers(0, 7))
    return Problem(
        name=f"rich {seed}",
        size_bytes=size,
        guard_bytes=random.integers(0, 2, count) * int(random.random() < 0.3),
        alignment=alignment,
        span_owner=owner,
        span=span,
        low=low,
        high=high,
        alias=alias,
        apart=pairs[: random.integers(0, 3)] if random.random() < 0.4 else pairs[:0],
        elements=np.array(ELEMENTS[random.integers(len(ELEMENTS))]),
        holes=np.array([[begin_hole, begin_hole + random.integers(0, 3)]])
        if random.random() < 0.3
        else np.zeros((0, 2), dtype=np.int64),
    )


def element_numbers(problem: Problem) -> IntArray:
    """Number of the element of every address that the exhaustive search may see."""
    begins: set[int] = set()
    for (first, length), (stop, _) in itertools.pairwise([*problem.elements.tolist(), (99, 0)]):
        begins.update(range(first, stop, length))
    return np.cumsum([address in begins for address in range(99)])


def partial_problem(seed: int) -> Problem:
    """Four buffers that live in one or two spans, each with a part of their bytes."""
    random = np.random.default_rng(seed)
    made = rich_problem(seed)
    size = random.integers(1, 5, len(made))
    owners, spans, parts = [], [], []
    for owner in range(len(made)):
        steps = np.sort(random.permutation(6)[: random.integers(2, 4)])
        for begin, end in itertools.pairwise(steps.tolist()):
            low, high = np.sort(random.integers(0, size[owner] + 1, 2))
            if random.random() < 0.4:
                low, high = 0, size[owner]
            owners.append(owner)
            spans.append((begin, end))
            parts.append((low, high))
    return replace(
        made,
        name=f"partial {seed}",
        size_bytes=size,
        high=np.full(len(made), 99),
        span_owner=np.array(owners),
        span=np.array(spans),
        part=np.array(parts),
        alias=np.full(len(made), -1),
    )


Reserved = tuple[int, int, int, int]
"""Steps, and bytes that a buffer reserves in them from its address on, both half-open."""


def reserved_by(problem: Problem, buffer: int) -> list[Reserved]:
    """Spans of a buffer in which it reserves something."""
    found = []
    for row in np.flatnonzero(problem.span_owner == buffer).tolist():
        begin, end = problem.span[row].tolist()
        whole = [0, int(problem.size_bytes[buffer])]
        first, last = problem.part[row].tolist() if len(problem.part) else whole
        if begin < end and first < last:
            found.append((begin, end, first, last + int(problem.guard_bytes[buffer])))
    return found


def overlap(one: IntArray, other: IntArray, a: list[Reserved], b: list[Reserved]) -> BoolArray:
    """At which addresses two buffers overlap in a step of both."""
    found = np.zeros(len(one), dtype=bool)
    for (i, j, f, e), (k, m, v, z) in itertools.product(a, b):
        if max(i, k) < min(j, m):
            found |= (one + f < other + z) & (other + v < one + e)
    return found


def least_height(problem: Problem) -> int | None:
    """Least height over all addresses below ``HIGHEST``; None if nothing is valid."""
    count = len(problem)
    lives = [reserved_by(problem, buffer) for buffer in range(count)]
    size = problem.size_bytes.tolist()
    reserved = (problem.size_bytes + problem.guard_bytes).tolist()
    real = [i for i in range(count) if lives[i]]
    plain = problem.name.startswith("plain")
    highest = sum(reserved) - min(reserved) + 1 if plain else HIGHEST
    choices = []
    for i in range(count):
        own = [
            a
            for a in range(highest)
            if a % problem.alignment[i] == 0
            and problem.low[i] <= a <= problem.high[i] - size[i]
            and not any(
                v < z and a + first < z and v < a + last
                for v, z in problem.holes.tolist()
                for _, _, first, last in lives[i]
            )
        ]
        # What reserves nothing is free of all others, unless it is an alias.
        choices.append(own if i in real or problem.alias[i] >= 0 else own[:1])
    address = np.stack(np.meshgrid(*choices, indexing="ij"), axis=-1).reshape(-1, count)
    address = address.astype(np.int64)  # no choice at all makes it one of floats
    keep = np.ones(len(address), dtype=bool)
    for i, j in itertools.combinations(range(count), 2):
        one, other = address[:, i], address[:, j]
        aliases = problem.alias[i] >= 0 and problem.alias[i] == problem.alias[j]
        if aliases:
            keep &= one == other
        if i in real and j in real:
            if not aliases:
                keep &= ~overlap(one, other, lives[i], lives[j])
            if [i, j] in problem.apart.tolist() or [j, i] in problem.apart.tolist():
                number = element_numbers(problem)
                first = number[one + reserved[i] - 1] < number[other]
                keep &= first | (number[other + reserved[j] - 1] < number[one])
    if not keep.any():
        return None
    tops = [address[keep, i] + reserved[i] for i in real]
    return int(np.max(tops, axis=0).min()) if tops else 0


def never() -> bool:
    return False


def assert_windows_agree(instance: Instance, best: int | None) -> None:
    """No window of time refutes the least height."""
    most = HIGHEST // instance.unit
    least = Windows(instance).refute(0, most, 1000, never)
    assert best is None or least * instance.unit <= best


def assert_all_agree(problem: Problem, best: int | None) -> None:
    """Bound, heuristics and searches at, below and above the least height."""
    instance = build(problem)
    bound = load_bound(instance) * instance.unit
    proven, _ = first_bound(instance)
    assert best is None or bound <= proven * instance.unit <= best
    energy = energy_bound(instance, bound // instance.unit, HIGHEST // instance.unit)
    assert best is None or energy * instance.unit <= best
    assert_windows_agree(instance, best)
    tables = tables_of(instance)
    assert tables is not None
    packings = [
        packing(tables, order, way) for order in orders(tables).values() for way in (False, True)
    ]
    packings += [climb(tables, None, 0, 20, 1, never), skyline(instance)]
    for found in packings:
        if found is not None:
            solution = instance.solution(found.start)
            assert check(problem, solution) == ()
            assert best is not None and best <= height(problem, solution)
            assert height(problem, solution) == found.height * instance.unit
    if instance.interlocked:
        return
    order = np.argsort(-instance.size, kind="stable").astype(np.int64)
    table = np.zeros(1 << 10, dtype=np.uint64)
    limits = range(HIGHEST, -1, -1) if best is None else (best + 1, best, best - 1)
    for limit in limits:
        for dynamic in (False, True):
            units = limit // instance.unit
            fits = best is not None and limit >= best
            if limit < bound or instance.leaves_out(units):
                assert not fits  # nothing is searched
                continue
            shape, state = start(tables, units, order, dynamic)
            said = search(shape, state, table, units, 100_000, dynamic)
            assert said == (FOUND if fits else FAILED), (problem.name, limit, best)
            if fits:
                solution = instance.solution(state.rest)
                assert check(problem, solution) == ()
                assert height(problem, solution) <= limit


@pytest.mark.parametrize("part", range(4))
def test_plain_instances(part: int) -> None:
    for seed in range(part * 50, (part + 1) * 50):
        problem = plain_problem(seed)
        assert_all_agree(problem, least_height(problem))


@pytest.mark.parametrize("part", range(4))
def test_rich_instances(part: int) -> None:
    outcomes = set()
    for seed in range(part * 60, (part + 1) * 60):
        problem = rich_problem(seed)
        best = least_height(problem)
        outcomes.add(best is None)
        assert_all_agree(problem, best)
    assert outcomes == {False, True}


def test_empty_buffer_without_an_address() -> None:
    """It reserves nothing, but its window, which is too small for it, holds for it as well."""
    problem = Problem.of("empty", [4, 8], [0, 3], [2, 3])
    problem = replace(problem, high=np.array([99, 7]))
    answer = place(problem, Limits(deterministic=True))
    assert answer.report.status is SolveStatus.INFEASIBLE
    assert answer.conflict is not None and answer.conflict.buffers.tolist() == [1]
    assert place(replace(problem, high=np.array([99, 8])), Limits()).solution is not None


def test_buffers_that_live_in_part() -> None:
    outcomes = set()
    for seed in range(120):
        problem = partial_problem(seed)
        best = least_height(problem)
        outcomes.add((best is None, build(problem).interlocked))
        assert_all_agree(problem, best)
    assert {(False, True), (False, False)} <= outcomes


def test_alias_that_is_apart() -> None:
    """Its own byte has an element to itself, the three bytes of its alias have none."""
    problem = rich_problem(11_936)
    assert len(problem.apart) and len(np.unique(problem.size_bytes[problem.alias == 7])) == 2
    best = least_height(problem)
    assert best is not None
    assert_all_agree(problem, best)


@pytest.mark.parametrize("seed", range(12))
def test_portfolio_on_parts(seed: int) -> None:
    """Where parts may fit into each other, CP-SAT alone finds and proves the least height."""
    problem = partial_problem(seed + 4000)
    best = least_height(problem)
    answer = place(problem, Limits(deterministic=True))
    assert (answer.solution is None) == (best is None)
    if answer.solution is not None:
        assert check(problem, answer.solution) == ()
        assert answer.report.objective == best == answer.report.bound


def test_parts_that_fit_into_each_other() -> None:
    """The middle of the first never lives: there the second one is, between both its parts."""
    problem = replace(
        Problem.of("ring", [3, 1], [0, 0], [2, 2]),
        span_owner=np.array([0, 0, 1]),
        span=np.array([[0, 1], [1, 2], [0, 2]]),
        part=np.array([[0, 1], [2, 3], [0, 1]]),
    )
    assert build(problem).interlocked
    answer = place(problem, Limits(deterministic=True))
    assert answer.report.objective == answer.report.bound == 3 == least_height(problem)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(30))
def test_thousands_of_instances(part: int) -> None:
    for seed in range(10_000 + part * 100, 10_100 + part * 100):
        for problem in (plain_problem(seed), rich_problem(seed), partial_problem(seed)):
            assert_all_agree(problem, least_height(problem))


def test_example_of_minimalloc(shared: Path) -> None:
    problem = read_buffers(shared / "bench" / "minimalloc" / "input.12.csv").problem
    best = least_height(problem)
    assert best == 12
    assert_all_agree(problem, best)
    answer = place(problem, Limits(deterministic=True))
    assert answer.report.objective == best == answer.report.bound


@pytest.mark.parametrize("seed", range(30))
def test_cpsat_alone(seed: int) -> None:
    """The model without hint and without what the searches know."""
    problem = rich_problem(seed)
    best = least_height(problem)
    model = Model(build(problem), 0, HIGHEST)
    if not model.is_possible:
        assert best is None
        return
    result = cpsat.run(model.cp, Limits(deterministic=True), name="test")
    if best is None:
        assert result.status is SolveStatus.INFEASIBLE
        return
    assert result.values is not None
    solution = model.instance.solution(model.read(result.values))
    assert check(problem, solution) == ()
    assert height(problem, solution) == best == (result.bound or 0) * model.instance.unit


@pytest.mark.parametrize("seed", range(40))
def test_portfolio(seed: int) -> None:
    problem = rich_problem(seed + 5000)
    best = least_height(problem)
    answer = place(problem, Limits(deterministic=True))
    if best is None:
        assert answer.report.status is SolveStatus.INFEASIBLE and answer.conflict is not None
        return
    assert answer.solution is not None and check(problem, answer.solution) == ()
    assert answer.report.status is SolveStatus.OPTIMAL
    assert answer.report.objective == best == answer.report.bound
