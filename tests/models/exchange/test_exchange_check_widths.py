"""Bad schedules with Paired64 transfers, one per label, and rows that cannot be encoded.

The events follow from ``ipu21.md`` 3.2 with T(0, 4) = -33 and T(0, 5) = -32: tile 4 is early. 128
words from tile 0 to both, from event 133, have P0 = 33 and their source event on 101; format is on
from 156 on (row 2) and off on 220, the pointer event is 158, and all is done at 227. Tile 1, the
partner of the source, is reserved on [133, 197).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from ipuopt.models.exchange import Problem, Solution, check, horizon
from ipuopt.models.exchange.problem import BoolArray
from ipuopt.target.fabric import time_to_mux

Transfer = tuple[int, int | list[int], int, Sequence[tuple[int, int]]]
MakePhase = Callable[..., Problem]

A, B, C, D = 0x64000, 0x68000, 0x6C000, 0x70000
"""Starts of four standard memory elements."""

WIDE: Transfer = (0, A, 128, [(4, B), (5, B)])


def opening(source: int, receiver: int, window: int) -> int:
    """Start of a Word32 transfer whose source window opens at ``window``."""
    return window - 1 - int(time_to_mux(64)[source, receiver])


def judged(problem: Problem, start: Sequence[int], wide: Sequence[int] = (0,)) -> list[str]:
    paired = np.zeros(len(problem), np.bool_)
    paired[list(wide)] = True
    return [label for label, _ in check(problem, Solution(np.array(start, np.int64), paired))]


@pytest.mark.parametrize(("start", "labels"), [(33, []), (32, ["E1"])])
def test_least_start(make_phase: MakePhase, start: int, labels: list[str]) -> None:
    assert judged(make_phase([WIDE]), [start]) == labels


def test_horizon_is_seven_after_format_off(make_phase: MakePhase) -> None:
    wide = Solution(np.array([133]), np.array([True]))
    assert horizon(make_phase([WIDE]), wide) == 227
    assert horizon(make_phase([WIDE]), Solution(np.array([133]))) == 102 + 128 + 57 + 4


@pytest.mark.parametrize("source", [0, 1])
@pytest.mark.parametrize(
    ("start", "labels"), [(123, []), (124, ["E2"]), (150, ["E2"]), (196, ["E2"]), (197, [])]
)
def test_sends_of_the_source_and_of_its_partner(
    make_phase: MakePhase, source: int, start: int, labels: list[str]
) -> None:
    phase = make_phase([WIDE, (source, A, 10, [(9, C)])])
    assert judged(phase, [133, start]) == labels


@pytest.mark.parametrize(
    ("window", "labels"),
    [
        (71, []),  # written on [123, 133)
        (72, ["E3"]),
        (123, ["E3"]),  # written on [175, 185)
        (133, ["E3", "E3"]),
        (196, ["E3"]),
        (197, []),
    ],
)
def test_partner_receives_nothing(make_phase: MakePhase, window: int, labels: list[str]) -> None:
    phase = make_phase([WIDE, (8, A, 10, [(1, B)])])
    assert judged(phase, [133, opening(8, 1, window)]) == labels


def test_messages_name_the_reservation(make_phase: MakePhase) -> None:
    phase = make_phase([WIDE, (1, A, 10, [(9, C)])])
    told = check(phase, Solution(np.array([133, 196]), np.array([True, False])))
    ((label, message),) = told
    assert label == "E2"
    assert message == (
        "tile 1: time reserved as partner by transfer 0 [133, 197) and send of transfer 1 "
        "[196, 206) overlap"
    )


def test_source_may_receive_while_it_sends(make_phase: MakePhase) -> None:
    phase = make_phase([WIDE, (8, A, 10, [(0, B)])])
    assert judged(phase, [133, opening(8, 0, 140)]) == []


@pytest.mark.parametrize(
    ("receiver", "window", "labels"),
    [
        (4, 90, []),
        (4, 92, ["E3"]),  # up to the source event
        (4, 219, ["E3"]),  # up to "format off"
        (4, 220, []),
        (5, 92, []),
        (5, 93, ["E3"]),  # written on [149, 159)
        (5, 146, ["E3"]),
        (5, 147, ["E3", "E3"]),  # up to "format on"
        (5, 219, ["E3"]),
        (5, 220, []),
    ],
)
def test_windows_of_early_and_late_receivers(
    make_phase: MakePhase, receiver: int, window: int, labels: list[str]
) -> None:
    phase = make_phase([WIDE, (2, A, 10, [(receiver, D)])])
    assert judged(phase, [133, opening(2, receiver, window)]) == labels


@pytest.mark.parametrize(
    ("receiver", "events"),
    [(4, [101, 156, 158, 165, 220]), (5, [156, 158, 220])],
)
def test_control_events_on_an_own_message(
    make_phase: MakePhase, receiver: int, events: list[int]
) -> None:
    phase = make_phase([WIDE, (receiver, C, 1, [(9, D)])])
    own = [event for event in range(95, 225) if judged(phase, [133, event])]
    assert own == sorted({event - late for event in events for late in (0, 1)})
    assert all(judged(phase, [133, event]) == ["E4"] for event in own)


def test_neutral_event_is_not_that_of_a_wide_source(make_phase: MakePhase) -> None:
    """Two XPIC on event 101: only Word32 replaces the one before."""
    phase = make_phase([WIDE, (2, A, 10, [(4, D)])])
    told = check(phase, Solution(np.array([133, opening(2, 4, 91)]), np.array([True, False])))
    assert [label for label, _ in told] == ["E7"]
    assert (
        "tile 4: neutral event 101 of transfer 1 and source event 101 of transfer 0" in told[0][1]
    )


@pytest.mark.parametrize(("window", "labels"), [(99, []), (100, ["E7"]), (101, [])])
def test_two_pointers_on_one_event(make_phase: MakePhase, window: int, labels: list[str]) -> None:
    """The pointer event of the word is 56 after its window; format is on from 156."""
    phase = make_phase([WIDE, (2, A, 1, [(5, D)])])
    assert judged(phase, [133, opening(2, 5, window)]) == labels


def test_pointer_that_collides_is_dropped_where_it_may(make_phase: MakePhase) -> None:
    phase = make_phase([WIDE, (2, A, 1, [(5, D + 4)]), (2, A, 1, [(5, D)])])
    assert judged(phase, [133, opening(2, 5, 100), opening(2, 5, 90)]) == []


def test_pointer_of_a_pair_is_never_dropped(make_phase: MakePhase) -> None:
    """A message at the pointer event 158 of tile 5, whose last word came at the address before."""
    phase = make_phase([WIDE, (2, A, 10, [(5, B - 40)]), (5, C, 1, [(9, D)])])
    assert judged(phase, [133, opening(2, 5, 80), 158]) == ["E4"]
    after = make_phase([WIDE, (2, A, 10, [(5, B + 512)]), (5, C, 1, [(9, D)])])
    assert judged(after, [133, opening(2, 5, 230), 286]) == ["E4"]
    narrow = [opening(0, 5, 102), opening(2, 5, 230), 286]
    assert judged(after, narrow, wide=()) == []


@pytest.mark.parametrize(("start", "labels"), [(238, ["E5"]), (239, [])])
def test_write_after_read(make_phase: MakePhase, start: int, labels: list[str]) -> None:
    """Tile 5 sends from 200 on; the last word is written on tile 9 before event 239."""
    phase = make_phase([(5, B, 10, [(9, C)]), WIDE])
    assert judged(phase, [200, start], wide=(1,)) == labels


@pytest.mark.parametrize(("start", "labels"), [(221, ["E5"]), (222, [])])
def test_payload_ends_with_the_write_windows(
    make_phase: MakePhase, start: int, labels: list[str]
) -> None:
    phase = make_phase([WIDE, (5, B, 10, [(9, C)])])
    told = judged(phase, [133, start])
    assert [label for label in told if label != "E6"] == labels


@pytest.mark.parametrize(
    ("own", "labels"), [(148, []), (149, ["E6"]), (200, ["E6"]), (226, ["E6"]), (227, [])]
)
def test_shared_element_while_it_is_written(
    make_phase: MakePhase, own: int, labels: list[str]
) -> None:
    phase = make_phase([WIDE, (5, B + 4000, 10, [(9, C)])])
    assert judged(phase, [133, own]) == labels


@pytest.mark.parametrize(
    ("written", "labels"), [(123, []), (124, ["E6"]), (196, ["E6"]), (197, [])]
)
def test_shared_element_while_it_is_read(
    make_phase: MakePhase, written: int, labels: list[str]
) -> None:
    """Tile 0 (row 0) is written 52 events after its window opens, and done 5 after that."""
    phase = make_phase([WIDE, (8, A, 5, [(0, A + 4000)])])
    assert judged(phase, [133, opening(8, 0, written - 52)]) == labels


@pytest.mark.parametrize(
    ("transfer", "needs"),
    [
        ((0, A, 126, [(4, B), (5, B)]), "64 or more pairs"),
        ((0, A, 129, [(4, B), (5, B)]), "even number"),
        ((0, A + 4, 128, [(4, B), (5, B)]), "source addresses"),
        ((0, [A, A + 4], 128, [(4, B), (5, B)]), "source addresses"),
        ((0, A, 128, [(4, B + 4), (5, B + 4)]), "receiving addresses"),
        ((0, A, 128, [(4, B), (5, B + 8)]), "complete pairs"),
        ((0, A, 128, [(4, B)]), "complete pairs"),
        ((0, A, 128, [(5, B), (6, B)]), "complete pairs"),
        ((0, A, 128, [(1, B), (4, B), (5, B)]), "other than source and its partner"),
        ((0, A, 2 * (51 + 14), [(14, B), (15, B)]), "coincide"),  # row 7, T(0, 14) = -43
        ((0, A, 2 * (53 + 14), [(14, B), (15, B)]), "coincide"),
        ((62, A, 128, [(4, B), (5, B)]), "a partner"),
    ],
)
def test_transfers_that_do_not_qualify(
    make_phase: MakePhase, transfer: Transfer, needs: str
) -> None:
    phase = make_phase([transfer], tiles=63)
    ((label, message),) = check(phase, Solution(np.array([200]), np.array([True])))
    assert label == "E8"
    assert message.startswith(f"transfer 0 of tile {transfer[0]}, {transfer[2]} words")
    assert needs in message
    assert judged(phase, [200], wide=()) == []


def test_an_event_more_or_less_qualifies(make_phase: MakePhase) -> None:
    for items in (64, 66, 68):
        assert judged(make_phase([(0, A, 2 * items, [(14, B), (15, B)])]), [200]) == []


@pytest.mark.parametrize(
    "paired", [np.array([True, True]), np.array([[True]]), np.array([1]), np.array([1.0])]
)
def test_widths_that_cannot_be_judged(make_phase: MakePhase, paired: BoolArray) -> None:
    told = check(make_phase([WIDE]), Solution(np.array([133]), paired))
    assert [label for label, _ in told] == ["shape"]


@pytest.mark.parametrize("sending", [False, True])
@pytest.mark.parametrize("step", [4, 256])
def test_pair_of_controls_at_an_odd_word(make_phase: MakePhase, step: int, sending: bool) -> None:
    """Pointers on 57, 58 and 59, a source event on 57 and its neutral one on 59.

    The instruction for 57 starts at an even word and takes two, that for 58 takes one, so that for
    59 starts at an odd word, be it in a send or not. Where addresses continue, the pointers of 58 and 59 can go.
    """
    sources: list[Transfer] = [
        (0, A, 1, [(5, B)]),
        (2, A, 1, [(5, B + step)]),
        (8, A, 1, [(5, B + 2 * step)]),
        (10, A, 2, [(5, D)]),
    ]
    windows = (1, 2, 3, 57)
    start = [opening(t[0], 5, window) for t, window in zip(sources, windows, strict=True)]
    if sending:
        sources.append((5, C, 20, [(9, C)]))
        start.append(50)
    told = check(make_phase(sources), Solution(np.array(start)))
    if step == 4:
        assert told == ()
        return
    ((label, message),) = told
    assert label == "E7"
    assert message == (
        "tile 5: neutral event 59 of transfer 3 and pointer event 59 of transfer 2 meet at an odd "
        "word of the row, with no room to pad"
    )
    moved = [*start[:3], start[3] + 1, *start[4:]]
    assert check(make_phase(sources), Solution(np.array(moved))) == ()


def test_all_source_addresses_count(make_phase: MakePhase) -> None:
    """In one of two iterations, tile 5 reads the element that it is written on."""
    into: Transfer = (0, [A, A], 10, [(5, B)])  # written on [57, 67), done at 72
    for address, labels in (
        ([C, D], []),
        ([C, B + 400], ["E6"]),
        ([B + 400, C], ["E6"]),
        ([C, B], ["E5", "E6"]),
    ):
        assert judged(make_phase([into, (5, address, 10, [(9, C)])]), [32, 60], ()) == labels
