"""Checks a placement against the formulation; shares no code with what makes one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ipuopt.models.placement.problem import IntArray, Problem, Solution
from ipuopt.target.memory import element_range

Violations = tuple[tuple[str, str], ...]

BoolArray = npt.NDArray[np.bool_]


def sharing(address: IntArray, size_bytes: IntArray, pairs: IntArray) -> BoolArray:
    """Which pairs of buffers touch a common memory element, shape ``(pairs,)``."""
    one, other = pairs[:, 0], pairs[:, 1]
    first, last = element_range(address, size_bytes)
    result: BoolArray = (first[one] <= last[other]) & (first[other] <= last[one])
    return result


def conflict_words(problem: Problem, solution: Solution) -> int:
    """Objective (O1): words of conflict pairs that touch a common element."""
    both = sharing(solution.address, problem.size_bytes, problem.conflict)
    apart = problem.conflict[:, 0] != problem.conflict[:, 1]
    return int(problem.conflict_words[both & apart].sum())


def footprint(problem: Problem, solution: Solution) -> int:
    """Objective (O2) in bytes: the three extents."""
    regions = problem.regions
    end = solution.address + problem.size_bytes
    interleaved = problem.interleaved == 1
    above = ~interleaved & (solution.address >= solution.boundary)
    below = ~interleaved & ~above
    return int(
        end[interleaved].max(initial=regions.high_start)
        - regions.high_start
        + end[below].max(initial=regions.low_start)
        - regions.low_start
        + end[above].max(initial=solution.boundary)
        - solution.boundary
    )


def _ranges(problem: Problem, solution: Solution) -> list[tuple[str, str]]:
    """(A1) and (A2)."""
    regions, boundary = problem.regions, solution.boundary
    found = []
    if boundary < regions.high_start or (boundary - regions.high_start) % regions.granule:
        found.append(("A1", f"boundary {boundary:#x} is not high_start plus whole granules"))
    for buffer in range(len(problem)):
        start = int(solution.address[buffer])
        stop = start + int(problem.size_bytes[buffer])
        if problem.interleaved[buffer]:
            allowed = [(regions.high_start, min(boundary, regions.high_stop))]
        else:
            allowed = [(regions.low_start, regions.low_stop), (boundary, regions.high_stop)]
        if not any(low <= start and stop <= high for low, high in allowed):
            where = " or ".join(f"[{low:#x}, {high:#x})" for low, high in allowed)
            found.append(("A1", f"buffer {buffer} at [{start:#x}, {stop:#x}), not in {where}"))
        if start % int(problem.alignment[buffer]):
            alignment = int(problem.alignment[buffer])
            found.append(("A2", f"buffer {buffer} at {start:#x} is not a multiple of {alignment}"))
    return found


def _overlaps(problem: Problem, solution: Solution) -> list[tuple[str, str]]:
    """(A3)."""
    found = []
    for i in range(len(problem)):
        for j in range(i):
            if (
                max(problem.live_start[i], problem.live_start[j])
                < min(problem.live_stop[i], problem.live_stop[j])
            ) and (
                max(solution.address[i], solution.address[j])
                < min(
                    solution.address[i] + problem.size_bytes[i],
                    solution.address[j] + problem.size_bytes[j],
                )
            ):
                found.append(("A3", f"buffers {j} and {i} live together and overlap"))
    return found


def check(problem: Problem, solution: Solution) -> Violations:
    """Every violation of (A1) to (A4) as ``(label, message)``; empty for a valid placement."""
    if solution.address.shape != (len(problem),):
        return (("A1", f"{solution.address.shape} addresses for {len(problem)} buffers"),)
    found = _ranges(problem, solution) + _overlaps(problem, solution)
    both = sharing(solution.address, problem.size_bytes, problem.distinct)
    for one, other in problem.distinct[both]:
        found.append(("A4", f"distinct buffers {one} and {other} share a memory element"))
    return tuple(found)
