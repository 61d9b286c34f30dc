"""From the events of rows back to the schedule they carry out.

Written from ``ipu21.md`` 3 and sharing nothing with the encoder, so that it judges it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ipuopt.codegen.rows.decode import SEND, SEND_ON, Events
from ipuopt.codegen.rows.receives import Receives, demand, receives_of
from ipuopt.errors import InputError
from ipuopt.models.exchange.problem import BoolArray, IntArray, Problem, Solution
from ipuopt.target.constants import SEND_LATENCY
from ipuopt.target.fabric import PARTNER, direction, time_to_mux

HashArray = npt.NDArray[np.uint64]

_EVENTS = 1 << 40


@dataclass(frozen=True, slots=True)
class _Transfers:
    """Transfers with their receivers in order of tiles; ``start`` decides between equal ones."""

    source: IntArray
    address: IntArray
    words: IntArray
    start: IntArray
    bounds: IntArray
    tile: IntArray
    receiver_address: IntArray

    def sorted(self) -> tuple[IntArray, _Transfers]:
        """Equal transfers in equal places, whatever their order; and that order."""
        receivers = np.diff(self.bounds)
        each = _mixed(self.tile, self.receiver_address)
        sums = np.add.reduceat(each, self.bounds[:-1]) if len(each) else each
        key = _mixed(self.source, self.address, self.words, sums.astype(np.int64))
        order = np.lexsort((self.start, key))
        counts = receivers[order]
        bounds = np.concatenate(([0], np.cumsum(counts)))
        place = np.repeat(self.bounds[:-1][order] - bounds[:-1], counts) + np.arange(bounds[-1])
        return order, _Transfers(
            self.source[order],
            self.address[order],
            self.words[order],
            self.start[order],
            bounds,
            self.tile[place],
            self.receiver_address[place],
        )


def rebuild(problem: Problem, events: Events, *, iteration: int = 0) -> Solution:
    """Start and width of every transfer of a phase, from the decoded rows alone.

    Equal transfers are told apart by their starts only: the earlier listed one gets the earlier.

    Parameters
    ----------
    problem
        The phase; says which transfer is which.
    events
        Decoded rows.
    iteration
        Which of the source addresses of a repeat the rows send from.

    Raises
    ------
    InputError
        With tile and event, where the rows do not carry out exactly the phase's transfers.
    """
    found, wide = _transfers(events)
    receivers = np.diff(problem.destination_start)
    order = np.lexsort((problem.destination_tile, np.repeat(np.arange(len(problem)), receivers)))
    listed = _Transfers(
        problem.source,
        problem.source_address[:, iteration],
        problem.words,
        np.arange(len(problem)),
        problem.destination_start,
        problem.destination_tile[order],
        problem.destination_address[order],
    )
    _compare_count(problem, found)
    expected_order, expected = listed.sorted()
    order, carried = found.sorted()
    _compare(expected, carried)
    start, paired = np.zeros(len(problem), np.int64), np.zeros(len(problem), np.bool_)
    start[expected_order], paired[expected_order] = carried.start, wide[order]
    return Solution(start, paired)


def _transfers(events: Events) -> tuple[_Transfers, BoolArray]:
    """Messages joined with what is received of them."""
    tile = np.repeat(np.arange(len(events.bounds) - 1), np.diff(events.bounds))
    heads = np.flatnonzero(events.kind == SEND)
    sent = np.where((events.kind == SEND) | (events.kind == SEND_ON), events.items, 0)
    # Controls between the pieces of a message count nothing.
    items = np.add.reduceat(sent, heads) if len(heads) else heads
    source, start = tile[heads], events.event[heads]
    control, address = events.control[heads], events.address[heads]
    wide = control >= 4
    receives = receives_of(events)
    order = np.lexsort((receives.tile, receives.start, receives.source))
    key = (receives.source * _EVENTS + receives.start)[order]
    message = np.searchsorted(source * _EVENTS + start, key)
    _joined(receives, order, message, source, start, items, wide)
    bounds = np.searchsorted(message, np.arange(len(heads) + 1))
    counts = np.diff(bounds)
    demand(counts == 0, source, start, "somebody who receives this message")
    _directions(receives, order, bounds, source, start, control)
    _ended(receives, events, source, _sent(receives, order, bounds, source, start, items), wide)
    found = _Transfers(
        source,
        address * np.where(wide, 8, 4),
        items * np.where(wide, 2, 1),
        start,
        bounds,
        receives.tile[order],
        receives.address[order],
    )
    return found, wide


def _joined(
    receives: Receives,
    order: IntArray,
    message: IntArray,
    source: IntArray,
    start: IntArray,
    items: IntArray,
    wide: BoolArray,
) -> None:
    """Every receive has its message, of its length and width."""
    bad = message >= len(source)
    message = np.where(bad, 0, message)
    if len(source):
        bad |= source[message] != receives.source[order]
        bad |= start[message] != receives.start[order]
        bad |= items[message] != receives.items[order]
        bad |= wide[message] != receives.wide[order]
    right = "a message of the length and width that another tile receives of it"
    demand(bad, receives.source[order], receives.start[order], right)


def _ended(
    receives: Receives, events: Events, source: IntArray, sent: IntArray, wide: BoolArray
) -> None:
    """No row ends before what it sends, receives, or leaves the path to its partner for."""
    tile = np.concatenate((receives.tile, source, PARTNER[source[wide]]))
    needed = np.concatenate((receives.done, sent, sent[wide]))
    known = np.minimum(tile, len(events.done) - 1)
    bad = (tile >= len(events.done)) | (events.done[known] < needed)
    demand(bad, tile, needed, "a row that lasts until then")


def _sent(
    receives: Receives,
    order: IntArray,
    bounds: IntArray,
    source: IntArray,
    start: IntArray,
    items: IntArray,
) -> IntArray:
    """Event until which each message holds its sender: a short one longer than it takes itself."""
    if not len(source):
        return start
    mux = time_to_mux()[np.repeat(source, np.diff(bounds)), receives.tile[order]].astype(np.int64)
    head = np.maximum(0, -np.minimum.reduceat(mux, bounds[:-1]))
    held: IntArray = start + np.maximum(items, SEND_LATENCY - head)
    return held


def _directions(
    receives: Receives,
    order: IntArray,
    bounds: IntArray,
    source: IntArray,
    start: IntArray,
    control: IntArray,
) -> None:
    """Control of each message: one direction for a tile or pair, both for more."""
    single = np.diff(bounds) <= np.where(control >= 4, 2, 1)
    first = receives.tile[order][bounds[:-1]]
    way = np.where(single, direction()[source, first], 3) + np.where(control >= 4, 4, 0)
    demand(control != way, source, start, "a message in the direction of its receivers")


def _mixed(*columns: IntArray) -> HashArray:
    """A hash of each row of columns (the multiplier of Knuth's MMIX generator)."""
    result = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        result = (result ^ column.astype(np.uint64)) * np.uint64(6364136223846793005)
        result ^= result >> np.uint64(29)
    return result


def _compare_count(problem: Problem, found: _Transfers) -> None:
    if len(found.source) != len(problem):
        count = f"found {len(found.source)} messages, expected {len(problem)}"
        raise InputError(f"rows of {problem.name}: {count}")


def _compare(expected: _Transfers, carried: _Transfers) -> None:
    bad = np.zeros(len(expected.source), np.bool_)
    for name in ("source", "address", "words"):
        bad |= getattr(expected, name) != getattr(carried, name)
    bad |= np.diff(expected.bounds) != np.diff(carried.bounds)
    demand(bad, carried.source, carried.start, "a transfer of the phase")
    owner = np.repeat(np.arange(len(bad)), np.diff(expected.bounds))
    wrong = (expected.tile != carried.tile) | (
        expected.receiver_address != carried.receiver_address
    )
    bad[owner[wrong]] = True
    demand(bad, carried.source, carried.start, "a transfer of the phase, with its receivers")
