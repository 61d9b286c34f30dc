"""Cycle samples of a run: steps in their order, and the cycles of the slowest tile."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ipuopt.codegen.package import Binding, Package, ProfilePlan, Slices, Step
from ipuopt.errors import CheckError, InputError
from ipuopt.pipeline.profile import SampledStep, profile_of


def plan(tile: int, *names: str) -> ProfilePlan:
    """Steps of a tile: names of kernels, ``-`` for a phase, ``.`` for one without the tile."""
    steps, phase = [], 0
    for place, name in enumerate(names):
        if name in "-.":
            kind = "exchange" if name == "-" else "synchronization"
            steps.append(Step(kind, "operation.0", kind, place, 0x80000000 + phase))
            phase += 1
        else:
            steps.append(Step("compute", f"operation.{name[-1]}", name, place, place))
    return ProfilePlan(tile, tuple(steps))


def output(plans: Sequence[ProfilePlan], rows: Sequence[Sequence[int]]) -> tuple[Package, bytes]:
    """A package with these plans; every tile's first sample, its samples, its last one."""

    def binding(name: str, sizes: Sequence[int]) -> Binding:
        size = np.array(sizes, np.uint64)
        return Binding(name, "u32", (1,), Slices(0 * size, 0 * size, np.cumsum(size) - size, size))

    one = [4] * len(plans)
    outputs = (
        binding("y", [8]),
        binding("profile.start-cycle", one),
        binding("profile.cycles", [4 * len(row) for row in rows]),
        binding("profile.end-cycle", one),
    )
    numbers = [row[0] - 1 for row in rows] + [x for row in rows for x in row]
    numbers += [row[-1] + 1 for row in rows]
    content = bytes(8) + np.array(numbers, np.int64).astype("<u4").tobytes()
    return Package(producer="", tiles=(), outputs=outputs, profile=tuple(plans)), content


def test_elapsed_adds_up_to_the_slowest_tile() -> None:
    """Counters of tiles differ and wrap around; a tile may leave steps out."""
    top = 1 << 32
    package, content = output(
        [plan(0, "k0", "-", "m1"), plan(1, "k0", "l0", ".", "m1"), plan(2, "k0", "-")],
        [[10, 40, 100, 150], [top - 10, top + 10, top + 60, top + 95, top + 110], [7, 17, 101]],
    )
    profile = profile_of(package, content)
    assert profile.steps == (
        SampledStep("operation.0", "k0", 3, 30, 31),
        SampledStep("operation.0", "l0", 1, 50, 40),
        SampledStep("operation.0", "exchange", 3, 84, 35),
        SampledStep("operation.1", "m1", 2, 50, 35),
    )
    assert profile.total == 142  # tile 0: from 9 to 151
    assert sum(step.elapsed for step in profile.steps) == 141


def test_no_cycles_and_no_samples() -> None:
    package, _ = output([plan(0, "k0")], [[5, 5]])
    with pytest.raises(CheckError, match="found the same cycle before and behind the program"):
        profile_of(package, bytes(8) + np.full(4, 5, "<u4").tobytes())
    bare = Package(producer="", tiles=())
    with pytest.raises(InputError, match="found no cycle samples, expected some: ipuopt package"):
        profile_of(bare, b"")
