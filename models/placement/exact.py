"""CP-SAT model of one tile, in units of the largest common divisor of all sizes."""

from __future__ import annotations

import math

import numpy as np
from ortools.sat.python import cp_model

from ipuopt.models.placement.bounds import footprint_bound, load
from ipuopt.models.placement.greedy import HARD
from ipuopt.models.placement.problem import IntArray, Problem, Solution
from ipuopt.models.placement.tables import tables_of
from ipuopt.target.memory import (
    INTERLEAVED_BASE,
    INTERLEAVED_ELEMENT,
    STANDARD_ELEMENT,
    element_range,
)

_FIRST_PAIR = INTERLEAVED_BASE // STANDARD_ELEMENT


def unit_bytes(problem: Problem) -> int:
    """Largest common divisor of sizes, alignments, regions and elements."""
    regions = problem.regions
    fixed = (
        regions.low_start,
        regions.low_stop,
        regions.high_start,
        regions.high_stop,
        regions.granule,
        STANDARD_ELEMENT,
        INTERLEAVED_ELEMENT,
    )
    return math.gcd(*fixed, *problem.reserved_bytes.tolist(), *problem.alignment.tolist())


class Model:
    """The CP-SAT model of a problem, and the handles needed to read it back.

    It takes plain problems (:attr:`~ipuopt.models.placement.problem.Problem.is_plain`).
    Every address is ``slot * alignment``, so (A2) holds by construction. The boundary lies less
    than a granule above the interleaved extent: moving it down with all standard buffers above it
    by whole granules keeps every constraint, as long as a granule is a multiple of every alignment
    and of an element pair (checked before the cut is added).
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.unit = unit_bytes(problem)
        self.cp = cp_model.CpModel()
        self.size = [int(size) // self.unit for size in problem.reserved_bytes]
        self.slot: list[cp_model.IntVar] = []
        self.address: list[cp_model.LinearExpr] = []
        self.low: dict[int, cp_model.IntVar] = {}
        self.elements: dict[int, tuple[cp_model.IntVar, cp_model.IntVar]] = {}
        self.before: dict[tuple[int, int], cp_model.IntVar] = {}
        self.shared: dict[tuple[int, int], tuple[cp_model.IntVar, int]] = {}
        high = problem.regions.high_stop - problem.regions.high_start
        low = problem.regions.low_stop - problem.regions.low_start
        granules = -(-high // problem.regions.granule)
        self.granules = self.cp.new_int_var(0, granules, "granules")
        self.extents = tuple(
            self.cp.new_int_var(0, bytes_ // self.unit, name)
            for name, bytes_ in (("interleaved", high), ("low", low), ("high", high))
        )
        self._addresses()
        self._ranges()
        self._overlaps()
        self._pairs()
        self._bounds()

    def _units(self, bytes_: int) -> int:
        return bytes_ // self.unit

    @property
    def boundary(self) -> cp_model.LinearExpr:
        """Boundary in units."""
        regions = self.problem.regions
        return self._units(regions.high_start) + self._units(regions.granule) * self.granules

    def _addresses(self) -> None:
        """(A2), and the parts of (A1) that do not depend on the boundary, as domains."""
        problem, regions = self.problem, self.problem.regions
        for buffer in range(len(problem)):
            size, alignment = int(problem.reserved_bytes[buffer]), int(problem.alignment[buffer])
            ranges = [(regions.high_start, regions.high_stop)]
            if not problem.interleaved[buffer]:
                ranges.insert(0, (regions.low_start, regions.low_stop))
            slots = [(-(-start // alignment), (stop - size) // alignment) for start, stop in ranges]
            domain = cp_model.Domain.from_intervals([pair for pair in slots if pair[0] <= pair[1]])
            slot = self.cp.new_int_var_from_domain(domain, f"slot[{buffer}]")
            self.slot.append(slot)
            self.address.append(slot * (alignment // self.unit))

    def _ranges(self) -> None:
        """(A1), and the extents of (O2)."""
        regions = self.problem.regions
        interleaved, low, high = self.extents
        for buffer, address in enumerate(self.address):
            end = address + self.size[buffer]
            if self.problem.interleaved[buffer]:
                self.cp.add(end <= self.boundary)
                self.cp.add(end - self._units(regions.high_start) <= interleaved)
                continue
            is_low = self.cp.new_bool_var(f"low[{buffer}]")
            self.low[buffer] = is_low
            self.cp.add(end <= self._units(regions.low_stop)).only_enforce_if(is_low)
            self.cp.add(end - self._units(regions.low_start) <= low).only_enforce_if(is_low)
            self.cp.add(address >= self.boundary).only_enforce_if(~is_low)
            self.cp.add(end - self.boundary <= high).only_enforce_if(~is_low)

    def _overlaps(self) -> None:
        """(A3): boxes of time and addresses."""
        problem = self.problem
        steps = np.unique(np.concatenate((problem.live_start, problem.live_stop)))
        starts = np.searchsorted(steps, problem.live_start).tolist()
        stops = np.searchsorted(steps, problem.live_stop).tolist()
        lives = [
            self.cp.new_fixed_size_interval_var(start, stop - start, "")
            for start, stop in zip(starts, stops, strict=True)
        ]
        spans = [
            self.cp.new_fixed_size_interval_var(address, size, "")
            for address, size in zip(self.address, self.size, strict=True)
        ]
        self.cp.add_no_overlap_2d(lives, spans)

    def _whole_granules(self) -> bool:
        """Whether the boundary is always the edge of an element."""
        regions = self.problem.regions
        above = regions.high_start - INTERLEAVED_BASE
        return (
            above >= 0
            and above % INTERLEAVED_ELEMENT == 0
            and regions.granule % INTERLEAVED_ELEMENT == 0
        )

    def _element(self, buffer: int) -> tuple[cp_model.IntVar, cp_model.IntVar]:
        """First and last element that a buffer touches."""
        if buffer in self.elements:
            return self.elements[buffer]
        last_element = _FIRST_PAIR + self.problem.regions.high_stop // INTERLEAVED_ELEMENT
        found = []
        for name, at in (
            ("first", self.address[buffer]),
            ("last", self.address[buffer] + (self.size[buffer] - 1)),
        ):
            index = self.cp.new_int_var(0, last_element, f"{name}[{buffer}]")
            pair, element = self._units(INTERLEAVED_ELEMENT), self._units(STANDARD_ELEMENT)
            high = at - self._units(INTERLEAVED_BASE) - pair * (index - _FIRST_PAIR)
            self._between(high, pair, None if buffer not in self.low else ~self.low[buffer])
            if buffer in self.low:
                self._between(at - element * index, element, self.low[buffer])
            found.append(index)
        self.elements[buffer] = (found[0], found[1])
        return self.elements[buffer]

    def _between(
        self, value: cp_model.LinearExpr, stop: int, literal: cp_model.LiteralT | None
    ) -> None:
        """``0 <= value < stop``, if ``literal`` holds."""
        constraint = self.cp.add_linear_constraint(value, 0, stop - 1)
        if literal is not None:
            constraint.only_enforce_if(literal)

    def _pairs(self) -> None:
        """(A4), and a literal for every conflict pair that may share an element (O1)."""
        tables = tables_of(self.problem)
        interleaved = self.problem.interleaved
        for one in range(len(self.problem)):
            for at in range(tables.near_start[one], tables.near_start[one + 1]):
                other, words = int(tables.near[at]), int(tables.near_words[at])
                if other < one:
                    continue
                if interleaved[one] != interleaved[other] and self._whole_granules():
                    continue  # the boundary parts their elements
                first, last = self._element(one), self._element(other)
                before = self.cp.new_bool_var(f"before[{one},{other}]")
                orders = [(first[1] + 1 <= last[0], before), (last[1] + 1 <= first[0], ~before)]
                self.before[one, other] = before
                for order, literal in orders:
                    constraint = self.cp.add(order)
                    if words == HARD:
                        constraint.only_enforce_if(literal)
                        continue
                    if (one, other) not in self.shared:
                        share = self.cp.new_bool_var(f"share[{one},{other}]")
                        self.shared[one, other] = (share, words)
                    constraint.only_enforce_if(literal, ~self.shared[one, other][0])

    def _bounds(self) -> None:
        """Load bounds as cuts, and the boundary's dominance cut."""
        problem, regions = self.problem, self.problem.regions
        self.cp.add(self.footprint >= -(-footprint_bound(problem) // self.unit))
        self.cp.add(self.extents[0] >= -(-load(problem, 1).demand // self.unit))
        largest = int(problem.alignment.max(initial=1))
        if self._whole_granules() and regions.granule % largest == 0:
            granule = self._units(regions.granule)
            self.cp.add(granule * self.granules <= self.extents[0] + granule - 1)

    @property
    def words(self) -> cp_model.LinearExprT:
        """Objective (O1)."""
        return sum((words * share for share, words in self.shared.values()), 0)

    @property
    def footprint(self) -> cp_model.LinearExprT:
        """Objective (O2) in units."""
        return sum(self.extents)

    def read(self, values: IntArray) -> Solution:
        """Placement of the values of all variables."""
        slots = np.array([values[slot.index] for slot in self.slot], dtype=np.int64)
        regions = self.problem.regions
        boundary = regions.high_start + regions.granule * int(values[self.granules.index])
        return Solution(slots * self.problem.alignment, boundary)

    def hint(self, solution: Solution) -> dict[int, int]:
        """Value of every variable in ``solution``, by index."""
        problem, regions = self.problem, self.problem.regions
        address = solution.address
        end = address + problem.reserved_bytes
        above = (problem.interleaved == 0) & (address >= solution.boundary)
        below = (problem.interleaved == 0) & ~above
        tops = (
            end[problem.interleaved == 1].max(initial=regions.high_start) - regions.high_start,
            end[below].max(initial=regions.low_start) - regions.low_start,
            end[above].max(initial=solution.boundary) - solution.boundary,
        )
        first, last = element_range(address, problem.reserved_bytes)
        values = {self.granules.index: (solution.boundary - regions.high_start) // regions.granule}
        for variable, top in zip(self.extents, tops, strict=True):
            values[variable.index] = int(top) // self.unit
        for buffer, slot in enumerate(self.slot):
            values[slot.index] = int(address[buffer] // problem.alignment[buffer])
        for buffer, is_low in self.low.items():
            values[is_low.index] = int(below[buffer])
        for buffer, (begin, finish) in self.elements.items():
            values[begin.index], values[finish.index] = int(first[buffer]), int(last[buffer])
        for (one, other), before in self.before.items():
            values[before.index] = int(last[one] < first[other])
        for (one, other), (share, _) in self.shared.items():
            values[share.index] = int(first[one] <= last[other] and first[other] <= last[one])
        return values
