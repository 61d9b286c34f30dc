"""Prices and memory of the space against what the lowering makes of its plans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from ipuopt.codegen.lower import lower
from ipuopt.limits import Limits
from ipuopt.models.mapping.candidates import variants
from ipuopt.models.mapping.endpoint import latency
from ipuopt.models.mapping.memory import tile_capacity
from ipuopt.models.mapping.problem import Problem, Solution
from ipuopt.models.mapping.space import Space, build_space
from ipuopt.plan import MatMulStep, Plan
from ipuopt.program import Program, StepKind
from ipuopt.workload.model import Workload

Draw = Callable[[Problem, int, int], Iterator[tuple[int, ...]]]


def built_cycles(plan: Plan, program: Program) -> Counter[int]:
    """Cycles of every plan step in the lowered program, phases at their endpoint bound."""
    cycles: Counter[int] = Counter()
    events, transfers = latency(plan.tiles), program.transfers
    local = program.step_cycles()
    receivers = np.diff(transfers.destination_start)
    for index, step in enumerate(program.steps):
        if step.kind is not StepKind.PHASE:
            cycles[step.plan_step] += int(local[index])
            continue
        sends, receives = np.zeros((2, plan.tiles), dtype=np.int64)
        chosen = transfers.step == index
        source = program.shards.tile[transfers.source[chosen]]
        np.add.at(sends, source, transfers.words[chosen])
        at = np.repeat(chosen, receivers)
        words = np.repeat(transfers.words, receivers)[at]
        np.add.at(receives, program.shards.tile[transfers.destination[at]], words)
        sent = (sends + events.depart)[sends > 0].max(initial=0)
        received = (receives + events.arrive)[receives > 0].max(initial=0)
        cycles[step.plan_step] += 600 + int(max(sent, received))
    return cycles


def test_no_step_is_priced_above_the_lowered_program(space: Space, draw: Draw) -> None:
    """The mapping objective bounds the program from below, step by step."""
    equal = total = 0
    for labels in draw(space.problem, 25, 2):
        plan = space.plan(Solution(labels))
        cycles = built_cycles(plan, lower(plan))
        for index, step in enumerate(plan.steps):
            assert sum(step.terms.values()) <= cycles[index], step
            equal += sum(step.terms.values()) == cycles[index]
            total += 1
    assert equal > total // 2  # and mostly it is exact


def live_bytes(program: Program, tiles: int, interleaved: int) -> list[int]:
    """Most live bytes of one class on one tile, a program step each."""
    shards = program.shards
    chosen = shards.interleaved == interleaved
    change = np.zeros((tiles, len(program.steps) + 1), dtype=np.int64)
    where, size = shards.tile[chosen], shards.size_bytes[chosen]
    np.add.at(change, (where, shards.live_start[chosen]), size)
    np.add.at(change, (where, shards.live_stop[chosen]), -size)
    return [int(b) for b in np.cumsum(change, axis=1).max(axis=0)[:-1]]


def test_memory_tables_cover_the_lowered_program(space: Space, draw: Draw) -> None:
    """At every step the model counts at least what the fullest tile really holds."""
    problem = space.problem
    for labels in draw(problem, 15, 3):
        plan = space.plan(Solution(labels))
        program = lower(plan)
        chosen = list(zip(problem.nodes, labels, strict=True))
        standard = np.sum([node.standard[label] for node, label in chosen], axis=0)
        interleaved = np.sum([node.interleaved[label] for node, label in chosen], axis=0)
        for edge in problem.edges:
            pair = edge.tail_group[labels[edge.tail]], edge.head_group[labels[edge.head]]
            standard[edge.step] += edge.staging[pair]
        for interleaves, table in ((0, standard), (1, interleaved)):
            for step, size in zip(
                program.steps, live_bytes(program, plan.tiles, interleaves), strict=True
            ):
                name = plan.steps[step.plan_step].name
                at = problem.steps.index(name)
                is_second = isinstance(plan.steps[step.plan_step], MatMulStep) and (
                    not step.name.startswith(("matmul", "gather"))
                )
                # A result that a product reads as it lies has 16 bytes of tail from the start.
                assert size <= table[at + is_second] + 16, (step.name, name, interleaves)


def large_bytes(program: Program, tiles: int, low: int) -> list[int]:
    """Most live bytes in standard buffers larger than ``low`` on one tile, a program step each."""
    shards = program.shards
    big = (shards.interleaved == 0) & (shards.size_bytes > low)
    bytes_live = np.zeros((tiles, len(program.steps)), dtype=np.int64)
    for shard in np.flatnonzero(big):
        life = slice(shards.live_start[shard], shards.live_stop[shard])
        bytes_live[shards.tile[shard], life] += shards.size_bytes[shard]
    return [int(most) for most in bytes_live.max(axis=0)]


@pytest.mark.parametrize("low", [0, 500, 2000])
def test_large_buffers_are_those_of_the_lowered_program(
    low: int, draw: Draw, new_mlp: Callable[..., Workload], monkeypatch: pytest.MonkeyPatch
) -> None:
    """(M5) counts no byte that is not there: what it refuses has no placement."""
    capacity = replace(tile_capacity(), low=low)
    monkeypatch.setattr("ipuopt.models.mapping.space.tile_capacity", lambda: capacity)
    space = build_space(new_mlp(16, 64, 96, 128, 64), Limits())
    problem = space.problem
    exact = total = 0
    for labels in draw(problem, 15, 4):
        plan = space.plan(Solution(labels))
        large = np.sum([n.large[x] for n, x in zip(problem.nodes, labels, strict=True)], axis=0)
        for edge in problem.edges:
            pair = edge.tail_group[labels[edge.tail]], edge.head_group[labels[edge.head]]
            large[edge.step] += edge.large[pair]
        program = lower(plan)
        built = large_bytes(program, plan.tiles, low)
        most = np.zeros(len(problem.steps), dtype=np.int64)
        for step, size in zip(program.steps, built, strict=True):
            planned = plan.steps[step.plan_step]
            is_second = isinstance(planned, MatMulStep) and (
                not step.name.startswith(("matmul", "gather"))
            )
            at = problem.steps.index(planned.name) + is_second
            most[at] = max(most[at], size)
        happens = most > 0
        assert np.all(large[happens] <= most[happens]), (large, most)
        exact += int((large[happens] == most[happens]).sum())
        total += int(happens.sum())
    assert exact > total // 2


@pytest.mark.parametrize(("rows", "tiles"), [(64, 16), (30, 16), (128, 64)])
def test_streamed_reductions_are_built_at_their_price(
    rows: int, tiles: int, new_workload: Callable[..., Workload]
) -> None:
    """The price counts receivers alone: in every phase each tile sends as much as it receives."""
    shapes = {"x": ("i", (rows, 1024)), "w": ("p", (1024, 64)), "y": ("r", (rows, 64))}
    workload = new_workload(tiles, shapes, {"y": ("MatMul", "x", "w")}, ("y",))
    space = build_space(workload, Limits())
    (part,), (node,) = space.parts, space.problem.nodes
    assert part.labels is not None
    grid = part.labels.parameters
    streamed = np.flatnonzero(grid[:, variants.STREAMED] == 1)
    even = streamed[grid[streamed, variants.ROW_PARTS] % grid[streamed, variants.INNER] == 0]
    assert len(even)
    for label in even[np.argsort(node.cost[even])][:8].tolist():
        plan = space.plan(Solution((label,)))
        assert plan.cost <= built_cycles(plan, lower(plan)).total() <= 1.001 * plan.cost
