"""Windows on the buses of a phase, the chain of transfers that ends it, and how full the buses are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ipuopt.codegen.phases import exchange_problem, phase_slice
from ipuopt.models.exchange.problem import Problem
from ipuopt.models.exchange.timing import timing
from ipuopt.program import IntArray
from ipuopt.result import Built

SEND, SOURCE, WRITE = 0, 1, 2
"""Buses of a tile: what it sends, what its mux selects, what it writes."""

MOST_LINKS = 400
"""Transfers of a chain that are drawn."""
_MOST_CRITICAL = 64
"""Critical tiles of a phase; a page carries the windows of these where it cannot carry all."""
_ROWS, _BINS = 368, 240
"""Rows and columns of the picture of all tiles."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Intervals ``[start, stop)`` on the buses of tiles, by tile and start; of every transfer."""

    tile: IntArray
    bus: IntArray
    start: IntArray
    stop: IntArray
    transfer: IntArray

    def __len__(self) -> int:
        return len(self.tile)

    def take(self, chosen: npt.NDArray[np.bool_] | IntArray) -> Windows:
        """Some of the windows."""
        columns = (self.tile, self.bus, self.start, self.stop, self.transfer)
        return Windows(*(column[chosen] for column in columns))


@dataclass(frozen=True, slots=True)
class Link:
    """A transfer of the chain: it starts ``wait`` events after a bus of ``tile`` gets free.

    The one that waited for none has the tile -1.
    """

    transfer: int
    tile: int
    wait: int


def windows_of(built: Built, phase: int) -> tuple[Problem, Windows, IntArray]:
    """The phase, all windows, and the event at which each transfer is done."""
    problem = exchange_problem(built.program, built.address, phase)
    start = built.start[phase_slice(built.program, built.program.phases[phase])]
    offsets = timing(problem)
    everyone = np.arange(len(problem))
    of = np.repeat(everyone, np.diff(problem.destination_start))
    parts = (
        (problem.source, SEND, start, offsets.items, everyone),
        (problem.destination_tile, SOURCE, start[of] + offsets.window, offsets.window_length, of),
        (problem.destination_tile, WRITE, start[of] + offsets.write, offsets.write_length, of),
    )
    tile = np.concatenate([part[0] for part in parts])
    bus = np.concatenate([np.full(len(part[0]), part[1], np.int64) for part in parts])
    begin = np.concatenate([part[2] for part in parts])
    stop = begin + np.concatenate([part[3] for part in parts])
    transfer = np.concatenate([part[4] for part in parts])
    order = np.lexsort((begin, bus, tile))
    return problem, Windows(tile, bus, begin, stop, transfer).take(order), start + offsets.tail


def chain_of(windows: Windows, done: IntArray) -> list[Link]:
    """Transfers back from the last one that is done, each after the one that it waited for.

    A transfer waits for the bus that got free last before it needed it. The chain ends at a
    transfer for which no bus was taken before; the last of it is first in the list.
    """
    if not len(done):
        return []
    key = windows.tile * 3 + windows.bus
    by_transfer = np.argsort(windows.transfer, kind="stable")
    first = np.searchsorted(windows.transfer[by_transfer], np.arange(len(done) + 1))
    transfer = int(np.argmax(done))
    chain: list[Link] = []
    seen: set[int] = set()
    while len(chain) < MOST_LINKS and transfer not in seen:
        seen.add(transfer)
        own = by_transfer[first[transfer] : first[transfer + 1]]
        own = own[own > 0]
        own = own[key[own - 1] == key[own]]
        if not len(own):
            chain.append(Link(transfer, -1, 0))
            break
        waits = windows.start[own] - windows.stop[own - 1]
        least = int(np.argmin(waits))
        window = int(own[least])
        chain.append(Link(transfer, int(windows.tile[window]), int(waits[least])))
        transfer = int(windows.transfer[window - 1])
    return chain


def critical_tiles(problem: Problem, windows: Windows, chain: list[Link]) -> list[int]:
    """Tiles where the chain waited, then those whose buses are taken longest; at most 64."""
    length = windows.stop - windows.start
    load = np.zeros((problem.tiles, 3), dtype=np.int64)
    np.add.at(load, (windows.tile, windows.bus), length)
    waited = np.zeros(problem.tiles, dtype=np.int64)
    for link in chain:
        if link.tile >= 0:
            waited[link.tile] += 1
    order = np.lexsort((np.arange(problem.tiles), -load.max(axis=1), -waited))[:_MOST_CRITICAL]
    return [int(tile) for tile in order if load[tile].any()]


def density(windows: Windows, tiles: int, horizon: int) -> IntArray:
    """Percent of the time that send buses and muxes are taken.

    Rows are groups of neighbouring logical tiles, columns stretches of time.
    """
    rows, bins = min(_ROWS, tiles), max(1, min(_BINS, horizon))
    taken = np.zeros((rows, bins + 1))
    kept = windows.take(windows.bus != WRITE)
    row = kept.tile * rows // tiles
    scale = bins / max(1, horizon)
    start, stop = kept.start * scale, np.minimum(kept.stop * scale, bins)
    # The integral of an interval over stretches: a ramp at either end.
    for edge, sign in ((start, 1.0), (stop, -1.0)):
        cell = np.minimum(edge.astype(np.int64), bins - 1)
        part = edge - cell
        np.add.at(taken, (row, cell), sign * (1 - part))
        np.add.at(taken, (row, np.minimum(cell + 1, bins)), sign * part)
    share = taken.cumsum(axis=1)[:, :bins] / (2 * tiles / rows)
    percent: IntArray = np.clip(np.rint(100 * share), 0, 100).astype(np.int64)
    return percent
