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
from ipuopt.models.mapping.candidates.labels import Choice
from ipuopt.models.mapping.edges import matrix_of
from ipuopt.models.mapping.parts import HOST, ORIGINAL, Part
from ipuopt.models.mapping.prices import conversions
from ipuopt.models.mapping.space import Space, build_space
from ipuopt.workload.model import Workload

NewWorkload = Callable[..., Workload]

LOADED, COMPUTED = "x", "h"


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
def test_best_way_is_that_of_the_judge(shared: str, output: bool, two_readers: NewWorkload) -> None:
    """With all the memory of a tile, and with less and less of it."""
    workload = two_readers(shared, output=output)
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
