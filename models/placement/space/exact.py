"""CP-SAT: boxes of sections and addresses that do not overlap, in units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from ipuopt.models.placement.problem import IntArray
from ipuopt.models.placement.space.instance import Instance

MOST_UNITS = 1 << 28
"""Greatest height of a model: sums of addresses in its rows stay far below 2^31."""


@dataclass(frozen=True, slots=True)
class _Element:
    """Start of the element of a block; per row whether it is there, which one, start, units."""

    begin: cp_model.IntVar
    rows: list[tuple[cp_model.IntVar, cp_model.IntVar, int, int]]


class Model:
    """The model of an instance, and the handles needed to read it back.

    Parameters
    ----------
    bound, most
        Least and greatest height in units.
    """

    def __init__(self, instance: Instance, bound: int, most: int) -> None:
        self.instance = instance
        self.cp = cp_model.CpModel()
        self.height = self.cp.new_int_var(bound, most, "height")
        self.before: dict[tuple[int, int], cp_model.IntVar] = {}
        self.elements: dict[int, _Element] = {}
        self.slot: list[cp_model.IntVar] = []
        self.start: list[cp_model.LinearExpr] = []
        self.is_possible = bound <= most
        self._addresses(most)
        if self.is_possible:
            self._overlaps(most)
            self._apart()
            self.cp.minimize(self.height)

    def _addresses(self, most: int) -> None:
        """(S2), (S3) and (S6) as domains; (S7)."""
        instance = self.instance
        for block in range(len(instance)):
            unit, size = int(instance.alignment[block]), int(instance.size[block])
            first = -(-int(instance.low[block]) // unit)
            last = int(instance.last[block])
            if size and not instance.hole[block]:
                last = min(last, most - size)
            last //= unit
            if last < first:
                self.is_possible = False
                return
            slot = self.cp.new_int_var(first, last, f"slot[{block}]")
            self.slot.append(slot)
            self.start.append(slot * unit)
            if size and not instance.hole[block]:
                self.cp.add(slot * unit + size <= self.height)

    def _overlaps(self, most: int) -> None:
        """(S1) and (S6): one box a run of sections with one reserved range."""
        instance = self.instance
        if not len(instance.owner):
            return
        lives, spans = [], []
        order = np.lexsort((instance.section, instance.owner))
        owner, section = instance.owner[order], instance.section[order]
        reserved, base = instance.reserved[order], instance.base[order]
        breaks = (np.diff(owner) != 0) | (np.diff(section) != 1)
        breaks |= (np.diff(reserved) != 0) | (np.diff(base) != 0)
        begins = np.concatenate(([0], np.flatnonzero(breaks) + 1))
        for begin, end in zip(begins, np.append(begins[1:], len(owner)), strict=True):
            block, size = int(owner[begin]), int(reserved[begin])
            if instance.hole[block]:
                size = min(size, max(0, most - int(instance.low[block])))
            if size == 0:
                continue
            lives.append(
                self.cp.new_fixed_size_interval_var(int(section[begin]), int(end - begin), "")
            )
            start = self.start[block] + int(base[begin])
            spans.append(self.cp.new_fixed_size_interval_var(start, size, ""))
        self.cp.add_no_overlap_2d(lives, spans)

    def _apart(self) -> None:
        """(S5): one of the two ends before the element in which the other begins."""
        assert self.instance.pairs is not None
        for one, other, below, above, _, apart in self.instance.pairs.tolist():
            if not apart:
                continue
            before = self.cp.new_bool_var(f"before[{one},{other}]")
            self.before[one, other] = before
            for lower, upper, distance, literal in (
                (one, other, below, before),
                (other, one, above, ~before),
            ):
                self.cp.add(self.start[lower] + distance <= self._element(upper)).only_enforce_if(
                    literal
                )

    def _element(self, block: int) -> cp_model.IntVar:
        """Start of the element in which a block begins."""
        if block in self.elements:
            return self.elements[block].begin
        domain = self.cp.proto.variables[self.slot[block].index].domain
        last = domain[len(domain) - 1] * int(self.instance.alignment[block])
        element = _Element(self.cp.new_int_var(0, last, f"element[{block}]"), [])
        rows = self.instance.elements.tolist()
        for (first, length), (stop, _) in zip(rows, [*rows[1:], (last + 1, 0)], strict=True):
            if first > last:
                break
            inside = self.cp.new_bool_var(f"row[{block},{first}]")
            index = self.cp.new_int_var(0, (min(stop, last + 1) - 1 - first) // length, "")
            begin = first + length * index
            self.cp.add(element.begin == begin).only_enforce_if(inside)
            self.cp.add_linear_constraint(self.start[block] - begin, 0, length - 1).only_enforce_if(
                inside
            )
            element.rows.append((inside, index, first, length))
        self.cp.add_exactly_one([inside for inside, *_ in element.rows])
        self.elements[block] = element
        return element.begin

    def read(self, values: IntArray) -> IntArray:
        """Addresses of all blocks in units."""
        slots = np.array([values[slot.index] for slot in self.slot], dtype=np.int64)
        return slots * self.instance.alignment

    def hint(self, start: IntArray) -> dict[int, int]:
        """Value of every variable in a packing, by index."""
        values = {self.height.index: self.instance.height(start)}
        for block, slot in enumerate(self.slot):
            values[slot.index] = int(start[block] // self.instance.alignment[block])
        for block, element in self.elements.items():
            at = int(start[block])
            here = max(first for _, _, first, _ in element.rows if first <= at)
            for inside, index, first, length in element.rows:
                values[inside.index] = int(first == here)
                values[index.index] = (at - first) // length if first == here else 0
                if first == here:
                    values[element.begin.index] = at - (at - first) % length
        for (one, other), before in self.before.items():
            values[before.index] = int(start[one] < start[other])
        return values
