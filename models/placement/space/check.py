"""Independent checker, written from the formulation; shares no code with what makes a placement."""

from __future__ import annotations

import numpy as np

from ipuopt.models.placement.problem import IntArray
from ipuopt.models.placement.space.problem import Problem, Solution

Violations = tuple[tuple[str, str], ...]


def _reserving(problem: Problem) -> list[bool]:
    """Whether each buffer has bytes and a step of life: empty ones reserve nothing."""
    lives = [False] * len(problem)
    for owner, (start, stop) in zip(
        problem.span_owner.tolist(), problem.span.tolist(), strict=True
    ):
        lives[owner] = lives[owner] or start < stop
    return [
        alive and size > 0 for alive, size in zip(lives, problem.size_bytes.tolist(), strict=True)
    ]


def _element(problem: Problem, address: int) -> int:
    """First address of the element that holds an address."""
    begin, length = max(row for row in problem.elements.tolist() if row[0] <= max(0, address))
    return int(address - (address - begin) % length)


def height(problem: Problem, solution: Solution) -> int:
    """Least height that holds all buffers; 0 if all are empty."""
    tops = solution.address + problem.size_bytes + problem.guard_bytes
    return max((int(tops[b]) for b, real in enumerate(_reserving(problem)) if real), default=0)


def check(problem: Problem, solution: Solution) -> Violations:
    """Every violation of (S1) to (S7) as ``(label, message)``; empty for a valid placement."""
    if solution.address.shape != (len(problem),):
        return (("S3", f"{solution.address.shape} addresses for {len(problem)} buffers"),)
    start = solution.address
    stop = start + problem.size_bytes + problem.guard_bytes
    real = _reserving(problem)
    found = _own(problem, start) + _aliases(problem, start)
    found += _overlaps(problem, start, stop, real)
    for one, other in problem.apart.tolist():
        if one != other and real[one] and real[other]:
            upper, lower = (one, other) if start[one] >= start[other] else (other, one)
            if stop[lower] > (begin := _element(problem, int(start[upper]))):
                found.append(("S5", f"buffers {one} and {other} share the element at {begin}"))
    for b in range(len(problem)):
        for begin, end in problem.holes.tolist():
            if real[b] and max(begin, start[b]) < min(end, stop[b]):
                found.append(("S6", f"buffer {b} at {start[b]} reaches the hole [{begin}, {end})"))
        if real[b] and problem.capacity is not None and stop[b] > problem.capacity:
            found.append(("S7", f"buffer {b} ends at {stop[b]} of {problem.capacity}"))
    return tuple(found)


def _own(problem: Problem, start: IntArray) -> list[tuple[str, str]]:
    """(S2) and (S3)."""
    found = []
    for b in np.flatnonzero(start % problem.alignment).tolist():
        found.append(("S2", f"buffer {b} at {start[b]}, not a multiple of {problem.alignment[b]}"))
    outside = (start < problem.low) | (start + problem.size_bytes > problem.high)
    for b in np.flatnonzero(outside).tolist():
        window = f"[{problem.low[b]}, {problem.high[b]})"
        found.append(("S3", f"buffer {b} at {start[b]} leaves its window {window}"))
    return found


def _aliases(problem: Problem, start: IntArray) -> list[tuple[str, str]]:
    """(S4)."""
    first: dict[int, int] = {}
    found = []
    for b, group in enumerate(problem.alias.tolist()):
        if group >= 0 and start[first.setdefault(group, b)] != start[b]:
            found.append(("S4", f"aliases {first[group]} and {b} have different addresses"))
    return found


def _overlaps(
    problem: Problem, start: IntArray, stop: IntArray, real: list[bool]
) -> list[tuple[str, str]]:
    """(S1): a sweep over the steps keeps the reserved ranges of the live spans."""
    spans = sorted(
        (begin, end, owner)
        for owner, (begin, end) in zip(
            problem.span_owner.tolist(), problem.span.tolist(), strict=True
        )
        if real[owner] and begin < end
    )
    live = np.zeros(0, dtype=np.int64)
    until = np.zeros(0, dtype=np.int64)
    pairs: set[tuple[int, int]] = set()
    for begin, end, owner in spans:
        kept = until > begin
        live, until = live[kept], until[kept]
        meets = (start[live] < stop[owner]) & (start[owner] < stop[live]) & (live != owner)
        group = problem.alias[owner]
        if group >= 0:
            meets &= problem.alias[live] != group
        pairs.update((min(owner, b), max(owner, b)) for b in live[meets].tolist())
        live, until = np.append(live, owner), np.append(until, end)
    return [
        ("S1", f"buffers {one} and {other} live together and overlap")
        for one, other in sorted(pairs)
    ]
