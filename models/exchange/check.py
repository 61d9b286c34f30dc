"""Exact rules of a phase, judged from the formulation alone; no code of the solving side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ipuopt.compiled import small_kernel
from ipuopt.models.exchange.problem import IntArray, Problem, Solution
from ipuopt.target.fabric import ROW, time_to_mux
from ipuopt.target.memory import element_range

BoolArray = npt.NDArray[np.bool_]
Violation = tuple[str, str]

MOST = 10
"""Violations told for each label and kind; the rest is counted."""
LATEST = 1 << 31
"""Events that a start must stay below to be judged at all."""


@dataclass(frozen=True, slots=True)
class _Times:
    """Absolute events (``ipu21.md`` 3.1), by receiver but for the last three."""

    transfer: IntArray
    words: IntArray
    x: IntArray
    y: IntArray
    done: IntArray
    least: IntArray
    send_done: IntArray
    completion: IntArray


def _times(problem: Problem, start: IntArray) -> _Times:
    transfer = np.repeat(np.arange(len(problem)), np.diff(problem.destination_start))
    words = problem.words[transfer]
    row = ROW[problem.destination_tile]
    mux = time_to_mux(problem.tiles)[problem.source[transfer], problem.destination_tile]
    first = problem.destination_start[:-1]
    least = np.maximum(0, -np.minimum.reduceat(mux, first))
    x = start[transfer] + mux + 1
    y = x + np.where(words == 52, 51, 52) + 2 * row
    write_end = np.maximum.reduceat(y + words, first)
    return _Times(
        transfer=transfer,
        words=words,
        x=x,
        y=y,
        done=x + words + 57 + 2 * row,
        least=least,
        send_done=np.maximum(start + problem.words, 6 + start - least),
        completion=np.maximum(start + problem.words, write_end),
    )


def horizon(problem: Problem, solution: Solution) -> int:
    """Largest "done" over all tiles, in events; 0 for an empty phase (``ipu21.md`` 3.1)."""
    if not len(problem):
        return 0
    times = _times(problem, np.asarray(solution.start, dtype=np.int64))
    return int(max(times.done.max(), times.send_done.max()))


def check(problem: Problem, solution: Solution) -> tuple[Violation, ...]:
    """Violations of (E1)..(E6) as ``(label, message)``; empty for a valid schedule.

    Of each kind :data:`MOST` are told, and one more message counts the rest. A schedule that
    cannot be judged, by its shape or by starts from 2^31 on, has the one label ``shape``.
    """
    start = np.asarray(solution.start)
    if start.shape != (len(problem),) or start.dtype.kind not in "iu":
        found = f"starts of type {start.dtype} and shape {start.shape}"
        return (("shape", f"{found}, expected integers of shape ({len(problem)},)"),)
    if not len(problem):
        return ()
    if start.max() >= LATEST or start.min() <= -LATEST:
        return (("shape", f"starts {start.min()}..{start.max()}, expected below {LATEST}"),)
    start = start.astype(np.int64)
    times = _times(problem, start)
    index = np.arange(len(problem), dtype=np.int64)
    receiver = problem.destination_tile
    return (
        *_least(start, times),
        *_apart("E2", "sends", problem.source, start, problem.words, index),
        *_apart("E3", "source windows", receiver, times.x, times.words, times.transfer),
        *_apart("E3", "write windows", receiver, times.y, times.words, times.transfer),
        *_controls(problem, start, times),
        *_order(problem, start, times),
        *_elements(problem, start, times),
    )


def _told(label: str, messages: list[str], total: int) -> list[Violation]:
    """First messages, and a count of those left out."""
    more = [f"{total - len(messages)} more of this kind"] if total > len(messages) else []
    return [(label, message) for message in messages + more]


def _sorted(tile: IntArray, value: IntArray) -> IntArray:
    """Order by tile, then value, ties as given; one sort of whole numbers, no tables of two keys."""
    low = value.min()
    span = int(value.max() - low) + 1
    return np.argsort(tile * span + (value - low), kind="stable")


def _least(start: IntArray, times: _Times) -> list[Violation]:
    """(E1)."""
    bad = np.flatnonzero(start < times.least)
    told = [f"transfer {j} starts at {start[j]}, before {times.least[j]}" for j in bad[:MOST]]
    return _told("E1", told, len(bad))


def _apart(
    label: str, what: str, tile: IntArray, begin: IntArray, words: IntArray, transfer: IntArray
) -> list[Violation]:
    """(E2), (E3): intervals of one tile do not overlap; neighbours in time tell."""
    order = _sorted(tile, begin)
    tile, begin, end = tile[order], begin[order], (begin + words)[order]
    bad = np.flatnonzero((tile[1:] == tile[:-1]) & (begin[1:] < end[:-1]))
    told = [
        f"tile {tile[k]}: {what} of transfers {transfer[order[k]]} [{begin[k]}, {end[k]}) and "
        f"{transfer[order[k + 1]]} [{begin[k + 1]}, {end[k + 1]}) overlap"
        for k in bad[:MOST]
    ]
    return _told(label, told, len(bad))


def _controls(problem: Problem, start: IntArray, times: _Times) -> list[Violation]:
    """(E4): control events against the first two events of the tile's own messages."""
    low = int(min(start.min(), times.x.min())) - 1
    span = int(times.done.max()) - low + 1  # (tile, event) as one integer
    receiver = problem.destination_tile
    own = np.unique(problem.source * span + start - low)

    def hits(event: IntArray) -> BoolArray:
        key = receiver * span + event - low
        slots = np.searchsorted(own, np.stack((key, key - 1)))
        at = own[np.minimum(slots, len(own) - 1)]
        found: BoolArray = (at[0] == key) | (at[1] == key - 1)
        return found

    result: list[Violation] = []
    kinds = (
        ("source", times.x, hits(times.x)),
        ("neutral", times.x + times.words, hits(times.x + times.words)),
        ("pointer", times.y, hits(times.y) & ~_continues(problem, times)),
    )
    for kind, event, bad in kinds:
        told = [
            f"tile {receiver[k]}: {kind} event {event[k]} of transfer {times.transfer[k]} falls on "
            "the start of its own message"
            for k in np.flatnonzero(bad)[:MOST]
        ]
        result += _told("E4", told, int(bad.sum()))
    return result


