"""A problem as the searches take it: blocks that have one address each, in whole units.

Aliases form one block; what is empty takes no part; a hole is a block that lives always and has its
address. Steps are compressed to sections: the sets of blocks that live together and are contained
in no neighbouring set.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ipuopt.models.placement.problem import IntArray
from ipuopt.models.placement.space.pairs import pairs_of
from ipuopt.models.placement.space.problem import Problem, Solution
from ipuopt.ranges import ranges

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Instance:
    """Blocks in units of ``unit`` bytes.

    Attributes
    ----------
    problem, unit
        The problem, and the bytes of a unit.
    block
        Block of every buffer; -1 for an empty one without an alias that is not.
    size
        Units that a block reserves, shape ``(blocks,)``; a block of aliases has its largest.
    low, last
        Lowest and highest address; ``last`` may be beyond any height.
    alignment
        In units.
    hole
        Whether the block is a hole.
    owner, section, reserved, base
        One entry a block and section in which it lives, by block: the units that it reserves there,
        and how far above its address they begin.
    sections
        Their number; at least 1.
    step
        A step of every section, for messages.
    elements
        Start and units of every row of elements; empty without apart pairs.
    pairs
        Rows ``one, other, one_below, other_below, grain, apart`` of blocks that must not meet, at most one
        that is apart and one that is not for two blocks: the least distance from ``one`` to an ``other`` above it
        and the reverse; where ``grain`` is above 1, the upper address is then rounded up to the
        start of an element, ``grain`` units further at most.
        None where there are more than :data:`~ipuopt.models.placement.space.pairs.MAX_PAIRS`.
    interlocked
        Whether two blocks could lie at addresses that the distances of ``pairs`` do not allow, or
        one lie above another at a lower address: parts may fit into each other.
    """

    problem: Problem
    unit: int
    block: IntArray
    size: IntArray
    low: IntArray
    last: IntArray
    alignment: IntArray
    hole: IntArray
    owner: IntArray
    section: IntArray
    reserved: IntArray
    base: IntArray
    sections: int
    step: IntArray
    elements: IntArray
    pairs: IntArray | None
    interlocked: bool

    def __len__(self) -> int:
        return len(self.size)

    def leaves_out(self, limit: int) -> bool:
        """Whether a block or an empty buffer has no address at all within ``limit`` units."""
        ends = self._lowest() + self.problem.size_bytes
        if np.any((ends > self.problem.high)[self.block < 0]):
            return True
        last = np.where(self.size > 0, np.minimum(self.last, limit - self.size), self.last)
        return bool(np.any((self.low > last)[self.hole == 0]))

    def height(self, start: IntArray) -> int:
        """Height in units; holes and what is empty do not count."""
        return int((start + self.size)[(self.hole == 0) & (self.size > 0)].max(initial=0))

    def solution(self, start: IntArray) -> Solution:
        """Addresses in bytes of all buffers."""
        address = np.append(start, 0)[self.block] * self.unit
        return Solution(np.where(self.block >= 0, address, self._lowest()))

    def _lowest(self) -> IntArray:
        """Lowest aligned address of every buffer in its window."""
        problem = self.problem
        lowest: IntArray = -(-problem.low // problem.alignment) * problem.alignment
        return lowest


def _used(problem: Problem) -> BoolArray:
    """Which spans have a step and a byte."""
    used: BoolArray = problem.span[:, 0] < problem.span[:, 1]
    if len(problem.part):
        used &= problem.part[:, 0] < problem.part[:, 1]
    return used


def _parts(problem: Problem) -> IntArray:
    """First and last byte that each span reserves, shape ``(spans, 2)``, guard included."""
    owner = problem.span_owner
    part = problem.part
    if not len(part):
        part = np.stack((np.zeros_like(owner), problem.size_bytes[owner]), axis=1)
    guard = problem.guard_bytes[owner]
    return np.stack((part[:, 0], part[:, 1] + guard), axis=1)


def _groups(problem: Problem) -> tuple[IntArray, BoolArray]:
    """Block of every buffer (-1: empty, without aliases that are not), and who is not empty."""
    lives = np.zeros(len(problem), dtype=bool)
    lives[problem.span_owner[_used(problem)]] = True
    real = lives & (problem.size_bytes > 0)
    count = len(problem)
    key = np.where(problem.alias >= 0, problem.alias + count, np.arange(count))
    used = np.unique(key[real | (problem.alias >= 0)])
    at = np.searchsorted(used, key)
    inside = np.append(used, -1)[at] == key
    return np.where(inside, at, -1), real


def _unit(numbers: IntArray, alignment: IntArray) -> int:
    """Bytes of a unit: every address of a lowest placement is a multiple of it."""
    unit = int(np.gcd.reduce(numbers)) if len(numbers) else 0
    for value in sorted({int(a) for a in alignment}, reverse=True):
        if unit % value:
            unit = math.gcd(unit, value)
    return max(1, unit)


def _sections(start: IntArray, stop: IntArray) -> IntArray:
    """Steps at which the live set is contained in no later set before something ends."""
    starts, stops = np.unique(start), np.unique(stop)
    following = np.append(starts[1:], np.iinfo(np.int64).max)
    ends = stops[np.searchsorted(stops, starts, side="right").clip(max=len(stops) - 1)]
    kept: IntArray = starts[ends <= following]
    return kept


def _disjoint(holes: IntArray) -> IntArray:
    """The same addresses as holes that do not overlap: as blocks, they may not meet."""
    begin, end = holes[np.argsort(holes[:, 0], kind="stable")].T
    reached = np.maximum.accumulate(end)
    fresh = np.append(True, begin[1:] > reached[:-1])[: len(begin)]
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], len(begin))[: len(first)] - 1
    return np.stack((begin[first], reached[last]), axis=1)


def build(problem: Problem) -> Instance:
    """Blocks, sections and pairs of ``problem``."""
    group, real = _groups(problem)
    hole = _disjoint(problem.holes[problem.holes[:, 0] < problem.holes[:, 1]])
    count, holes = int(group.max(initial=-1)) + 1, len(hole)
    member = np.flatnonzero(group >= 0)
    low = np.zeros(count, dtype=np.int64)
    np.maximum.at(low, group[member], problem.low[member])
    last = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(last, group[member], problem.high[member] - problem.size_bytes[member])
    alignment = np.ones(count, dtype=np.int64)
    for b in member.tolist():
        alignment[group[b]] = math.lcm(int(alignment[group[b]]), int(problem.alignment[b]))
    low = -(-low // alignment) * alignment
    bytes_ = np.where(real, problem.size_bytes + problem.guard_bytes, 0)
    apart = problem.apart[real[problem.apart].all(axis=1)] if len(problem.apart) else problem.apart
    apart = apart[apart[:, 0] != apart[:, 1]]
    itself = group[apart[:, 0]] == group[apart[:, 1]]
    last[group[apart[itself, 0]]] = -1  # aliases that are apart have no address
    apart = apart[~itself]
    keep = _used(problem) & real[problem.span_owner]
    part = _parts(problem)[keep]
    elements = problem.elements if len(apart) else problem.elements[:0]
    unit = _unit(
        np.concatenate((bytes_, low, hole.ravel(), elements.ravel(), part.ravel())), alignment
    )
    grain = int(elements[:, 1].max(initial=0)) // unit
    apart = np.concatenate((group[apart], bytes_[apart] // unit), axis=1)
    span, of = problem.span[keep], problem.span_owner[keep]
    steps = _sections(span[:, 0], span[:, 1]) if len(span) else np.zeros(1, dtype=np.int64)
    first = np.searchsorted(steps, span[:, 0])
    widths = np.searchsorted(steps, span[:, 1]) - first
    which = np.repeat(np.arange(len(span)), widths)
    section = ranges(first, widths)
    key, entry = np.unique(group[of[which]] * len(steps) + section, return_inverse=True)
    reserved = np.zeros(len(key), dtype=np.int64)
    np.maximum.at(reserved, entry, part[which, 1] // unit)
    base = np.zeros(len(key), dtype=np.int64)
    base[entry] = part[which, 0] // unit  # of aliases, which live as a whole, 0
    reserved -= base
    everywhere = np.tile(np.arange(len(steps)), holes)
    lengths = (hole[:, 1] - hole[:, 0]) // unit
    owner = np.concatenate(
        (key // len(steps), np.repeat(np.arange(count, count + holes), len(steps)))
    )
    section = np.concatenate((key % len(steps), everywhere))
    reserved = np.concatenate((reserved, np.repeat(lengths, len(steps))))
    base = np.concatenate((base, np.zeros(holes * len(steps), dtype=np.int64)))
    size = np.append(np.zeros(count, dtype=np.int64), lengths)
    np.maximum.at(size, group[real], bytes_[real] // unit)
    pairs, interlocked = pairs_of(owner, section, reserved, base, size, len(steps), apart, grain)
    begin = hole[:, 0] // unit
    kept = np.append(np.full(count, 0), np.ones(holes, dtype=np.int64))
    return Instance(
        problem=problem,
        unit=unit,
        block=group,
        size=size,
        low=np.concatenate((low // unit, begin)),
        last=np.concatenate((last // unit, begin)),
        alignment=np.maximum(1, np.append(alignment, np.ones(holes, dtype=np.int64)) // unit),
        hole=kept,
        owner=owner,
        section=section,
        reserved=reserved,
        base=base,
        sections=len(steps),
        step=steps,
        elements=elements // unit,
        pairs=pairs,
        interlocked=interlocked,
    )
