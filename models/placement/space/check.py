"""Independent checker, written from the formulation; shares no code with what makes a placement."""

from __future__ import annotations

import heapq
from bisect import bisect, insort
from typing import NamedTuple

import numpy as np

from ipuopt.models.placement.problem import IntArray
from ipuopt.models.placement.space.problem import Problem, Solution

Violations = tuple[tuple[str, str], ...]


class _Span(NamedTuple):
    """Steps in which a buffer reserves the bytes ``first`` to ``last`` from its address on."""

    begin: int
    end: int
    owner: int
    first: int
    last: int


def _spans(problem: Problem) -> list[_Span]:
    """Spans in which something is reserved, in order of their begin."""
    size, guard = problem.size_bytes.tolist(), problem.guard_bytes.tolist()
    owners = problem.span_owner.tolist()
    parts = problem.part.tolist() or [(0, size[owner]) for owner in owners]
    spans = [
        _Span(begin, end, owner, first, last + guard[owner])
        for owner, (begin, end), (first, last) in zip(
            owners, problem.span.tolist(), parts, strict=True
        )
        if begin < end and first < last
    ]
    return sorted(spans)


def _reserving(problem: Problem, spans: list[_Span]) -> list[bool]:
    """Whether each buffer ever reserves anything: empty ones do not."""
    owners = {span.owner for span in spans}
    return [buffer in owners for buffer in range(len(problem))]


def _element(problem: Problem, address: int) -> int:
    """First address of the element that holds an address."""
    begin, length = max(row for row in problem.elements.tolist() if row[0] <= max(0, address))
    return int(address - (address - begin) % length)


def height(problem: Problem, solution: Solution) -> int:
    """Least height that holds all buffers; 0 if all are empty."""
    tops = solution.address + problem.size_bytes + problem.guard_bytes
    real = _reserving(problem, _spans(problem))
    return max((int(tops[b]) for b in range(len(problem)) if real[b]), default=0)


def check(problem: Problem, solution: Solution) -> Violations:
    """Every violation of (S1) to (S7) as ``(label, message)``; empty for a valid placement."""
    if solution.address.shape != (len(problem),):
        return (("S3", f"{solution.address.shape} addresses for {len(problem)} buffers"),)
    start = solution.address
    stop = start + problem.size_bytes + problem.guard_bytes
    spans = _spans(problem)
    real = _reserving(problem, spans)
    found = _own(problem, start) + _aliases(problem, start)
    if not _disjoint(problem, start, spans):
        found += _overlaps(problem, start, spans)
    found += _in_holes(problem, start, spans)
    for one, other in problem.apart.tolist():
        if one != other and real[one] and real[other]:
            upper, lower = (one, other) if start[one] >= start[other] else (other, one)
            if stop[lower] > (begin := _element(problem, int(start[upper]))):
                found.append(("S5", f"buffers {one} and {other} share the element at {begin}"))
    for b in range(len(problem)):
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


def _in_holes(problem: Problem, start: IntArray, spans: list[_Span]) -> list[tuple[str, str]]:
    """(S6)."""
    reached = {
        (span.owner, begin, end)
        for span in spans
        for begin, end in problem.holes.tolist()
        if max(begin, start[span.owner] + span.first) < min(end, start[span.owner] + span.last)
    }
    return [
        ("S6", f"buffer {b} at {start[b]} reaches the hole [{begin}, {end})")
        for b, begin, end in sorted(reached)
    ]


def _disjoint(problem: Problem, start: IntArray, spans: list[_Span]) -> bool:
    """Whether (S1) holds for certain: each range that begins to live lies between two live ones.

    Ranges of aliases may overlap, so that they leave it open.
    """
    if np.any(problem.alias >= 0):
        return False
    address = start.tolist()
    ends: list[tuple[int, int, int]] = []  # heap of ends, with the range that ends
    live: list[tuple[int, int]] = []  # sorted ranges
    for span in spans:
        while ends and ends[0][0] <= span.begin:
            _, low, high = heapq.heappop(ends)
            del live[bisect(live, (low, high)) - 1]
        low, high = address[span.owner] + span.first, address[span.owner] + span.last
        at = bisect(live, (low, high))
        if (at > 0 and live[at - 1][1] > low) or (at < len(live) and live[at][0] < high):
            return False
        insort(live, (low, high))
        heapq.heappush(ends, (span.end, low, high))
    return True


def _overlaps(problem: Problem, start: IntArray, spans: list[_Span]) -> list[tuple[str, str]]:
    """(S1): a sweep over the steps keeps owner, end and reserved range of the live spans."""
    live = np.zeros((4, 0), dtype=np.int64)
    pairs: set[tuple[int, int]] = set()
    for span in spans:
        live = live[:, live[1] > span.begin]
        owner, _, low, high = live
        begin, end = start[span.owner] + span.first, start[span.owner] + span.last
        meets = (low < end) & (begin < high) & (owner != span.owner)
        group = problem.alias[span.owner]
        if group >= 0:
            meets &= problem.alias[owner] != group
        pairs.update((min(span.owner, b), max(span.owner, b)) for b in owner[meets].tolist())
        live = np.append(live, [[span.owner], [span.end], [begin], [end]], axis=1)
    return [
        ("S1", f"buffers {one} and {other} live together and overlap")
        for one, other in sorted(pairs)
    ]