def _continues(problem: Problem, times: _Times) -> BoolArray:
    """Receives whose address the pointer has reached anyway (``ipu21.md`` 3.3 rule 2)."""
    receiver = problem.destination_tile
    order = _sorted(receiver, times.x)
    address = problem.destination_address[order]
    reached = address + 4 * times.words[order]
    result = np.zeros(len(order), np.bool_)
    same = receiver[order][1:] == receiver[order][:-1]
    result[order[1:]] = same & (reached[:-1] == address[1:])
    return result


def _order(problem: Problem, start: IntArray, times: _Times) -> list[Violation]:
    """(E5)."""
    transfer = np.concatenate((np.arange(len(problem)), times.transfer))
    tile = np.concatenate((problem.source, problem.destination_tile))
    low = np.concatenate((problem.source_address, problem.destination_address))
    order = _sorted(tile, low)
    high = low + 4 * problem.words[transfer]
    total, pairs = _early_pairs(
        tile[order],
        low[order],
        high[order],
        (order >= len(problem)),
        transfer[order],
        start,
        times.completion,
    )
    told = [
        f"transfer {after} starts at {start[after]}, before transfer {before}, which touches the "
        f"same memory, is complete at {times.completion[before]}"
        for before, after in pairs
    ]
    return _told("E5", told, total)


@small_kernel
def _early_pairs(
    tile: IntArray,
    low: IntArray,
    high: IntArray,
    writes: BoolArray,
    transfer: IntArray,
    start: IntArray,
    completion: IntArray,
) -> tuple[int, IntArray]:
    """Count the pairs that break (E5) and list the first; spans sorted by (tile, low)."""
    pairs = np.empty((MOST, 2), np.int64)
    total = 0
    for one in range(len(tile)):
        other = one + 1
        while other < len(tile) and tile[other] == tile[one] and low[other] < high[one]:
            if writes[one] or writes[other]:
                before = min(transfer[one], transfer[other])
                after = max(transfer[one], transfer[other])
                if start[after] < completion[before]:
                    if total < MOST:
                        pairs[total, 0] = before
                        pairs[total, 1] = after
                    total += 1
            other += 1
    return total, pairs[: min(total, MOST)]


def _elements(problem: Problem, start: IntArray, times: _Times) -> list[Violation]:
    """(E6)."""
    sends = _sorted(problem.source, start)
    receives = _sorted(problem.destination_tile, times.y)
    send_low, send_high = element_range(problem.source_address, 4 * problem.words)
    low, high = element_range(problem.destination_address, 4 * times.words)
    total, pairs = _sharing_pairs(
        (problem.source[sends], start[sends], times.send_done[sends]),
        (send_low[sends], send_high[sends]),
        (problem.destination_tile[receives], times.y[receives], times.done[receives]),
        (low[receives], high[receives]),
    )
    told = []
    for one, other in pairs:
        send, receive = sends[one], receives[other]
        told.append(
            f"tile {problem.source[send]}: send of transfer {send} [{start[send]}, "
            f"{times.send_done[send]}) and receive of transfer {times.transfer[receive]} "
            f"[{times.y[receive]}, {times.done[receive]}) use one memory element at a time"
        )
    return _told("E6", told, total)


@small_kernel
def _sharing_pairs(
    send: tuple[IntArray, IntArray, IntArray],
    send_element: tuple[IntArray, IntArray],
    receive: tuple[IntArray, IntArray, IntArray],
    receive_element: tuple[IntArray, IntArray],
) -> tuple[int, IntArray]:
    """Count the pairs that break (E6) and list the first.

    Intervals are ``(tile, begin, end)``, sorted by (tile, begin); elements ``(low, high)``,
    inclusive. ``open_at`` is the latest end so far on the tile: receives before ``first`` have
    all ended when a send begins.
    """
    send_tile, send_begin, send_end = send
    tile, begin, end = receive
    open_at = np.empty(len(tile), np.int64)
    for k in range(len(tile)):
        open_at[k] = end[k]
        if k and tile[k - 1] == tile[k]:
            open_at[k] = max(end[k], open_at[k - 1])
    pairs = np.empty((MOST, 2), np.int64)
    total = 0
    first = 0
    for one in range(len(send_tile)):
        while first < len(tile) and (
            tile[first] < send_tile[one]
            or (tile[first] == send_tile[one] and open_at[first] <= send_begin[one])
        ):
            first += 1
        other = first
        while other < len(tile) and tile[other] == send_tile[one] and begin[other] < send_end[one]:
            if (
                end[other] > send_begin[one]
                and send_element[0][one] <= receive_element[1][other]
                and receive_element[0][other] <= send_element[1][one]
            ):
                if total < MOST:
                    pairs[total, 0] = one
                    pairs[total, 1] = other
                total += 1
            other += 1
    return total, pairs[: min(total, MOST)]
