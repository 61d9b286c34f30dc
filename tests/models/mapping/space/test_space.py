"""The space of small workloads: totals, steps, what is shared, what is refused."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from ipuopt.errors import InfeasibleError, InputError
from ipuopt.limits import Limits
from ipuopt.models.mapping.check_plan import check_plan
from ipuopt.models.mapping.problem import FORBIDDEN, Problem, Solution
from ipuopt.models.mapping.space import Space, build_space
from ipuopt.plan import ConversionStep, Origin
from ipuopt.workload.model import Workload

Draw = Callable[[Problem, int, int], Iterator[tuple[int, ...]]]
CostOf = Callable[[Problem, tuple[int, ...]], int]
NewMlp = Callable[[int, int, int, int, int], Workload]


def test_a_plan_costs_what_the_problem_says_and_computes_its_workload(
    space: Space, draw: Draw, cost_of: CostOf
) -> None:
    for labels in draw(space.problem, 25, 1):
        plan = space.plan(Solution(labels))
        assert plan.cost == cost_of(space.problem, labels)
        assert check_plan(space.workload, plan) == ()


def test_steps_follow_the_operations(space: Space) -> None:
    steps = space.problem.steps
    assert len(set(steps)) == len(steps)
    for edge in space.problem.edges:
        reader = space.problem.nodes[edge.head].name
        assert steps[edge.step].endswith(f"for {reader}")
        assert steps.index(reader) > edge.step


def test_equal_layouts_need_no_conversion(space: Space, draw: Draw) -> None:
    found = 0
    for labels in draw(space.problem, 25, 4):
        plan = space.plan(Solution(labels))
        for step in plan.steps:
            if isinstance(step, ConversionStep):
                assert plan.values[step.value].layout != plan.values[step.result].layout
                found += 1
    assert found


def test_loaded_values_are_loaded_once_or_once_more_for_a_later_reader(
    branches_space: Space, draw: Draw
) -> None:
    space = branches_space
    names = [node.name for node in space.problem.nodes]
    assert names == ["x", "w", "p", "q", "g", "s", "d"]
    for labels in draw(space.problem, 5, 5):
        plan = space.plan(Solution(labels))
        loaded = [v.tensor for v in plan.values if v.origin is not Origin.COMPUTED]
        assert set(loaded) == {"w", "x", "z"}
        assert loaded.count("z") == 1 and max(loaded.count("w"), loaded.count("x")) <= 2
        kept = {v.tensor for v in plan.values if v.is_output}
        assert kept == {"q", "s", "d"}


def test_split_leaves_out_one_solution(space: Space, draw: Draw, cost_of: CostOf) -> None:
    """The parts hold all other solutions, each once: their numbers add up, plans stay plans."""
    labels = next(draw(space.problem, 1, 6))
    parts = space.split(Solution(labels))
    sizes = [math.prod(len(node.cost) for node in part.problem.nodes) for part in parts]
    assert sum(sizes) == math.prod(len(node.cost) for node in space.problem.nodes) - 1
    left_out = space.plan(Solution(labels))
    for part in parts:
        problem = part.problem
        others = (tuple(0 for _ in problem.nodes), tuple(len(n.cost) - 1 for n in problem.nodes))
        for other in others:
            if cost_of(problem, other) == FORBIDDEN:
                continue
            plan = part.plan(Solution(other))
            assert plan != left_out
            assert plan.cost == cost_of(problem, other)
            assert check_plan(space.workload, plan) == ()


def test_two_builds_are_equal(new_mlp: NewMlp) -> None:
    first, second = (build_space(new_mlp(16, 30, 40, 100, 24), Limits()) for _ in range(2))
    for a, b in zip(first.problem.nodes, second.problem.nodes, strict=True):
        assert np.array_equal(a.cost, b.cost)
        assert np.array_equal(a.standard, b.standard)
    for left, right in zip(first.problem.edges, second.problem.edges, strict=True):
        assert np.array_equal(left.cost, right.cost)


def test_a_short_deadline_makes_the_space_smaller(new_mlp: NewMlp) -> None:
    """But not in deterministic runs, which may not depend on the clock."""
    workload = new_mlp(64, 128, 256, 512, 256)
    soon = Limits(deadline=time.monotonic() + 5.0)
    hurried, full = build_space(workload, soon), build_space(workload, Limits())
    assert max(len(node.cost) for node in hurried.problem.nodes) <= 250
    assert max(len(node.cost) for node in full.problem.nodes) > 250
    steady = build_space(workload, replace(soon, deterministic=True))
    for a, b in zip(steady.problem.nodes, full.problem.nodes, strict=True):
        assert np.array_equal(a.cost, b.cost)


def test_a_short_budget_does_so_in_repeatable_mode(new_mlp: NewMlp) -> None:
    """The limit that was asked for decides, not what the clock has left of it."""
    workload = new_mlp(96, 288, 1076, 288, 64)
    soon = time.monotonic() + 5.0
    sizes = [
        sum(len(node.cost) for node in build_space(workload, limits).problem.nodes)
        for limits in (
            Limits(deterministic=True, budget_s=60.0, deadline=soon),
            Limits(deterministic=True, budget_s=10.0, deadline=soon + 60.0),
            Limits(deadline=soon),
        )
    ]
    assert sizes[1] == sizes[2] < sizes[0]


def test_a_computed_weight_has_no_candidate(new_workload: Callable[..., Workload]) -> None:
    workload = new_workload(
        8,
        {
            "x": ("i", (8, 16)),
            "v": ("i", (16, 16)),
            "u": ("r", (16, 16)),
            "y": ("r", (8, 16)),
        },
        {"u": ("Gelu", "v"), "y": ("MatMul", "x", "u")},
        ("y",),
    )
    with pytest.raises(InputError, match=r"operations\.y\.inputs\[1\]: found the result 'u'"):
        build_space(workload, Limits())


def test_one_tensor_in_both_roles_is_loaded_twice(
    new_workload: Callable[..., Workload], draw: Draw
) -> None:
    workload = new_workload(
        4, {"x": ("i", (32, 32)), "y": ("r", (32, 32))}, {"y": ("MatMul", "x", "x")}, ("y",)
    )
    space = build_space(workload, Limits())
    for labels in draw(space.problem, 5, 8):
        plan = space.plan(Solution(labels))
        assert check_plan(workload, plan) == ()
        assert len({value.name for value in plan.values}) == 3


def test_too_few_tiles_are_explained(new_mlp: NewMlp) -> None:
    """SigLIP on 8 tiles: the weights alone are more than the tiles hold."""
    with pytest.raises(InfeasibleError) as caught:
        build_space(new_mlp(8, 729, 1152, 4304, 1152), Limits())
    explanation = caught.value.explanation
    assert explanation.demand > explanation.capacity
    assert {"w1", "w2"} <= {name for name, _ in explanation.owners}
    assert "operation h" in explanation.where
    assert len(explanation.owners) <= 5


def fits(problem: Problem, labels: tuple[int, ...]) -> bool:
    """Memory of a solution, written out."""
    chosen = list(zip(problem.nodes, labels, strict=True))
    standard = np.sum([node.standard[label] for node, label in chosen], axis=0)
    interleaved = np.sum([node.interleaved[label] for node, label in chosen], axis=0)
    large = np.sum([node.large[label] for node, label in chosen], axis=0)
    for edge in problem.edges:
        pair = edge.tail_group[labels[edge.tail]], edge.head_group[labels[edge.head]]
        standard[edge.step] += edge.staging[pair]
        large[edge.step] += edge.large[pair]
    capacity = problem.capacity
    rounded = -(-int(interleaved.max()) // capacity.granule) * capacity.granule
    return bool(
        interleaved.max() <= capacity.interleaved
        and standard.max() + rounded <= capacity.total
        and large.max() + rounded <= capacity.high
    )


@pytest.mark.slow
def test_siglip_has_a_plan_below_165_000_cycles_that_fits(new_mlp: NewMlp) -> None:
    """Best chains through every Gelu label, memory checked: 163 286 when this was written."""
    space = build_space(new_mlp(1472, 729, 1152, 4304, 1152), Limits())
    h, a, y = space.problem.nodes
    into_a, into_y = space.problem.edges
    high = 10**9
    before, after = (np.where(e.cost < 0, high, e.cost) for e in (into_a, into_y))
    best = high
    for label in range(len(a.cost)):
        heads = h.cost + before[into_a.tail_group, into_a.head_group[label]]
        tails = y.cost + after[into_y.tail_group[label], into_y.head_group]
        for first in np.argsort(heads)[:60]:
            for last in np.argsort(tails)[:60]:
                total = int(heads[first] + a.cost[label] + tails[last])
                if total >= best:
                    break
                if fits(space.problem, (int(first), label, int(last))):
                    best = total
    assert best < 165_000
