"""Phases of both widths: those of the vectors and of snapshots, and what items of 8 bytes can break."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipuopt.codegen.isa import assemble, disassemble
from ipuopt.codegen.rows import Rows, decode_rows, encode_rows, rebuild
from ipuopt.errors import CheckError
from ipuopt.models.exchange import Problem, Solution, check, horizon, schedule_heuristic
from ipuopt.models.exchange.snapshot import load_snapshot
from ipuopt.models.exchange.widths import qualifying
from ipuopt.target.fabric import PHYSICAL, time_to_mux

MakeBench = Callable[[], Any]
MakePhase = Callable[..., Problem]
Carry = Callable[[Problem, Rows], Any]


@pytest.mark.parametrize("part", ["phases_list", "random"])
def test_phases_of_the_vectors(
    vectors: dict[str, Any],
    appended: Callable[[dict[str, Any]], tuple[Problem, Solution]],
    carry: Carry,
    part: str,
) -> None:
    """Valid schedules arrive; those that the checker refuses on the fabric break there.

    The vectors keep no rule of memory, and none of the partner of a sender: (E5) may hold by luck,
    (E6) counts whole spans and the simulator each access.
    """
    seen: Counter[str] = Counter()
    for phase in vectors[part]:
        problem, solution = appended(phase)
        try:
            rows = encode_rows(problem, solution)
        except CheckError:
            continue
        broken = {label for label, _ in check(problem, solution)}
        found = carry(problem, rows)
        what = phase["name"], broken, found.message
        if not broken:
            assert (found.label, found.right) == ("", True), what
            assert found.events == rows.horizon == horizon(problem, solution), what
            seen["paired" if problem.paired.any() else "valid"] += 1
        elif broken & {"E2", "E3"}:
            assert found.label in ("partner", "element"), what
            seen["partner"] += 1
        else:
            assert found.label in ("", "element"), what
            seen["memory"] += 1
    least = {
        "phases_list": {"paired": 1, "valid": 10, "partner": 1},
        "random": {"paired": 15, "valid": 40, "partner": 10, "memory": 80},
    }
    assert all(seen[kind] >= count for kind, count in least[part].items()), seen


@pytest.mark.parametrize(
    ("name", "phase", "pairs"),
    [
        ("mlp_128x256x512_t64", 1, 48),
        ("mlp_rep2_pinned_t64", 2, 90),
        ("mlp_rep2_pinned_t64", 4, 30),
    ],
)
def test_phases_of_snapshots_as_wide_as_they_can_be(
    shared: Path, carry: Carry, name: str, phase: int, pairs: int
) -> None:
    given = load_snapshot(shared / "data" / "snapshots" / f"{name}.json.gz").problems[phase]
    problem = replace(given, paired=qualifying(given))
    solution, cycles = schedule_heuristic(problem)
    assert check(problem, solution) == ()
    assert solution.paired.sum() >= pairs
    rows = encode_rows(problem, solution)
    rebuilt = rebuild(problem, decode_rows(rows))
    np.testing.assert_array_equal(rebuilt.paired, solution.paired)
    np.testing.assert_array_equal(np.sort(rebuilt.start), np.sort(solution.start))
    found = carry(problem, rows)
    assert (found.label, found.message, found.right) == ("", "", True)
    assert found.events == rows.horizon == cycles


SOURCE, PARTNER, EARLY, LATE, OTHER = 4, 5, 40, 41, 9
Text = dict[int, list[str]]


def texts(listed: MakePhase) -> Text:
    """Rows of one transfer of 80 items, as text: delays end with the event in brackets.

    ======== =========================================================================
    source   delay (200), send 64, sendoff 16
    partner  delay (280)
    early    source (136), neutral (216), format on (227), pointer, off (307), delay 7
    late     delay (99), format on (227), pointer, off (307), delay 7
    ======== =========================================================================
    """
    receivers = [(EARLY, 0x88000), (LATE, 0x88000)]
    problem = listed([(SOURCE, 0x68000, 160, receivers, 64)], 64)
    rows = encode_rows(problem, Solution(np.array([200]), problem.paired))
    return {
        tile: [line.text for line in disassemble(rows.row(tile).tolist(), 0)]
        for tile in (SOURCE, PARTNER, EARLY, LATE)
    }


def run(bench: MakeBench, text: Text) -> tuple[str, str]:
    rows = {
        tile: list(assemble("\n".join(lines), 0).words) for tile, lines in text.items() if lines
    }
    label, message, _ = bench().run(rows)
    return label, message


def test_the_transfer_itself(bench: MakeBench, listed: MakePhase) -> None:
    assert run(bench, texts(listed)) == ("", "")


PHYSICAL_SOURCE = int(PHYSICAL[SOURCE])
FAULTS: list[tuple[str, str, dict[int, tuple[int, int, Sequence[str]]]]] = [
    # name, label, and by tile: first line, lines that go, lines that come
    ("words_for_items", "width", {SOURCE: (1, 2, ["send 63, 0x1a000, 1", "sendoff 15, 0, 1"])}),
    (
        "items_for_words",
        "width",
        {EARLY: (0, 2, [f"delayxpic 135, 0, {PHYSICAL_SOURCE}", "delayxpic 79, 0, 1600"])},
    ),
    ("sent_early", "mux", {SOURCE: (0, 1, ["delay 198"])}),
    ("sent_late", "window", {SOURCE: (0, 1, ["delay 200"])}),
    ("two_messages", "window", {SOURCE: (1, 2, ["send 39, 0xd000, 5", "send 39, 0xd028, 5"])}),
    ("other_way", "window", {SOURCE: (1, 2, ["send 63, 0xd000, 6", "sendoff 15, 0, 6"])}),
    ("odd_source", "memory", {SOURCE: (1, 2, ["send 63, 0x1fffe, 5", "sendoff 15, 0, 5"])}),
    ("late_format_missing", "format", {LATE: (0, 2, ["delay 226"])}),
    ("format_on_early", "format", {LATE: (1, 1, ["delaypic 126, 1, 1"])}),
    ("format_off_late", "format", {LATE: (3, 1, ["delaypic 78, 1, 0"])}),
    ("format_off_early", "format", {LATE: (3, 1, ["delaypic 76, 1, 0"])}),
    ("format_of_the_other_way", "format", {LATE: (1, 1, ["delaypic 127, 1, 2"])}),
    ("no_source", "format", {EARLY: (0, 2, ["delay 215"])}),
    (
        "source_of_the_partner",
        "window",
        {EARLY: (0, 1, [f"delayxpic 135, 1, {PHYSICAL_SOURCE ^ 2}"])},
    ),
    ("own_source", "mux", {EARLY: (0, 1, [f"delayxpic 135, 1, {int(PHYSICAL[LATE])}"])}),
    ("no_such_source", "mux", {EARLY: (0, 1, ["delayxpic 135, 1, 1500"])}),
    ("neutral_early", "mux", {EARLY: (1, 1, ["delayxpic 78, 1, 1600", "delay 0"])}),
    ("neutral_late", "format", {EARLY: (1, 2, ["delayxpic 80, 1, 1600", "delaypic 9, 1, 1"])}),
    (
        "both_select",
        "mux",
        {
            LATE: (
                0,
                2,
                [
                    f"delayxpic 135, 1, {PHYSICAL_SOURCE ^ 2}",
                    "delayxpic 79, 1, 1600",
                    "delaypic 10, 1, 1",
                ],
            )
        },
    ),
    (
        "the_late_one_selects",
        "mux",
        {
            EARLY: (0, 3, ["delay 98", "delaypic 127, 1, 1"]),
            LATE: (
                0,
                2,
                [
                    f"delayxpic 135, 1, {PHYSICAL_SOURCE ^ 2}",
                    "delayxpic 79, 1, 1600",
                    "delaypic 10, 1, 1",
                ],
            ),
        },
    ),
    ("odd_pointer", "pointer", {LATE: (2, 1, ["delaypic 1, 0, 0x22001"])}),
    ("no_pointer", "pointer", {LATE: (2, 1, ["delay 1"])}),
    ("pointer_late", "pointer", {LATE: (2, 2, ["delaypic 2, 0, 0x22000", "delaypic 76, 1, 0"])}),
    ("partner_ends", "partner", {PARTNER: (0, 1, ["delay 278"])}),
    ("partner_is_idle", "partner", {PARTNER: (0, 1, [])}),
    (
        "partner_sends",
        "partner",
        {PARTNER: (0, 1, ["delay 209", "send 9, 0x1a000, 1", "delay 59"])},
    ),
    (
        "partner_listens",
        "partner",
        {PARTNER: (0, 1, ["delayxpic 278, 0, 300", "delayxpic 0, 0, 1600", "delay 99"])},
    ),
    (
        "words_in_between",
        "window",
        {LATE: (3, 1, ["delayxpic 9, 0, 300", "delayxpic 9, 0, 1600", "delaypic 57, 1, 0"])},
    ),
    (
        "a_source_too_early",
        "window",
        {EARLY: (4, 1, ["delayxpic 9, 1, 300", "delayxpic 9, 1, 1600", "delaypic 57, 1, 0"])},
    ),
    ("ends_early", "end", {LATE: (4, 1, ["delay 5"])}),
    ("format_stays_on", "end", {LATE: (3, 2, ["delay 9"])}),
    ("the_source_stays", "end", {EARLY: (1, 5, ["delay 9"])}),
]


@pytest.mark.parametrize(
    ("label", "changes"),
    [(label, changes) for _, label, changes in FAULTS],
    ids=[f[0] for f in FAULTS],
)
def test_what_breaks_items_is_seen(
    bench: MakeBench,
    listed: MakePhase,
    label: str,
    changes: dict[int, tuple[int, int, Sequence[str]]],
) -> None:
    text = texts(listed)
    for tile, (first, count, lines) in changes.items():
        text[tile][first : first + count] = lines
    found, message = run(bench, text)
    assert found == label, message


def test_a_word_and_an_item_at_once(bench: MakeBench, listed: MakePhase) -> None:
    """The window of the words is over when the format goes on; their writes are not."""
    text = texts(listed)
    opens = 160
    text[LATE][:2] = [
        f"delayxpic {opens - 1}, 0, {int(PHYSICAL[OTHER])}",
        "delayxpic 19, 0, 1600",
        "delaypic 46, 1, 1",
    ]
    leaves = opens - int(time_to_mux()[OTHER, LATE]) - 1
    text[OTHER] = [f"delay {leaves - 1}", "send 19, 0x1a000, 3", "br $m10"]
    assert run(bench, text)[0] == "window"
