"""Proofs that buffers do not fit below a height, by a search with a budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ipuopt.models.placement.space.bounds import load_bound
from ipuopt.models.placement.space.cliques import clique_bound
from ipuopt.models.placement.space.energy import overloaded
from ipuopt.models.placement.space.heuristics import quick
from ipuopt.models.placement.space.instance import Instance, build
from ipuopt.models.placement.space.problem import Problem
from ipuopt.models.placement.space.search import FAILED, FOUND, NODES, OPEN, search
from ipuopt.models.placement.space.shape import start, tables_of

SMALL_TABLE = 1 << 14
"""Entries of the table of failed nodes: filling a larger one takes longer than small searches."""

WINDOWS_OF_WIDTH = 64
"""Windows of one width: those with the greatest loads."""

OPEN_WINDOWS = 8
"""Open windows that one pass searches, so that a pass costs no more than as many attempts."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a search with a budget says (``OPEN``, ``FOUND`` or ``FAILED``), and its nodes."""

    said: int
    nodes: int


def verdict(problem: Problem, height: int, nodes: int, expired: Callable[[], bool]) -> Verdict:
    """Whether the buffers fit into ``height`` bytes: bounds, constructions, then a search."""
    instance = build(problem)
    limit = height // instance.unit
    if instance.leaves_out(limit) or load_bound(instance) > limit:
        return Verdict(FAILED, 0)
    if clique_bound(instance) > limit or overloaded(instance, limit):
        return Verdict(FAILED, 0)
    tables = tables_of(instance)
    if tables is None:
        return Verdict(OPEN, 0)
    found = quick(tables, limit, expired)
    if found is not None and found.height <= limit:
        return Verdict(FOUND, 0)
    if instance.interlocked:  # the search knows above and below only
        return Verdict(OPEN, 0)
    order = np.lexsort((-instance.size * tables.width, -tables.width)).astype(np.int64)
    shape, state = start(tables, limit, order, True)
    table = np.zeros(SMALL_TABLE, dtype=np.uint64)
    said = search(shape, state, table, limit, nodes, True)
    return Verdict(said if said in (FOUND, FAILED) else OPEN, int(state.registers[NODES]))


@dataclass(frozen=True, slots=True)
class _Window:
    """Sections ``begin`` to ``end``, and the load of their worst section."""

    begin: int
    end: int
    load: int


class Windows:
    """Windows of time that may prove that a height is too small.

    The buffers that live in a window, with what they live there, must fit as well. So a window that
    a search exhausts without a placement is a proof for the whole, and a small one is exhausted
    long before the whole is. Windows of 1, 2, 4, ... sections, half of a width apart.

    Attributes
    ----------
    nodes
        Nodes of all searches so far.
    """

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._left = self._all()
        self.nodes = 0

    def _all(self) -> list[_Window]:
        instance = self._instance
        keep = instance.hole[instance.owner] == 0
        load = np.bincount(
            instance.section[keep], instance.reserved[keep], instance.sections
        ).astype(np.int64)
        windows: list[_Window] = []
        width = 1
        while width < instance.sections:
            begins = range(0, instance.sections - width + 1, max(1, width // 2))
            same = [_Window(at, at + width, int(load[at : at + width].max())) for at in begins]
            same.sort(key=lambda window: -window.load)
            windows += same[:WINDOWS_OF_WIDTH]
            width *= 2
        return windows

    def _try(self, window: _Window, units: int, nodes: int, expired: Callable[[], bool]) -> int:
        instance = self._instance
        first, last = instance.step[window.begin], instance.step[window.end - 1]
        clipped = replace(
            instance.problem,
            span=np.clip(instance.problem.span, first, last + 1),
        )
        found = verdict(clipped, units * instance.unit, nodes, expired)
        self.nodes += found.nodes
        return found.said

    def _highest(
        self, window: _Window, units: int, most: int, nodes: int, expired: Callable[[], bool]
    ) -> tuple[int, int]:
        """Least height that the window does not refute, and what was said there.

        Strides double as long as heights are refuted, and then halve.
        """
        stride, grows = 1, True
        while units <= most and not expired():
            stride = min(stride, most + 1 - units)
            said = self._try(window, units + stride - 1, nodes, expired)
            if said == FAILED:
                units += stride
                stride *= 2 if grows else 1
            elif stride == 1:
                return units, said
            else:
                grows, stride = False, stride // 2
        return units, OPEN

    def refute(self, units: int, most: int, nodes: int, expired: Callable[[], bool]) -> int:
        """Least height in units that is not refuted, from ``units`` on; one pass over the windows.

        A window whose buffers fit is left out from then on, so heights must not fall from call to
        call. A window that contains one that stayed open waits for the next pass.

        Parameters
        ----------
        most
            Greatest height of interest: the answer is at most one more.
        nodes
            Budget of each search.
        """
        stayed: list[_Window] = []
        kept: list[_Window] = []
        for at, window in enumerate(self._left):
            if units > most or expired() or len(stayed) == OPEN_WINDOWS:
                kept += self._left[at:]
                break
            if any(window.begin <= w.begin and w.end <= window.end for w in stayed):
                kept.append(window)
                continue
            units, said = self._highest(window, units, most, nodes, expired)
            if said != FOUND:
                kept.append(window)
            if said == OPEN:
                stayed.append(window)
        self._left = kept
        return units
