r"""Machines for :mod:`ipuopt.models.exchange.bounds_widths`: groups of tiles that receive together.

Transfers :math:`j` that all tiles of a group receive follow one another: their source windows on a
tile of it, the base, are a machine. A Paired64 transfer takes the machine from its source event to
"format off", whichever tile of a pair is the early one, for the other tile of the pair is connected
from "format on" only, but both receive all that the machine counts. It is also taken by the
Paired64 sends :math:`k` of the group itself: the partner of such a source receives nothing
meanwhile, so the whole group does not. Sends to one and the same other group exclude each other
there; those of one set of receivers are counted together.

All intervals are told in the time of the base tile, shortened so far that they are disjoint in every
valid schedule. A transfer for which the reserved partner is late may follow a send so closely that
its "format on" comes with the end of the reservation. So of two such, the send or the transfer must
give up the events between the source event and "format on"; a machine is made for the choice that
all sends do, and for each that those transfers do which are late on one of the partners.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ipuopt.models.exchange.problem import BoolArray, IntArray, Problem
from ipuopt.models.exchange.timing import Timing
from ipuopt.models.exchange.widths import early, until_format_on
from ipuopt.target.fabric import PARTNER, ROW

FAR = 1 << 40
"""More than any event."""


class Machines(NamedTuple):
    """Machines over widths: events if nothing is Paired64, and what each of these transfers changes.

    ``fixed`` has an entry a machine, ends included; the others one for each machine and transfer.
    """

    fixed: IntArray
    machine: IntArray
    transfer: IntArray
    change: IntArray


def group_machines(problem: Problem, wide: BoolArray, options: tuple[Timing, Timing]) -> Machines:
    """Machines of all groups that receive and send transfers with a choice of width.

    Parameters
    ----------
    problem
        The phase.
    wide
        Transfers with a choice.
    options
        Times with all of these as Paired64, and with none.
    """
    receives = _Receives.of(problem)
    alike: dict[bytes, list[int]] = {}
    for j, key in enumerate(receives.keys):
        alike.setdefault(key, []).append(j)
    sends: dict[int, list[int]] = {}
    for k in np.flatnonzero(wide).tolist():
        sends.setdefault(int(problem.source[k]), []).append(k)
    found: list[tuple[int, IntArray, IntArray]] = []
    for key, members in alike.items():
        pairs = np.frombuffer(key, np.int64)
        transfers = np.array(members)
        if not len(pairs) or not wide[transfers].any():
            continue
        tiles = np.sort(np.concatenate((2 * pairs, 2 * pairs + 1)))
        own = [k for tile in tiles.tolist() for k in sends.get(tile, ())]
        if own:
            group = _Group.of(problem, wide, options, receives, tiles, transfers)
            found += group.machines(np.array(own))
    sizes = [len(transfer) for _, transfer, _ in found]
    empty = np.zeros(0, np.int64)
    return Machines(
        np.array([fixed for fixed, _, _ in found], np.int64),
        np.repeat(np.arange(len(found)), sizes),
        np.concatenate([empty, *(transfer for _, transfer, _ in found)]),
        np.concatenate([empty, *(change for _, _, change in found)]),
    )


@dataclass(frozen=True, slots=True)
class _Receives:
    """Receivers looked up by transfer and tile; pairs of tiles that each transfer keeps busy.

    ``keys`` are the pairs of which both tiles take part in a transfer, one of them perhaps as its
    source.
    """

    tiles: int
    code: IntArray
    order: IntArray
    keys: list[bytes]

    @classmethod
    def of(cls, problem: Problem) -> _Receives:
        everyone = np.arange(len(problem))
        transfer = np.repeat(everyone, np.diff(problem.destination_start))
        code = transfer * problem.tiles + problem.destination_tile
        order = np.argsort(code)
        pairs = (problem.tiles + 1) // 2
        ends = np.concatenate((problem.destination_tile, problem.source)) // 2
        both, count = np.unique(
            np.concatenate((transfer, everyone)) * pairs + ends, return_counts=True
        )
        owner, pair = np.divmod(both[count == 2], pairs)
        bounds = np.searchsorted(owner, np.arange(len(problem) + 1)).tolist()
        keys = [pair[a:b].tobytes() for a, b in itertools.pairwise(bounds)]
        return cls(problem.tiles, code[order], order, keys)

    def at(self, transfer: IntArray, tile: IntArray) -> IntArray:
        """Receiver of each transfer on a tile; -1 without one."""
        wanted = transfer * self.tiles + tile
        place = np.minimum(np.searchsorted(self.code, wanted), len(self.code) - 1)
        result: IntArray = np.where(self.code[place] == wanted, self.order[place], -1)
        return result


@dataclass(frozen=True, slots=True)
class _Group:
    """What the tiles of a group receive together, in events from each start.

    Attributes
    ----------
    transfers, choice
        Transfers that the base tile receives, and which of them have a choice of width.
    released, window, length, rest
        As Word32, on the base tile: least start, first event of the window, its events, and those
        from its end to the last "done".
    format_on, items, wide_rest
        As Paired64: "format on" on the base tile, items, and events from "format off" on.
    cut
        Events of a Paired64 transfer on the machine before "format on".
    tiles, ready, starts, formats, late
        Tiles of the group; whether a tile takes part in all these transfers; by tile and transfer,
        first event there as Word32, "format on", and whether the tile is late.
    """

    problem: Problem
    wide: Timing
    receives: _Receives
    transfers: IntArray
    choice: BoolArray
    released: IntArray
    window: IntArray
    length: IntArray
    rest: IntArray
    format_on: IntArray
    items: IntArray
    wide_rest: IntArray
    cut: int
    tiles: IntArray
    ready: BoolArray
    starts: IntArray
    formats: IntArray
    late: BoolArray

    @classmethod
    def of(
        cls,
        problem: Problem,
        wide: BoolArray,
        options: tuple[Timing, Timing],
        receives: _Receives,
        tiles: IntArray,
        transfers: IntArray,
    ) -> _Group:
        """The base tile is that which receives most; of those, one of the last row."""
        paired, plain = options
        place = receives.at(transfers[None, :], tiles[:, None])
        words = np.where(place >= 0, problem.words[transfers], 0).sum(axis=1)
        base = int(np.lexsort((ROW[tiles], words))[-1])
        kept = place[base] >= 0
        place, transfers = place[:, kept], transfers[kept]
        here, choice = place[base], wide[transfers]
        late = choice & ~early(problem)[place]
        cut = int(until_format_on(tiles[base])) - 1
        alone = place[base ^ 1] < 0  # the base is the even or the odd tile of a pair of the group
        lost = np.where(alone & late[base].any(), cut, 0)
        length = np.maximum(0, plain.window_length[here] - lost)
        own = (place < 0) & (problem.source[transfers] == tiles[:, None]) & ~choice
        return cls(
            problem=problem,
            wide=paired,
            receives=receives,
            transfers=transfers,
            choice=choice,
            released=plain.head[transfers],
            window=plain.window[here],
            length=length,
            rest=plain.tail[transfers] - plain.window[here] - length,
            format_on=paired.write[here] - 2,
            items=paired.items[transfers],
            wide_rest=paired.tail[transfers] - paired.write[here] + 2 - paired.items[transfers],
            cut=cut,
            tiles=tiles,
            ready=np.all((place >= 0) | own, axis=1),
            starts=np.where(place >= 0, plain.window[place], 0),
            formats=paired.write[place] - 2,
            late=late,
        )

    def machines(self, sends: IntArray) -> Iterator[tuple[int, IntArray, IntArray]]:
        """Machines of the group with those of ``sends`` that have the same receivers."""
        partner = np.searchsorted(self.tiles, PARTNER[self.problem.source[sends]])
        sends, partner = sends[self.ready[partner]], partner[self.ready[partner]]
        same: dict[bytes, list[int]] = {}
        for number, k in enumerate(sends.tolist()):
            same.setdefault(self.receives.keys[k], []).append(number)
        for numbers in same.values():
            some, reserved = sends[numbers], partner[numbers]
            lates = np.unique(self.late[reserved], axis=0)
            for short in (np.zeros_like(self.choice), *lates[lates.any(axis=1)]):
                yield self._machine(some, reserved, short)

    def _machine(
        self, sends: IntArray, reserved: IntArray, short: BoolArray
    ) -> tuple[int, IntArray, IntArray]:
        """One machine; transfers that are ``short`` take it from "format on" only."""
        first = self.format_on - np.where(short, 0, self.cut)
        # Events from the time of the base tile to that of each reserved one.
        plain = self.window - self.starts[reserved]
        moved = np.where(self.choice, self.format_on - self.formats[reserved], -FAR)
        begin = np.maximum(plain, moved).max(axis=1)
        ahead = np.where(self.late[reserved], 0, until_format_on(self.tiles[reserved])[:, None])
        follow = np.where(self.choice, first - self.formats[reserved] + ahead, FAR)
        items = self.wide.items[sends]
        length = items + np.minimum(plain, follow).min(axis=1) - begin
        length = np.maximum(0, np.minimum(length, items + self._apart(sends, begin)))
        chosen = np.flatnonzero(self.choice)
        counted = np.flatnonzero(length)
        release = min(
            (self.released + self.window).min(),
            (self.released + first)[chosen].min(initial=FAR),
            (self.wide.head[sends] + begin)[counted].min(initial=FAR),
        )
        rest = min(
            self.rest.min(),
            self.wide_rest[chosen].min(initial=FAR),
            (self.wide.tail[sends] - begin - length)[counted].min(initial=FAR),
        )
        change = self.format_on + self.items - first - self.length
        return (
            int(self.length.sum() + release + rest),
            np.concatenate((self.transfers[chosen], sends[counted])),
            np.concatenate((change[chosen], length[counted])),
        )

    def _apart(self, sends: IntArray, begin: IntArray) -> IntArray:
        """Events by which each send may take the machine for longer than its items.

        On a tile that receives them all, the source event of one comes after "format off" of the
        other.
        """
        pairs = np.frombuffer(self.receives.keys[int(sends[0])], np.int64)
        tile = 2 * pairs[ROW[2 * pairs].argmax()]
        format_on = self.wide.write[self.receives.at(sends, tile)] - 2 - begin
        result: IntArray = format_on + until_format_on(tile) - format_on.max()
        return result
