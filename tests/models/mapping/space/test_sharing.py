"""Values with several readers: every way to read and to keep them, against a judge of its own.

The judge knows candidates and prices of conversions, and follows the buffers of a program step by
step; it knows nothing of labels for ways, of groups, or of the tables of pairs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from ipuopt.layout import Layout
from ipuopt.limits import Limits
from ipuopt.models import mapping
from ipuopt.models.mapping import Solution, check
from ipuopt.models.mapping.candidates.labels import Choice
from ipuopt.models.mapping.edges import matrix_of
from ipuopt.models.mapping.parts import HOST, MADE, ORIGINAL, STAYS, TAKEN, Part
from ipuopt.models.mapping.prices import conversions
from ipuopt.models.mapping.space import Space, build_space
from ipuopt.plan import ConversionStep, Origin
from ipuopt.workload.model import Workload

NewWorkload = Callable[..., Workload]

LOADED, COMPUTED = "x", "h"


def two_readers(new_workload: NewWorkload, shared: str, *, output: bool = False) -> Workload:
    """Two products read an input, or the result of another product."""
    tensors = {
        "x": ("i", (32, 48)),
        "w0": ("p", (48, 48)),
        "w1": ("p", (48, 64)),
        "w2": ("p", (48, 64)),
        "h": ("r", (32, 48)),
        "y": ("r", (32, 64)),
        "z": ("r", (32, 64)),
    }
    operations = {"h": ("MatMul", "x", "w0")} if shared == COMPUTED else {}
    operations |= {"y": ("MatMul", shared, "w1"), "z": ("MatMul", shared, "w2")}
    if shared == LOADED:
        tensors = {name: facts for name, facts in tensors.items() if name not in ("w0", "h")}
    outputs = ("h", "y", "z") if output else ("y", "z")
    return new_workload(8, tensors, operations, outputs)


def few(space: Space, count: int, seed: int) -> Space:
    """Some candidates of every operation, with all their ways."""
    draw, keep = np.random.default_rng(seed), []
    for part in space.parts:
        base = np.arange(len(part.cost)) if part.base is None else part.base
        some = draw.choice(np.unique(base), min(count, len(np.unique(base))), replace=False)
        keep.append(np.flatnonzero(np.isin(base, some)))
    return space._select(keep)


def with_room(space: Space, total: int) -> Space:
    capacity = replace(space.problem.capacity, total=total, granule=64)
    return replace(space, problem=replace(space.problem, capacity=capacity))


@dataclass(frozen=True)
class Buffer:
    """Bytes of a buffer and the steps in which it is held."""

    standard: int
    interleaved: int
    steps: range


def candidates(part: Part) -> list[int]:
    """One label of every candidate; ways apart."""
    if part.base is None:
        return list(range(len(part.cost)))
    return [int(np.flatnonzero(part.base == base)[0]) for base in np.unique(part.base)]


def judged(space: Space, shared: str) -> int | None:
    """Least cycles of any choice of candidates and sources whose buffers fit."""
    capacity, steps = space.problem.capacity, len(space.problem.steps)
    readers = [part for part in space.parts if part.visit and part.key[0] in ("y", "z")]
    maker = next(part for part in space.parts if part.key == (shared, False))
    best: int | None = None
    for made, *read in itertools.product(candidates(maker), *map(candidates, readers)):
        cost, fixed = int(maker.cost[made]), list[Buffer]()
        if maker.labels is not None and maker.visit is not None:
            fixed += _own(maker, made, steps)
        for part, label in zip(readers, read, strict=True):
            cost += int(part.cost[label])
            fixed += _own(part, label, steps)
        sources = [ORIGINAL, 0] + ([HOST] if shared == LOADED else [])
        for source in sources:
            found = _follow(space, maker, made, readers, read, source)
            if found is None or (best is not None and cost + found[0] >= best):
                continue
            used = np.zeros((2, steps), dtype=np.int64)
            for buffer in (*fixed, *found[1]):
                at = slice(buffer.steps.start, buffer.steps.stop)
                used[0, at] += buffer.standard
                used[1, at] += buffer.interleaved
            boundary = -(-int(used[1].max()) // capacity.granule) * capacity.granule
            if used[1].max() <= capacity.interleaved and used[0].max() + boundary <= capacity.total:
                best = cost + found[0]
    return best


def _own(part: Part, label: int, steps: int) -> list[Buffer]:
    """Weights, temporaries and the result of a product, which no other reads here."""
    assert part.visit is not None and part.labels is not None
    labels, run = part.labels, part.visit.run
    found = []
    for operand, choice in zip(part.visit.operands, labels.operands, strict=True):
        if operand.step < 0:
            size = int(choice.standard[label]), int(choice.interleaved[label])
            found.append(Buffer(*size, range(run + 1)))
    buffers = (int(labels.run.standard[label]), int(labels.run.interleaved[label]))
    found.append(Buffer(*buffers, range(run, run + 1)))
    if labels.finish is not None:
        buffers = (int(labels.finish.standard[label]), int(labels.finish.interleaved[label]))
        found.append(Buffer(*buffers, range(run + 1, run + 2)))
    if part.key[0] in ("y", "z"):
        size = int(part.value.standard[label]), int(part.value.interleaved[label])
        found.append(Buffer(*size, range(run + int(labels.late[label]), steps)))
    return found


def _follow(
    space: Space, maker: Part, made: int, readers: list[Part], read: list[int], source: int
) -> tuple[int, list[Buffer]] | None:
    """Conversions and buffers of the shared value; ``source`` is what the second reader reads."""
    steps = len(space.problem.steps)
    held = [_Life.of(maker.value, made, 0)]
    if maker.visit is not None and maker.labels is not None:
        held[0].born = maker.visit.run + int(maker.labels.late[made])
    if maker.key[0] in space.workload.outputs:
        held[0].last = steps - 1
    cost, moved, first = 0, list[tuple[int, int, int, int, int]](), 0
    for number, (part, label) in enumerate(zip(readers, read, strict=True)):
        assert part.visit is not None and part.labels is not None and part.request is not None
        operand, choice = part.visit.operands[0], part.labels.operands[0]
        at = 0 if number == 0 or source == ORIGINAL else first
        if number and source == HOST:
            held.append(_Life.of(choice, label, 0))
            at = len(held) - 1
        layout = choice.layouts[int(choice.index[label])]
        if held[at].layout != layout:
            table = conversions(
                matrix_of(part.request, operand),
                [held[at].layout],
                [layout],
                space.workload.target.tiles,
                choice.sum_axis,
            )
            if not table.allowed[0, 0]:
                return None
            cost += int(table.cost[0, 0])
            held[at].last = max(held[at].last, operand.step)
            held.append(_Life.of(choice, label, operand.step))
            staging = int(table.unpacked[0, 0]), int(table.packed[0, 0])
            moved.append((operand.step, at, len(held) - 1, *staging))
            at = len(held) - 1
        held[at].last = max(held[at].last, part.visit.run)
        first = at if number == 0 else first
    buffers = [Buffer(0, life.interleaved, range(life.born, life.last + 1)) for life in held]
    converted = {target: step for step, _, target, *_ in moved}
    for number, life in enumerate(held):
        born = converted.get(number, life.born - 1) + 1
        buffers.append(Buffer(life.standard, 0, range(born, life.last + 1)))
    for step, at, target, unpacked, packed in moved:
        size, result = held[at].standard, held[target].standard
        kept = size if held[at].last > step else 0
        filled = packed or result
        moments = [size + unpacked, (unpacked + kept if unpacked else size) + filled]
        moments += [packed + result + kept] if packed else []
        buffers.append(Buffer(max(moments) - size, 0, range(step, step + 1)))
    return cost, buffers


@dataclass
class _Life:
    """A buffer of the shared value: layout, bytes, first and last step."""

    layout: Layout
    standard: int
    interleaved: int
    born: int
    last: int = -1

    @classmethod
    def of(cls, choice: Choice, label: int, born: int) -> _Life:
        """The buffer of an operand or a result under a label."""
        size = int(choice.standard[label]), int(choice.interleaved[label])
        return cls(choice.layouts[int(choice.index[label])], *size, born)


CASES = [(LOADED, False), (COMPUTED, False), (COMPUTED, True)]


@pytest.mark.parametrize(("shared", "output"), CASES)
def test_best_way_is_that_of_the_judge(
    shared: str, output: bool, new_workload: NewWorkload
) -> None:
    """With all the memory of a tile, and with less and less of it."""
    workload = two_readers(new_workload, shared, output=output)
    whole = build_space(workload, Limits())
    found = 0
    for seed in range(3):
        space = few(whole, 3, seed)
        for total in range(12_000, 42_000, 6_000):
            roomy = with_room(space, total)
            best = judged(roomy, shared)
            report = mapping.solve(roomy.problem, Limits())[1]
            assert report.objective == best
            assert best is None or report.bound == best
            found += best is not None
    assert found > 4


def chosen(space: Space, solution: Solution) -> dict[str, tuple[int, int, int]]:
    """Source, mode and last reader of the shared operand of every reader."""
    found = {}
    for part, label in zip(space.parts, solution.labels, strict=True):
        for reading in part.readings:
            if reading is not None:
                way = reading.source[label], reading.mode[label], reading.until[label]
                found[part.key[0]] = (int(way[0]), int(way[1]), int(way[2]))
    return found


def test_a_copy_is_made_once_for_two_readers(new_workload: NewWorkload) -> None:
    """One conversion less than without; in the plan both products read its result."""
    tensors = {
        "x": ("i", (128, 256)),
        **{name: ("p", shape) for name, shape in (("w0", (256, 512)), ("w1", (512, 256)))},
        "w2": ("p", (512, 256)),
        **{name: ("r", (128, n)) for name, n in (("h", 512), ("y", 256), ("z", 256))},
    }
    operations = {
        "h": ("MatMul", "x", "w0"),
        "y": ("MatMul", "h", "w1"),
        "z": ("MatMul", "h", "w2"),
    }
    space = build_space(new_workload(64, tensors, operations, ("y", "z")), Limits())
    solution, report = mapping.solve(space.problem, Limits())
    assert solution is not None and report.objective == report.bound == 33_950
    ways = chosen(space, solution)
    assert ways["y"] == (ORIGINAL, MADE, 1)
    assert ways["z"] in [(0, MADE, 1), (0, TAKEN, 1)]
    plan = space.plan(solution)
    copies = [step for step in plan.steps if isinstance(step, ConversionStep)]
    assert len(copies) == 1
    assert sum(getattr(step, "left", -1) == copies[0].result for step in plan.steps) == 2


def test_an_input_is_loaded_in_two_layouts(new_workload: NewWorkload) -> None:
    """The products want different layouts; what the host loads twice needs no conversion."""
    tensors = {
        "x": ("i", (64, 256)),
        "w1": ("p", (256, 1024)),
        "w2": ("p", (256, 16)),
        "y": ("r", (64, 1024)),
        "z": ("r", (64, 16)),
    }
    operations = {"y": ("MatMul", "x", "w1"), "z": ("MatMul", "x", "w2")}
    space = build_space(new_workload(32, tensors, operations, ("y", "z")), Limits())
    solution, report = mapping.solve(space.problem, Limits())
    assert solution is not None and report.objective == report.bound
    plan = space.plan(solution)
    assert not [step for step in plan.steps if isinstance(step, ConversionStep)]
    layouts = {value.layout for value in plan.values if value.tensor == "x"}
    assert [value.origin for value in plan.values if value.tensor == "x"] == [Origin.INPUT] * 2
    assert len(layouts) == 2


def with_ways(space: Space, ways: dict[str, tuple[int, int, int]], until: int) -> list[int]:
    """Labels of some candidates, equal layouts of both readers, with the given ways."""
    labels = []
    for part in space.parts:
        mask = np.ones(len(part.cost), dtype=np.bool_)
        if part.until is not None:
            mask &= part.until == until
        for reading in part.readings:
            if reading is not None:
                source, mode, last = ways[part.key[0]]
                mask &= (reading.source == source) & (reading.mode == mode)
                mask &= reading.until == last
        labels.append(int(np.flatnonzero(mask)[0]))
    return labels


@pytest.mark.parametrize(
    ("ways", "until"),
    [
        # The second reader reads the value, or a copy, that is gone or was never kept.
        ({"y": (ORIGINAL, MADE, 0), "z": (ORIGINAL, MADE, 1)}, 0),
        ({"y": (ORIGINAL, MADE, 0), "z": (0, MADE, 1)}, 0),
        # The value, or the copy, is kept for a reader that reads something else.
        ({"y": (ORIGINAL, MADE, 1), "z": (0, MADE, 1)}, 1),
        ({"y": (ORIGINAL, MADE, 1), "z": (ORIGINAL, MADE, 1)}, 1),
        # The first reader counts on others to keep the value, which do not.
        ({"y": (ORIGINAL, STAYS, 0), "z": (0, MADE, 1)}, 0),
    ],
)
def test_ways_that_contradict_each_other_are_refused(
    ways: dict[str, tuple[int, int, int]], until: int, new_workload: NewWorkload
) -> None:
    space = build_space(two_readers(new_workload, COMPUTED), Limits())
    labels = with_ways(space, ways, until)
    found = {label for label, _ in check(space.problem, Solution(tuple(labels)))}
    assert found == {"M2"}
