"""(E5), (E6): what the memory of a tile forbids (``ipu21.md`` 2, 3.3 rules 7 and 8).

A transfer with several source addresses reads all of their spans.
"""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import small_kernel
from ipuopt.models.exchange.check_times import MOST, Times, Violation, sorted_by, told
from ipuopt.models.exchange.problem import BoolArray, IntArray, Problem
from ipuopt.target.memory import element_range


def order(problem: Problem, start: IntArray, times: Times) -> list[Violation]:
    """(E5)."""
    count, iterations = problem.source_address.shape
    transfer = np.concatenate((np.repeat(np.arange(count), iterations), times.transfer))
    tile = np.concatenate((np.repeat(problem.source, iterations), problem.destination_tile))
    low = np.concatenate((problem.source_address.ravel(), problem.destination_address))
    order = sorted_by(tile, low)
    high = low + 4 * problem.words[transfer]
    total, pairs = _early_pairs(
        tile[order],
        low[order],
        high[order],
        (order >= count * iterations),
        transfer[order],
        start,
        times.completion,
    )
    messages = [
        f"transfer {after} starts at {start[after]}, before transfer {before}, which touches the "
        f"same memory, is complete at {times.completion[before]}"
        for before, after in pairs
    ]
    return told("E5", messages, total)


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
    """Count the pairs of spans that break (E5), list the first; spans sorted by (tile, low)."""
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


def elements(problem: Problem, start: IntArray, times: Times) -> list[Violation]:
    """(E6)."""
    sends = sorted_by(problem.source, start)
    receives = sorted_by(problem.destination_tile, times.write)
    send_low, send_high = element_range(problem.source_address, 4 * problem.words[:, None])
    low, high = element_range(problem.destination_address, 4 * problem.words[times.transfer])
    total, pairs = _sharing_pairs(
        (problem.source[sends], start[sends], times.send_done[sends]),
        (send_low[sends], send_high[sends]),
        (problem.destination_tile[receives], times.write[receives], times.done[receives]),
        (low[receives], high[receives]),
    )
    messages = []
    for one, other in pairs:
        send, receive = sends[one], receives[other]
        messages.append(
            f"tile {problem.source[send]}: send of transfer {send} [{start[send]}, "
            f"{times.send_done[send]}) and receive of transfer {times.transfer[receive]} "
            f"[{times.write[receive]}, {times.done[receive]}) use one memory element at a time"
        )
    return told("E6", messages, total)


@small_kernel
def _sharing_pairs(
    send: tuple[IntArray, IntArray, IntArray],
    send_element: tuple[IntArray, IntArray],
    receive: tuple[IntArray, IntArray, IntArray],
    receive_element: tuple[IntArray, IntArray],
) -> tuple[int, IntArray]:
    """Count the pairs that break (E6) and list the first.

    Intervals are ``(tile, begin, end)``, sorted by (tile, begin); elements ``(low, high)``,
    inclusive, of sends one a source address. ``open_at`` is the latest end so far on the tile:
    receives before ``first`` have all ended when a send begins.
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
            if end[other] > send_begin[one] and np.any(
                (send_element[0][one] <= receive_element[1][other])
                & (receive_element[0][other] <= send_element[1][one])
            ):
                if total < MOST:
                    pairs[total, 0] = one
                    pairs[total, 1] = other
                total += 1
            other += 1
    return total, pairs[: min(total, MOST)]
