"""What a transfer takes of each bus, element and control, as intervals from its start.

A claim says: no event of ``[P + test_first, + test_length)`` may be taken in bit row ``test_row``,
and once the transfer is placed, ``[P + fill_first, + fill_length)`` of ``fill_row`` is. Every rule
(E2), (E3), (E4), (E6) is a set of claims, so insertion knows nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ipuopt.models.exchange.conflicts import Hot
from ipuopt.models.exchange.problem import BoolArray, IntArray, Problem
from ipuopt.models.exchange.timing import Timing
from ipuopt.target.fabric import PARTNER

Int32Array = npt.NDArray[np.int32]


class Row(IntEnum):
    """Families of bit rows, one row a tile each; those of hot elements follow."""

    SEND = 0
    WINDOW = 1
    WRITE = 2
    START = 3
    MUX = 4
    POINTER = 5
    HOT = 6


BUSES = 3
"""Families of which a claim tests and fills the same events: gaps in them can be too short."""

TEST_ROW, TEST_FIRST, TEST_LENGTH, FILL_ROW, FILL_FIRST, FILL_LENGTH = range(6)
"""Columns of a claim."""


class Claims(NamedTuple):
    """Claims by transfer: those with a test are ``[start[j], stop[j])``, all ``[.., start[j + 1])``.

    ``table`` has shape ``(claims, 6)``.
    """

    start: IntArray
    stop: IntArray
    table: Int32Array


@dataclass(frozen=True, slots=True)
class _Part:
    """Claims of one kind, sorted by transfer; scalars stand for columns."""

    transfer: IntArray
    test: tuple[IntArray, IntArray | int, IntArray | int]
    fill: tuple[IntArray, IntArray | int, IntArray | int]


def claims_of(problem: Problem, paired: BoolArray, times: Timing, hot: Hot) -> Claims:
    """All claims of a phase for one choice of widths."""
    parts = [*_sends(problem, times), *_windows(problem, paired, times)]
    controls = _controls(problem, paired, times)
    parts += [part for part, tested in controls if tested]
    parts += [*_elements(problem, times, hot), *_partners(problem, paired, times)]
    return _joined(len(problem), parts, [part for part, tested in controls if not tested])


def _bus(transfer: IntArray, row: IntArray, first: IntArray | int, length: IntArray) -> _Part:
    """Claims that test what they fill."""
    return _Part(transfer, test=(row, first, length), fill=(row, first, length))


def _row(family: Row, tiles: int, tile: IntArray) -> IntArray:
    return family * tiles + tile


def _sends(problem: Problem, times: Timing) -> list[_Part]:
    """(E2), and own starts against control events (E4) where a tile receives as well."""
    tiles, tile = problem.tiles, problem.source
    everyone = np.arange(len(problem))
    bus = _row(Row.SEND, tiles, tile)
    part = _bus(everyone, bus, 0, times.items)
    receives = np.zeros(tiles, np.bool_)
    receives[problem.destination_tile] = True
    both = np.flatnonzero(receives[tile])
    start = _row(Row.START, tiles, tile[both])
    rows = [_row(family, tiles, tile[both]) for family in (Row.MUX, Row.POINTER)]
    return [
        part,
        _Part(both, test=(rows[0], 0, 2), fill=(start, 0, 1)),
        _Part(both, test=(rows[1], 0, 2), fill=(start, 0, 0)),
    ]


def _windows(problem: Problem, paired: BoolArray, times: Timing) -> list[_Part]:
    """(E3), and controls of Paired64 receives that may not meet others of the same kind.

    On tiles with Paired64 receives a source window also takes the event before it, where a neutral
    event would coincide with its source event; their write windows begin at "format on".
    """
    tiles, tile = problem.tiles, problem.destination_tile
    transfer = np.repeat(np.arange(len(problem)), np.diff(problem.destination_start))
    margin = receives_pairs(problem, paired)[tile].astype(np.int64)
    window = _row(Row.WINDOW, tiles, tile)
    both = np.flatnonzero(both_windows(problem, paired)[tile])
    before = 2 * paired[transfer[both]]
    first, length = times.write[both] - before, times.write_length[both] + before
    write = _row(Row.WRITE, tiles, tile[both])
    return [
        _bus(transfer, window, times.window - margin, times.window_length + margin),
        _bus(transfer[both], write, first, length),
    ]


def receives_pairs(problem: Problem, paired: BoolArray) -> BoolArray:
    """Tiles that receive some Paired64 transfer, shape ``(tiles,)``."""
    result = np.zeros(problem.tiles, np.bool_)
    result[problem.destination_tile[np.repeat(paired, np.diff(problem.destination_start))]] = True
    return result


def both_windows(problem: Problem, paired: BoolArray) -> BoolArray:
    """Tiles whose write windows must be looked at besides the source windows, shape ``(tiles,)``.

    Where all receives of a tile lie equally far behind their windows, the windows tell all.
    """
    transfer = np.repeat(np.arange(len(problem)), np.diff(problem.destination_start))
    tile = problem.destination_tile
    narrow = np.zeros((2, problem.tiles), np.bool_)
    narrow[(problem.words[transfer] == 52).astype(np.int64), tile] = True
    both: BoolArray = narrow[0] & narrow[1]
    both |= receives_pairs(problem, paired)
    both[PARTNER[problem.source[paired]]] = True
    return both


def control_events(
    wide: BoolArray, window: IntArray, write: IntArray, write_length: IntArray
) -> tuple[tuple[Row, BoolArray, IntArray], ...]:
    """Kinds of control events (``ipu21.md`` 3.2, 3.3): family, receivers that have it, offset.

    Columns by receiver: whether it is Paired64, and its windows. Only an early receiver of a
    Paired64 transfer has events of the mux: its window opens before "format on".
    """
    format_on = write - 2
    opened = ~wide | (window < format_on)
    return (
        (Row.MUX, opened, window),
        (Row.MUX, opened, window + write_length),
        (Row.POINTER, np.ones_like(wide), write),
        (Row.POINTER, wide, format_on),
        (Row.POINTER, wide, format_on + write_length),
    )


def _controls(problem: Problem, paired: BoolArray, times: Timing) -> list[tuple[_Part, bool]]:
    """Control events: tested against own starts (E4) on tiles that send; the others only fill."""
    tiles, tile = problem.tiles, problem.destination_tile
    transfer = np.repeat(np.arange(len(problem)), np.diff(problem.destination_start))
    events = control_events(paired[transfer], times.window, times.write, times.write_length)
    sends = np.zeros(tiles, np.bool_)
    sends[problem.source] = True
    result = []
    for family, there, event in events:
        for tested in (True, False):
            some = np.flatnonzero(there & (sends[tile] == tested))
            start = _row(Row.START, tiles, tile[some])
            fill = (_row(family, tiles, tile[some]), event[some], 1)
            if tested:  # a start at the event or the one before
                result.append((_Part(transfer[some], (start, event[some] - 1, 2), fill), True))
            else:
                result.append((_Part(transfer[some], (start, 0, 0), fill), False))
    return result


def _elements(problem: Problem, times: Timing, hot: Hot) -> list[_Part]:
    """(E6): sends look at the receives of their elements, receives at the sends.

    Only the bus events are filled, so that no two transfers fill one event; the events by which
    either end is done later are tested instead, the most of any on the tile.
    """
    sent = Row.HOT * problem.tiles
    received = sent + hot.elements
    everyone = np.arange(len(problem))
    send_more = times.send_done - times.items
    receive_more = times.done - times.write - times.write_length
    send_most = np.zeros(problem.tiles, np.int64)
    np.maximum.at(send_most, problem.source, send_more)
    receive_most = np.zeros(problem.tiles, np.int64)
    np.maximum.at(receive_most, problem.destination_tile, receive_more)
    sends = np.repeat(everyone, np.diff(hot.send_start))
    before = receive_most[problem.source[sends]]
    index = np.repeat(np.arange(len(times.write)), np.diff(hot.receive_start))
    receives = np.repeat(everyone, np.diff(problem.destination_start))[index]
    first, length = times.write[index], times.write_length[index]
    earlier = send_most[problem.destination_tile[index]]
    return [
        _Part(
            sends,
            test=(received + hot.send_element, -before, times.send_done[sends] + before),
            fill=(sent + hot.send_element, 0, times.items[sends]),
        ),
        _Part(
            receives,
            test=(
                sent + hot.receive_element,
                first - earlier,
                length + receive_more[index] + earlier,
            ),
            fill=(received + hot.receive_element, first, length),
        ),
    ]


def _partners(problem: Problem, paired: BoolArray, times: Timing) -> list[_Part]:
    """The partner of a Paired64 sender neither sends nor receives meanwhile."""
    wide = np.flatnonzero(paired)
    partner = PARTNER[problem.source[wide]]
    return [
        _bus(wide, _row(Row(family), problem.tiles, partner), 0, times.send_done[wide])
        for family in range(BUSES)
    ]


def _joined(count: int, tests: list[_Part], fills: list[_Part]) -> Claims:
    """Sort claims by transfer, tests first, kinds in the order given."""
    counts = [np.bincount(part.transfer, minlength=count) for part in (*tests, *fills)]
    each = np.sum(counts, axis=0, dtype=np.int64)
    start = np.concatenate((np.zeros(1, np.int64), np.cumsum(each)))
    place = start[:-1].copy()
    table = np.empty((int(start[-1]), 6), np.int32)
    stop = place
    for number, (part, own) in enumerate(zip((*tests, *fills), counts, strict=True)):
        if number == len(tests):
            stop = place.copy()
        first = np.cumsum(own) - own
        at = np.arange(len(part.transfer)) + (place - first)[part.transfer]
        for column, value in enumerate((*part.test, *part.fill)):
            table[at, column] = value
        place = place + own
    return Claims(start, stop if fills else place, table)
