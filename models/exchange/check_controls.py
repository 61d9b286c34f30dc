"""(E4), (E7): control events of a tile, and whether its row of instructions can hold them.

``ipu21.md`` 3.3 and 4. A row is walked in time with the set of parities that its number of words
can have so far, for delays and sends may be split wherever there is room.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ipuopt.models.exchange.check_times import MOST, Times, Violation, told
from ipuopt.models.exchange.check_walk import (
    ADVANCED,
    COLLISION,
    END,
    KINDS,
    NEUTRAL,
    PIC,
    SOURCE,
    START,
    XPIC,
    walk,
)
from ipuopt.models.exchange.problem import BoolArray, IntArray, Problem


class _Control(NamedTuple):
    """One control event a receiver; ``kind`` is one for all or one each."""

    name: str
    receiver: IntArray
    event: IntArray
    kind: int | IntArray


def controls(
    problem: Problem, start: IntArray, times: Times, by_write: IntArray
) -> tuple[list[Violation], list[Violation]]:
    """Violations of (E4), and of (E7); the latter mean nothing where another rule is broken.

    Parameters
    ----------
    problem, start, times
        The schedule.
    by_write
        Receivers in order of tile and write window.
    """
    events = list(_events(problem, times, by_write))
    low = int(min(start.min(), times.opens.min()))
    span = int(max(times.done.max(), times.send_done.max())) + 1 - low
    token = np.concatenate(
        [
            *(
                _tokens(problem.destination_tile[c.receiver], c.event, c.kind, low, span)
                for c in events
            ),
            _tokens(problem.source, start, START, low, span),
            _tokens(problem.source, start + times.items, END, low, span),
        ]
    )
    token.sort()
    struck, counts, unfit, total = walk(token, span, low)
    names = _Names(problem, times, events, span, low)
    on_start: list[Violation] = []
    for kind in range(KINDS):
        messages = [
            f"tile {names.tile(t)}: {what} falls on the start of its own message"
            for t in struck[kind, : min(MOST, counts[kind])].tolist()
            for what in names.controls(t, exact=True)[:1]
        ]
        on_start += told("E4", messages, int(counts[kind]))
    messages = []
    for t, reason in unfit[: min(MOST, total)].tolist():
        why = (
            "coincide, but an event takes one XPIC and one PIC"
            if reason == COLLISION
            else "meet at an odd word of the row, with no room to pad"
        )
        messages.append(f"tile {names.tile(t)}: {' and '.join(names.controls(t))} {why}")
    return on_start, told("E7", messages, total)


def _events(problem: Problem, times: Times, by_write: IntArray) -> Iterator[_Control]:
    narrow = np.flatnonzero(~times.wide)
    opens = times.opens[narrow]
    yield _Control("source", narrow, opens, SOURCE)
    yield _Control("neutral", narrow, opens + times.length[narrow], NEUTRAL)
    advanced = np.where(_continues(problem, times, by_write)[narrow], ADVANCED, PIC)
    yield _Control("pointer", narrow, times.write[narrow], advanced)
    wide = np.flatnonzero(times.wide)
    early = np.flatnonzero(times.early)
    off = times.closes[wide]
    yield _Control("source", early, times.opens[early], XPIC)
    yield _Control("neutral", early, times.opens[early] + times.length[early], XPIC)
    yield _Control("format on", wide, off - times.length[wide], PIC)
    yield _Control("pointer", wide, times.write[wide], PIC)
    yield _Control("format off", wide, off, PIC)


def _tokens(tile: IntArray, event: IntArray, kind: int | IntArray, low: int, span: int) -> IntArray:
    token: IntArray = (tile * span + (event - low)) * KINDS + kind
    return token


def _continues(problem: Problem, times: Times, by_write: IntArray) -> BoolArray:
    """Receivers whose address the pointer has reached anyway (``ipu21.md`` 3.3 rule 2)."""
    receiver = problem.destination_tile[by_write]
    address = problem.destination_address[by_write]
    reached = address + 4 * times.length[by_write]
    narrow = ~times.wide[by_write]
    same = (receiver[1:] == receiver[:-1]) & narrow[1:] & narrow[:-1]
    result = np.zeros(len(receiver), np.bool_)
    result[by_write[1:]] = same & (reached[:-1] == address[1:])
    return result


class _Names:
    """Words for the tokens of a message."""

    def __init__(
        self, problem: Problem, times: Times, events: list[_Control], span: int, low: int
    ) -> None:
        self.problem, self.times, self.events = problem, times, events
        self.span, self.low = span, low

    def tile(self, token: int) -> int:
        return token // KINDS // self.span

    def controls(self, token: int, exact: bool = False) -> list[str]:
        """Control events at the tile and event of a token, or only those of its kind."""
        tile, event = divmod(token // KINDS, self.span)
        event += self.low
        found = []
        for control in self.events:
            at = np.flatnonzero(control.event == event)
            at = at[self.problem.destination_tile[control.receiver[at]] == tile]
            if exact:
                at = at[np.broadcast_to(control.kind, control.event.shape)[at] == token % KINDS]
            for k in control.receiver[at].tolist():
                found.append(f"{control.name} event {event} of transfer {self.times.transfer[k]}")
        return found
