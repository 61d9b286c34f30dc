"""Events of a schedule by ``ipu21.md`` 3.1 and 3.2, and how the checker tells violations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.models.exchange.problem import BoolArray, IntArray, Problem
from ipuopt.target.fabric import PARTNER, ROW, time_to_mux

Violation = tuple[str, str]

MOST = 10
"""Violations told for each label and kind; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Times:
    """Absolute events of a schedule.

    Attributes
    ----------
    items, least, send_done, completion
        Events of the send bus, P0, s done, and end of the payload; by transfer.
    transfer, length, wide
        Transfer of each receiver, its items, and whether they are pairs of words.
    early
        Receivers of Paired64 that a word reaches before their partner.
    opens, closes
        Source window of each receiver. It opens with the source event, except at a late receiver
        of Paired64: with "format on".
    write, done
        First event of the write window, and t done, by receiver.
    """

    items: IntArray
    least: IntArray
    send_done: IntArray
    completion: IntArray
    transfer: IntArray
    length: IntArray
    wide: BoolArray
    early: BoolArray
    opens: IntArray
    closes: IntArray
    write: IntArray
    done: IntArray


def times_of(problem: Problem, start: IntArray, paired: BoolArray) -> Times:
    """All events of a phase that is not empty."""
    first = problem.destination_start[:-1]
    transfer = np.repeat(np.arange(len(problem)), np.diff(problem.destination_start))
    items = np.where(paired, problem.words // 2, problem.words)
    length, wide = items[transfer], paired[transfer]
    source, receiver = problem.source[transfer], problem.destination_tile
    row = ROW[receiver]
    mux = time_to_mux(problem.tiles + problem.tiles % 2)
    time = mux[source, receiver]
    least = np.maximum(0, -np.minimum.reduceat(time, first))
    opens = start[transfer] + time + 1
    closes = opens + length
    write = opens + np.where(length == 52, 51, 52) + 2 * row
    done = closes + 57 + 2 * row
    early = np.zeros(len(transfer), np.bool_)
    k = np.flatnonzero(wide)
    if len(k):
        other = mux[source[k], PARTNER[receiver[k]]]
        latest = np.maximum(time[k], other)
        nearest = np.full(len(problem), np.iinfo(np.int64).max)
        np.minimum.at(nearest, transfer[k], latest)
        shift = np.maximum(0, 1 - nearest)
        event = (start - least + shift)[transfer[k]] + latest
        early[k] = time[k] < other
        format_on = event + 51 + 2 * row[k]
        opens[k] = np.where(early[k], event, format_on)
        closes[k] = format_on + length[k]
        write[k] = format_on + 2
        done[k] = closes[k] + 7
    return Times(
        items=items,
        least=least,
        send_done=np.maximum(start + items, 6 + start - least),
        completion=np.maximum(start + items, np.maximum.reduceat(write + length, first)),
        transfer=transfer,
        length=length,
        wide=wide,
        early=early,
        opens=opens,
        closes=closes,
        write=write,
        done=done,
    )


def told(label: str, messages: list[str], total: int) -> list[Violation]:
    """First messages, and a count of those left out."""
    more = [f"{total - len(messages)} more of this kind"] if total > len(messages) else []
    return [(label, message) for message in messages + more]


def sorted_by(tile: IntArray, value: IntArray) -> IntArray:
    """Order by tile, then value, ties as given; one sort of whole numbers, no tables of two keys."""
    low = value.min()
    span = int(value.max() - low) + 1
    return np.argsort(tile * span + (value - low), kind="stable")
