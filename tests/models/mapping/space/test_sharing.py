"""Values with several readers: copies, loads, and ways that contradict each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ipuopt.limits import Limits
from ipuopt.models import mapping
from ipuopt.models.mapping import Solution, check
from ipuopt.models.mapping.parts import MADE, ORIGINAL, STAYS, TAKEN
from ipuopt.models.mapping.space import Space, build_space, lifted
from ipuopt.plan import ConversionStep, Origin
from ipuopt.workload.model import Workload

NewWorkload = Callable[..., Workload]

LOADED, COMPUTED = "x", "h"


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
    ways: dict[str, tuple[int, int, int]], until: int, two_readers: NewWorkload
) -> None:
    space = build_space(two_readers(COMPUTED), Limits())
    labels = with_ways(space, ways, until)
    found = {label for label, _ in check(space.problem, Solution(tuple(labels)))}
    assert found == {"M2"}


@pytest.mark.parametrize("shared", ["x", "h"])
def test_plans_without_shared_copies_come_first(shared: str, two_readers: NewWorkload) -> None:
    """They are plans of the whole space at the same price, which has no better bound."""
    space = build_space(two_readers(shared), Limits())
    plain, keep = space.plain()
    assert max(len(rows) for rows in keep) < max(len(node.cost) for node in space.problem.nodes)
    solution, report = mapping.solve(plain.problem, Limits())
    assert solution is not None and report.objective is not None
    whole = lifted(solution, keep)
    assert check(space.problem, whole) == ()
    assert mapping.evaluate(space.problem, whole) == report.objective
    best = mapping.solve(space.problem, Limits(), beam=whole)[1]
    assert best.objective is not None and best.objective <= report.objective
    beam = space.beam(Limits())
    assert beam is not None and mapping.evaluate(space.problem, beam) >= report.objective
