"""One literal bad schedule per label, and schedules that only just hold.

The events follow from ``ipu21.md`` 3.1 with T(0, 5) = -32, T(2, 5) = -30, T(5, 9) = -32,
T(0, 1) = -28 and rows 2 and 4 of tiles 5 and 9. A transfer 0 -> 5 of 10 words from event 32 hence
has P0 = 32, its source window on [1, 11), its write window on [57, 67), and is done at 72.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from ipuopt.models.exchange import Problem, Solution, check, horizon
from ipuopt.models.exchange.check_times import MOST
from ipuopt.models.exchange.problem import IntArray

Transfer = tuple[int, int, int, Sequence[tuple[int, int]]]
MakePhase = Callable[..., Problem]

A, B, C, D = 0x64000, 0x68000, 0x6C000, 0x70000
"""Starts of four standard memory elements."""

INTO_5: Transfer = (0, A, 10, [(5, B)])


def labels_of(problem: Problem, start: Sequence[int]) -> list[str]:
    return [label for label, _ in check(problem, Solution(np.array(start, np.int64)))]


@pytest.mark.parametrize(
    ("transfers", "start", "labels"),
    [
        ([INTO_5], [32], []),
        ([INTO_5], [31], ["E1"]),
        ([INTO_5], [-200], ["E1"]),
        ([(0, A, 10, [(1, B), (5, B)])], [32], []),
        ([(0, A, 10, [(1, B), (5, B)])], [31], ["E1"]),  # T(0, 1) alone would allow 28
        ([(30, A, 10, [(0, B)])], [0], []),  # T(30, 0) = 1: from event 0 on
        ([(30, A, 10, [(0, B)])], [-1], ["E1"]),
        ([(28, A, 10, [(0, B)])], [0], ["E1"]),  # T(28, 0) = -1
    ],
)
def test_least_start(
    make_phase: MakePhase, transfers: list[Transfer], start: list[int], labels: list[str]
) -> None:
    assert labels_of(make_phase(transfers), start) == labels


@pytest.mark.parametrize(
    ("second", "labels"),
    [(32, ["E2"]), (41, ["E2"]), (42, []), (1000, [])],
)
def test_sends_of_one_tile(make_phase: MakePhase, second: int, labels: list[str]) -> None:
    phase = make_phase([INTO_5, (0, A, 10, [(1, B)])])
    assert labels_of(phase, [32, second]) == labels


@pytest.mark.parametrize(
    ("words", "start", "labels"),
    [
        ((10, 10), (32, 40), []),  # windows [1, 11) and [11, 21) touch
        ((10, 10), (32, 39), ["E3", "E3"]),  # source and write windows
        ((10, 10), (42, 30), []),  # the second in time is listed first
        ((10, 52), (32, 40), ["E3"]),  # writes [57, 67) and [66, 118)
        ((10, 52), (32, 41), []),
        ((52, 52), (32, 82), []),  # both write windows are early: [56, 108) and [108, 160)
        ((52, 10), (32, 82), []),  # writes [56, 108) and [109, 119)
        ((52, 10), (32, 81), ["E3"]),  # sources [1, 53) and [52, 62), writes touch
    ],
)
@pytest.mark.parametrize("continues", [False, True])
def test_windows_of_one_tile(
    make_phase: MakePhase,
    words: tuple[int, int],
    start: tuple[int, int],
    labels: list[str],
    continues: bool,
) -> None:
    """A continued address saves the pointer event, not the rule of 52 words."""
    at = B + 4 * words[0] if continues else D
    phase = make_phase([(0, A, words[0], [(5, B)]), (2, A, words[1], [(5, at)])])
    assert labels_of(phase, start) == labels


@pytest.mark.parametrize(
    ("own", "labels"),
    [
        (98, []),
        (99, []),  # the source event 101 rides at P + 2
        (100, ["E4"]),  # at P + 1
        (101, ["E4"]),  # at P
        (102, []),
        (109, []),  # the neutral event 111 rides at P + 2
        (110, ["E4"]),
        (111, ["E4"]),
        (112, []),
        (155, []),  # the pointer event 157 rides at P + 2
        (156, ["E4"]),
        (157, ["E4"]),
        (158, []),
    ],
)
def test_control_events_on_an_own_message(
    make_phase: MakePhase, own: int, labels: list[str]
) -> None:
    phase = make_phase([INTO_5, (5, A, 10, [(9, C)])])
    assert labels_of(phase, [132, own]) == labels


def test_one_event_serves_as_neutral_and_as_next_source(make_phase: MakePhase) -> None:
    """Windows [101, 111) and [111, 121): on event 111 both receives have their control."""
    phase = make_phase([INTO_5, (2, A, 10, [(5, D)]), (5, A, 10, [(9, C)])])
    assert labels_of(phase, [132, 140, 109]) == []
    assert labels_of(phase, [132, 140, 112]) == []
    for own in (110, 111):
        told = check(phase, Solution(np.array([132, 140, own])))
        assert [label for label, _ in told] == ["E4", "E4"]
        assert "source event 111 of transfer 1" in told[0][1]
        assert "neutral event 111 of transfer 0" in told[1][1]


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("address", "labels"), [(B + 40, []), (B + 44, ["E4"]), (B + 36, ["E4"]), (D, ["E4"])]
)
def test_pointer_that_has_arrived_anyway_is_dropped(
    make_phase: MakePhase, address: int, labels: list[str], swapped: bool
) -> None:
    """The second receive opens at event 131 and its pointer is due at 187, the own start."""
    transfers = [INTO_5, (2, A, 10, [(5, address)]), (5, A, 10, [(9, C)])]
    start = [32, 160, 187]
    if swapped:  # what counts is the order in time
        transfers[:2] = transfers[1::-1]
        start[:2] = start[1::-1]
    told = labels_of(make_phase(transfers), start)
    assert [label for label in told if label != "E5"] == labels


def test_pointer_is_needed_when_another_receive_comes_between(make_phase: MakePhase) -> None:
    transfers = [INTO_5, (2, A, 10, [(5, B + 40)]), (5, A, 10, [(9, C)]), (4, A, 5, [(5, D)])]
    assert labels_of(make_phase(transfers), [32, 160, 187, 300]) == []
    assert labels_of(make_phase(transfers), [32, 160, 187, 100]) == ["E4"]


def test_first_receive_always_needs_its_pointer(make_phase: MakePhase) -> None:
    """Even at an address that the tile's last receive ends at."""
    transfers = [(0, A, 10, [(5, B + 40)]), (2, A, 10, [(5, B)]), (5, A, 10, [(9, C)])]
    assert labels_of(make_phase(transfers), [132, 260, 157]) == ["E4"]


