"""Two-word instructions at even words: encodable exactly where some row exists."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipuopt.codegen.rows import decode_rows
from ipuopt.codegen.rows.decode import POINTER, SOURCE
from ipuopt.codegen.rows.encode import rows_of
from ipuopt.codegen.rows.instructions import TABLE
from ipuopt.codegen.rows.steps import CONTROL, END, START, Steps
from ipuopt.errors import CheckError

MESSAGE = (0x18000 << TABLE["send"].shift("a")) + 1
XPIC, PIC = 5, 77


@dataclass(frozen=True)
class Row:
    """What a row must do: messages as P: Q, controls as event: (XPIC, PIC, PIC is optional)."""

    messages: Mapping[int, int]
    controls: Mapping[int, tuple[bool, bool, bool]]
    done: int

    def without(self, dropped: tuple[int, ...]) -> Row:
        controls = {e: (x, p and e not in dropped, o) for e, (x, p, o) in self.controls.items()}
        return replace(self, controls={e: c for e, c in controls.items() if c[0] or c[1]})


def exists(row: Row) -> bool:
    """Whether instructions of any lengths do it, with any choice of optional pointers."""
    optional = [event for event, control in row.controls.items() if control[2]]
    subsets = itertools.chain.from_iterable(
        itertools.combinations(optional, count) for count in range(len(optional) + 1)
    )
    return any(exists_exactly(row.without(dropped)) for dropped in subsets)


def exists_exactly(row: Row) -> bool:
    """Exhaustive search over rows, instruction by instruction."""
    pairs = {event: control[0] and control[1] for event, control in row.controls.items()}

    def free(first: int, last: int) -> bool:
        return not any(first <= event <= last for event in pairs)

    @cache
    def idle(at: int, odd: bool) -> bool:
        if at in row.messages:
            stop = row.messages[at]
            ends = range(at + 1, min(stop, at + 64) + 1)
            return any(free(at, end) and sending(end, not odd, stop) for end in ends)
        if at == row.done:
            return True
        limit = min([row.done, *(start for start in row.messages if start > at)])
        for end in range(at + 1, limit + 1):
            alone = end in pairs and not pairs[end]
            if (alone or end not in pairs) and free(at + 1, end - 1) and idle(end, not odd):
                return True
            pair = pairs.get(at + 1, False) and not odd
            if pair and end <= at + 64 and free(at + 2, end) and idle(end, odd):
                return True
        return False

    @cache
    def sending(at: int, odd: bool, stop: int) -> bool:
        if at == stop:
            return idle(at, odd)
        for end in range(at + 1, min(stop, at + 64) + 1):
            pair = pairs.get(at + 1, False)
            if free(at + 2, end) and not (pair and odd) and sending(end, odd != (not pair), stop):
                return True
        return False

    return idle(0, False)


def random_row(random: np.random.Generator) -> Row:
    """Dense events, none of them on the first two of a message."""
    at = int(random.integers(0, 4))
    messages: dict[int, int] = {}
    for _ in range(int(random.integers(0, 3))):
        stop = at + int(random.integers(1, 7))
        messages[at] = stop
        at = stop + int(random.integers(0, 6))
    controls = {}
    for event in range(1, at + 5):
        blocked = event in messages or event - 1 in messages
        if not blocked and random.random() < 0.5:
            both = random.random() < 0.5
            pic = both or random.random() < 0.5
            controls[event] = (both or not pic, pic, pic and random.random() < 0.2)
    return Row(messages, controls, max([at, *controls]) + int(random.integers(0, 3)))


def steps_of(rows: list[Row]) -> Steps:
    columns: list[tuple[int, int, int, int, bool, int]] = []
    bounds = [0]
    for row in rows:
        own = [(p, START, -1, -1, False, MESSAGE) for p in row.messages]
        own += [(q, END, -1, -1, False, -1) for q in row.messages.values()]
        for event, (xpic, pic, optional) in row.controls.items():
            values = XPIC if xpic else -1, PIC if pic else -1
            own.append((event, CONTROL, *values, optional, -1))
        columns += sorted(own)
        bounds.append(len(columns))
    table = np.array(columns, np.int64).reshape(-1, 6).T.copy()
    return Steps(
        bounds=np.array(bounds),
        done=np.array([row.done for row in rows]),
        event=table[0],
        kind=table[1],
        xpic=table[2],
        pic=table[3],
        optional=table[4].astype(np.bool_),
        message=table[5],
        clash=np.zeros(len(columns), np.bool_),
    )


def assert_events(row: Row, steps: Steps) -> None:
    """The one row does what is wanted, and leaves out optional pointers only."""
    events = decode_rows(rows_of("rows", steps))
    assert events.done[0] == row.done
    for kind, place in ((SOURCE, 0), (POINTER, 1)):
        chosen = events.kind == kind
        found = set(events.event[chosen].tolist())
        assert len(found) == chosen.sum()
        wanted = {event for event, control in row.controls.items() if control[place]}
        spare = {e for e, control in row.controls.items() if control[2]} if place else set()
        assert wanted - spare <= found <= wanted
    sent: set[int] = set()
    for event, items in zip(events.event.tolist(), events.items.tolist(), strict=True):
        assert not sent & set(range(event, event + items))
        sent |= set(range(event, event + items))
    assert sent == {e for p, q in row.messages.items() for e in range(p, q)}


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_refused_exactly_where_no_row_exists(seed: int) -> None:
    random = np.random.default_rng(seed)
    for row in (random_row(random) for _ in range(10)):
        steps = steps_of([row])
        if exists(row):
            assert_events(row, steps)
        else:
            with pytest.raises(CheckError, match="no even word"):
                rows_of("rows", steps)


def one_tile(controls: Mapping[int, tuple[bool, bool, bool]], done: int) -> Row:
    return Row({}, controls, done)


SINGLE, PAIR, OPTIONAL = (True, False, False), (True, True, False), (True, True, True)


@pytest.mark.parametrize(
    ("row", "fits"),
    [
        (one_tile({1: SINGLE, 2: PAIR}, 4), False),  # one word before, no event to spare
        (one_tile({1: SINGLE, 2: OPTIONAL}, 4), True),  # no pair if the pointer is dropped
        (one_tile({2: SINGLE, 3: PAIR}, 5), True),  # the first delay is split, not canonical
        (one_tile({1: PAIR, 3: SINGLE, 4: PAIR}, 9), True),  # the first pair lasts less
        (one_tile({1: PAIR, 2: SINGLE, 3: PAIR}, 9), False),
        (Row({0: 3}, {2: SINGLE, 3: PAIR}, 3), True),  # send and sendpic
        (Row({0: 2}, {2: PAIR}, 2), False),  # the send of one item is one word
        (Row({0: 3}, {3: PAIR}, 3), True),
    ],
)
def test_small_rows(row: Row, fits: bool) -> None:
    assert exists(row) == fits
    if fits:
        assert_events(row, steps_of([row]))
    else:
        with pytest.raises(CheckError, match="tile 0, event"):
            rows_of("rows", steps_of([row]))


def test_error_names_every_tile_and_event() -> None:
    bad = one_tile({1: SINGLE, 2: PAIR}, 4)
    with pytest.raises(CheckError) as caught:
        rows_of("mine", steps_of([bad, one_tile({5: PAIR}, 6), bad]))
    assert [text[:16] for _, text in caught.value.violations] == [
        "tile 0, event 2:",
        "tile 2, event 2:",
    ]


LIMITS = {name: TABLE[name].longest for name in ("delay", "delaypic", "delayxpic")}


@pytest.mark.parametrize("control", [SINGLE, (False, True, False), PAIR])
@pytest.mark.parametrize("before", [(), (1,)])
@pytest.mark.parametrize(
    "limit", [*LIMITS.values(), *(n + LIMITS["delay"] for n in (0, 128, 4096))]
)
def test_waits_around_the_longest_delays(
    control: tuple[bool, bool, bool], before: tuple[int, ...], limit: int
) -> None:
    for event in range(limit - 2, limit + 4):
        row = one_tile({**dict.fromkeys(before, SINGLE), event: control}, event + limit)
        assert_events(row, steps_of([row]))


@pytest.mark.parametrize("items", [1, 2, 63, 64, 65, 66, 67, 4160, 4161, 4162])
@pytest.mark.parametrize("opened", [False, True])
def test_pieces_of_messages_around_their_limits(items: int, opened: bool) -> None:
    """``items`` between the start, or a control, and a pair: the row has both parities."""
    begin = 5 if opened else 0
    event = begin + items + 1
    for odd in (False, True):
        controls: dict[int, tuple[bool, bool, bool]] = {event: PAIR}
        if opened:
            controls[begin + 1] = SINGLE
        first = 1 if odd else 0
        shifted = {e + first: c for e, c in controls.items()}
        row = Row({first: first + event}, shifted, first + event)
        if exists_by_count(items, odd, opened):
            assert_events(row, steps_of([row]))
        else:
            with pytest.raises(CheckError, match="no even word"):
                rows_of("rows", steps_of([row]))


def exists_by_count(items: int, odd: bool, opened: bool) -> bool:
    """One item is one word; from two on any number up to that many items is possible.

    Before it: nothing or one delay, and with a control five items, one word or more.
    """
    return opened or items > 1 or odd
