"""Cycle samples that a program brings back, by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ipuopt.codegen.package import Package, ProfilePlan, Step
from ipuopt.errors import CheckError, InputError
from ipuopt.layout import IntArray

_WORD = 1 << 32
_SAMPLED = ("profile.start-cycle", "profile.cycles", "profile.end-cycle")
"""Outputs that hold samples, in their order (package.md 1.2)."""
Key = tuple[int, int, str, str]
"""Phases before a step, whether it is one itself, and names of step and kernel."""


@dataclass(frozen=True, slots=True)
class SampledStep:
    """A step of the program as tiles sampled it.

    Attributes
    ----------
    name, kernel
        Of the step, and of the kernel that it calls; a phase has "exchange".
    tiles
        How many tiles take part.
    longest
        Most cycles of one tile; in a phase with what it waits for the others.
    elapsed
        By how many cycles the last tile is later behind it; adds up to the total.
    """

    name: str
    kernel: str
    tiles: int
    longest: int
    elapsed: int


@dataclass(frozen=True, slots=True)
class Profile:
    """Steps in their order, and cycles from the first sample to the last of the slowest tile."""

    steps: tuple[SampledStep, ...]
    total: int


def profile_of(package: Package, content: bytes) -> Profile:
    """Read the samples of a run.

    Parameters
    ----------
    content
        Output of the call ``run``.

    Raises
    ------
    InputError
        If the package takes no samples.
    CheckError
        If no cycle has passed.
    """
    first, samples, last = _samples(package, content)
    bounds = np.cumsum([0, *(len(plan.steps) + 1 for plan in package.profile)])
    if not len(first) or bounds[-1] != len(samples):
        raise InputError("found no cycle samples, expected some: ipuopt package RUN --profile")
    total = int(((last - first) % _WORD).max())
    if total == 0:
        found = "found the same cycle before and behind the program"
        raise CheckError("profile", (("clock", f"{found}, expected some cycles between"),))
    number = _numbered(package)
    spent = np.full((len(number), len(package.profile)), -1)
    behind = np.zeros(spent.shape, np.int64)
    for tile, plan in enumerate(package.profile):
        own = (samples[bounds[tile] : bounds[tile + 1]] - first[tile]) % _WORD
        for key, step in _keyed(plan):
            place, at = number[key], step.local_index
            spent[place, tile] = max(0, spent[place, tile]) + own[at + 1] - own[at]
            behind[place, tile] = own[at + 1]
    finish = np.maximum.accumulate(behind.max(axis=1, initial=0))
    elapsed = np.diff(finish, prepend=0).tolist()
    steps = tuple(
        SampledStep(name, kernel, int((row >= 0).sum()), int(row.max()), more)
        for (_, _, name, kernel), row, more in zip(number, spent, elapsed, strict=True)
    )
    return Profile(steps, total)


def _samples(package: Package, content: bytes) -> Sequence[IntArray]:
    """First sample of each tile, samples of all steps, last ones."""
    words: dict[str, npt.NDArray[np.int64]] = {}
    at = 0
    for binding in package.outputs:
        size = binding.slices.file_bytes
        if binding.name in _SAMPLED:
            words[binding.name] = np.frombuffer(content[at : at + size], "<u4").astype(np.int64)
        at += size
    return [words.get(name, np.zeros(0, np.int64)) for name in _SAMPLED]


def _keyed(plan: ProfilePlan) -> Iterator[tuple[Key, Step]]:
    phases = 0
    for step in plan.steps:
        name = dict(step.metadata).get("reason", step.operation)
        if step.kind == "compute":
            yield (phases, 0, name, step.kernel), step
        else:
            yield (phases, 1, name, "exchange"), step
            phases += 1


def _numbered(package: Package) -> dict[Key, int]:
    """Steps in the order of the program: by phases, then as on the tile that comes to them last."""
    place: dict[Key, int] = {}
    for plan in package.profile:
        for key, step in _keyed(plan):
            place[key] = max(place.get(key, 0), step.local_index)
    ordered = sorted(place, key=lambda key: (*key[:2], place[key], *key[2:]))
    return {key: number for number, key in enumerate(ordered)}