WRITE_AFTER_WRITE: list[Transfer] = [INTO_5, (2, A, 10, [(5, B)])]
WRITE_AFTER_READ: list[Transfer] = [(5, B, 10, [(9, C)]), INTO_5]
READ_AFTER_WRITE: list[Transfer] = [INTO_5, (5, B, 10, [(9, C)])]


@pytest.mark.parametrize(
    ("transfers", "start", "labels"),
    [
        (WRITE_AFTER_WRITE, [32, 66], ["E5"]),  # complete at 67
        (WRITE_AFTER_WRITE, [32, 67], []),
        (WRITE_AFTER_WRITE, [132, 40], ["E5"]),  # listed order counts, whatever the time
        (WRITE_AFTER_READ, [32, 70], ["E5"]),  # sent by 42, written by 71
        (WRITE_AFTER_READ, [32, 71], []),
        (READ_AFTER_WRITE, [32, 66], ["E5", "E6"]),
        (READ_AFTER_WRITE, [32, 71], ["E6"]),  # complete, but not done before 72
        (READ_AFTER_WRITE, [32, 72], []),
        ([INTO_5, (2, A, 10, [(5, B + 36)])], [32, 66], ["E5"]),  # one word in common
        ([(0, A, 10, [(5, B + 36)]), (2, A, 10, [(5, B)])], [32, 66], ["E5"]),
        ([INTO_5, (2, A, 10, [(5, B + 40)])], [32, 66], []),  # spans touch
        ([INTO_5, (0, A, 10, [(1, B)])], [32, 42], []),  # two reads
        ([INTO_5, (2, A, 10, [(7, B)])], [32, 32], []),  # one address of two tiles
    ],
)
def test_order_of_overlapping_spans(
    make_phase: MakePhase, transfers: list[Transfer], start: list[int], labels: list[str]
) -> None:
    assert labels_of(make_phase(transfers), start) == labels


@pytest.mark.parametrize(
    ("receivers", "complete"),
    [([(0, B)], 134), ([(0, B), (31, B)], 135), ([(31, B), (0, B)], 135)],
)
def test_payload_is_complete_with_the_last_write_of_all_receivers(
    make_phase: MakePhase, receivers: list[tuple[int, int]], complete: int
) -> None:
    """From event 60, tile 0 is written on [124, 134), tile 31 (row 15) on [125, 135)."""
    phase = make_phase([(40, A, 10, receivers), (2, A, 10, [(0, B)])])
    assert labels_of(phase, [60, complete - 1]) == ["E5"]
    assert labels_of(phase, [60, complete]) == []


@pytest.mark.parametrize(
    ("address", "own", "labels"),
    [
        (B + 400, 47, []),  # sent on [47, 57), the write window opens at 57
        (B + 400, 48, ["E6"]),
        (B + 400, 60, ["E6"]),
        (B + 400, 71, ["E6"]),
        (B + 400, 72, []),  # done at 72
        (C, 60, []),  # another element
        (A, 60, []),
        (B - 36, 60, []),  # ends with the last word of the element before
        (B - 40 + 4 * 4096, 60, ["E6"]),  # the last words of the element
        (B + 4 * 4096, 60, []),
    ],
)
def test_shared_element(make_phase: MakePhase, address: int, own: int, labels: list[str]) -> None:
    words = 9 if address == B - 36 else 10
    phase = make_phase([INTO_5, (5, address, words, [(9, C)])])
    assert labels_of(phase, [32, own]) == labels


@pytest.mark.parametrize(
    ("read", "written", "labels"),
    [
        (0x80000, 0x84000, ["E6"]),  # one pair of elements
        (0x80000, 0x87FD8, ["E6"]),
        (0x84000, 0x88000, []),
        (0x7C000, 0x80000, []),
        (0x78000, 0x7C000, []),
        (0x7FFEC, 0x80100, ["E6"]),  # a span of a standard element and of the first pair
    ],
)
def test_elements_of_the_interleaved_region_work_in_pairs(
    make_phase: MakePhase, read: int, written: int, labels: list[str]
) -> None:
    phase = make_phase([(0, A, 10, [(5, written)]), (5, read, 10, [(9, C)])])
    assert labels_of(phase, [32, 60]) == labels


@pytest.mark.parametrize(
    ("words", "own", "labels"),
    [
        (1, 218, []),  # done at 224, where the receive begins
        (1, 219, ["E6"]),
        (6, 218, []),
        (7, 218, ["E6"]),
        (1, 238, ["E6"]),
        (1, 239, []),  # the receive is done at 239
    ],
)
def test_short_send_is_done_six_events_after_its_lead(
    make_phase: MakePhase, words: int, own: int, labels: list[str]
) -> None:
    """T(30, 0) = 1, so P0 = 0; tile 30 (row 15) receives on [224, 239), as T(0, 30) = -59."""
    phase = make_phase([(30, B, words, [(0, C)]), (0, A, 10, [(30, B + 400)])])
    assert labels_of(phase, [own, 200]) == labels


def test_more_than_most_are_counted(make_phase: MakePhase) -> None:
    phase = make_phase([(2 * k, A, 10, [(2 * k + 1, B)]) for k in range(MOST + 3)])
    told = check(phase, Solution(np.zeros(MOST + 3, np.int64)))
    assert [label for label, _ in told] == ["E1"] * (MOST + 1)
    assert told[-1][1] == "3 more of this kind"


@pytest.mark.parametrize(
    "start",
    [
        np.array([32, 32]),
        np.array([], np.int64),
        np.array([[32]]),
        np.array([32.0]),
        np.array([1 << 31]),
        np.array([-(1 << 40)]),
    ],
)
def test_schedules_that_cannot_be_judged(make_phase: MakePhase, start: IntArray) -> None:
    assert [label for label, _ in check(make_phase([INTO_5]), Solution(start))] == ["shape"]


def test_horizon_is_the_last_done(make_phase: MakePhase) -> None:
    phase = make_phase([INTO_5])
    assert horizon(phase, Solution(np.array([32]))) == 72
    assert horizon(phase, Solution(np.array([1032]))) == 1072
    wide = make_phase([(0, A, 52, [(5, B)])])
    assert horizon(wide, Solution(np.array([32]))) == 1 + 52 + 57 + 4


def test_empty_phase_is_valid(make_phase: MakePhase) -> None:
    phase = make_phase([])
    nothing = Solution(np.zeros(0, np.int64))
    assert check(phase, nothing) == () and horizon(phase, nothing) == 0
