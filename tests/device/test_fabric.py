"""Rows, event by event: what arrives where, when a phase ends, and what silicon would corrupt."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipuopt.codegen.isa import assemble, disassemble
from ipuopt.codegen.rows import Rows, decode_rows, encode_rows, rebuild
from ipuopt.device.marks import WRITE_LATENCY
from ipuopt.errors import CheckError, InputError
from ipuopt.models.exchange import Problem, Solution, check, horizon
from ipuopt.models.exchange.timing import timing
from ipuopt.target.fabric import PHYSICAL, ROW, time_to_mux

MakeBench = Callable[[], Any]
MakePhase = Callable[..., Problem]
Carry = Callable[[Problem, Rows], Any]
TILES = 64
Transfer = tuple[int, int, int, list[tuple[int, int]], int]


def random_transfer(random: np.random.Generator, members: list[int], number: int) -> Transfer:
    """Of either width, to one to three tiles or one or two pairs."""
    source = int(random.choice(members))
    wide = bool(random.random() < 0.4)
    if wide:
        pairs = [pair for pair in {tile // 2 for tile in members} if pair != source // 2]
        some = random.choice(pairs, int(random.integers(1, 3)), replace=False).tolist()
        chosen = [tile for pair in some for tile in (2 * pair, 2 * pair + 1)]
        words = 2 * int(random.integers(64, 140))
    else:
        others = [tile for tile in members if tile != source]
        chosen = random.choice(others, int(random.integers(1, 4)), replace=False).tolist()
        words = int(random.choice((1, 2, 10, 52, 64, 65, 130)))
    target = 0x80000 + 0x8000 * int(random.integers(0, 3)) + 1200 * number
    origin = 0x64000 + 8 * int(random.integers(0, 500))
    return source, origin, words, [(int(t), target) for t in chosen], 64 if wide else 32


def scheduled(random: np.random.Generator, listed: MakePhase) -> tuple[Problem, Solution]:
    """Transfers put where the checker of the model lets them and all rows can be encoded."""
    pairs = random.choice(TILES // 2, 3, replace=False).tolist()
    members = [2 * pair + lane for pair in pairs for lane in (0, 1)]
    transfers: list[Transfer] = []
    starts: list[int] = []
    problem = listed([], TILES)
    for _ in range(int(random.integers(2, 9))):
        more = [*transfers, random_transfer(random, members, len(transfers))]
        wider = listed(more, TILES)
        head = int(timing(wider).head[-1])
        for event in random.integers(head, head + 700, 8).tolist():
            solution = Solution(np.array([*starts, event]), wider.paired)
            if check(wider, solution):
                continue
            try:
                encode_rows(wider, solution)
            except CheckError:
                continue
            transfers, starts, problem = more, [*starts, event], wider
            break
    return problem, Solution(np.array(starts, np.int64), problem.paired)


def test_no_word_is_written_before_it_is_sent() -> None:
    latency = time_to_mux() + 1 + WRITE_LATENCY + 2 * ROW[None, :]
    np.fill_diagonal(latency, 1)
    assert 1 <= latency.min()
    assert latency.max() < 256


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_words_arrive_and_the_phase_takes_its_horizon(
    carry: Carry, listed: MakePhase, seed: int
) -> None:
    problem, solution = scheduled(np.random.default_rng(seed), listed)
    rows = encode_rows(problem, solution)
    found = carry(problem, rows)
    assert (found.label, found.message) == ("", "")
    assert found.right
    assert found.events == rows.horizon == horizon(problem, solution)


SOURCE, TARGET = 3, 40
FIRST, SECOND = 0x68000, 0x88000


def lines(listed: MakePhase) -> tuple[list[str], list[str]]:
    """Rows of one transfer of 20 words, as text: sender, receiver."""
    problem = listed([(SOURCE, FIRST, 20, [(TARGET, SECOND)], 32)], TILES)
    rows = encode_rows(problem, Solution(np.array([200])))
    sent, received = (
        [line.text for line in disassemble(rows.row(tile).tolist(), 0)] for tile in (SOURCE, TARGET)
    )
    return sent, received


def changed(text: list[str], number: int, pattern: str, new: Callable[[int], int]) -> None:
    """Replace the number that a pattern's group matches in one line."""
    match = re.search(pattern, text[number])
    assert match, text
    start, stop = match.span(1)
    value = new(int(match[1], 0))
    text[number] = f"{text[number][:start]}{value}{text[number][stop:]}"


def longer(text: list[str], number: int, by: int) -> None:
    changed(text, number, r"^\w+ (\w+)", lambda n: n + by)


def source_later(sent: list[str], got: list[str]) -> None:
    longer(got, 0, 1)
    longer(got, 1, -1)


def source_earlier(sent: list[str], got: list[str]) -> None:
    longer(got, 0, -1)
    longer(got, 1, 1)


def neutral_later(sent: list[str], got: list[str]) -> None:
    longer(got, 1, 1)
    longer(got, 2, -1)


def neutral_earlier(sent: list[str], got: list[str]) -> None:
    longer(got, 1, -1)
    longer(got, 2, 1)


def send_later(sent: list[str], got: list[str]) -> None:
    longer(sent, 0, 1)


def no_pointer(sent: list[str], got: list[str]) -> None:
    got[2] = "delay 90"


def pointer_later(sent: list[str], got: list[str]) -> None:
    longer(got, 2, 3)


def pointer_outside(sent: list[str], got: list[str]) -> None:
    changed(got, 2, r", (\w+)$", lambda _: 4)


def pointer_into_the_row(sent: list[str], got: list[str]) -> None:
    changed(got, 2, r", (\w+)$", lambda _: 0x5D000 // 4)


def pointer_at_the_end_of_memory(sent: list[str], got: list[str]) -> None:
    changed(got, 2, r", (\w+)$", lambda _: 0xE7FFC // 4)


def other_source(sent: list[str], got: list[str]) -> None:
    changed(got, 0, r", (\w+)$", lambda value: value ^ 4)


def own_source(sent: list[str], got: list[str]) -> None:
    changed(got, 0, r", (\w+)$", lambda _: int(PHYSICAL[TARGET]))


def no_such_source(sent: list[str], got: list[str]) -> None:
    changed(got, 0, r", (\w+)$", lambda _: 1500)


def never_neutral(sent: list[str], got: list[str]) -> None:
    got[1] = got[1].replace("delayxpic", "delay").split(",")[0]


def ends_early(sent: list[str], got: list[str]) -> None:
    longer(got, 3, -1)


def never_ends(sent: list[str], got: list[str]) -> None:
    got[3:4] = ["delay 524287"] * 9


def send_outside(sent: list[str], got: list[str]) -> None:
    changed(sent, 1, r"^send \w+, (\w+)", lambda _: 16)


def send_from_the_row(sent: list[str], got: list[str]) -> None:
    changed(sent, 1, r"^send \w+, (\w+)", lambda _: 0x5D000 // 4)


def send_the_other_way(sent: list[str], got: list[str]) -> None:
    changed(sent, 1, r", (\w+)$", lambda value: 3 - value)


def control_on_a_start(sent: list[str], got: list[str]) -> None:
    sent[0:1] = ["delay 190", "delayxpic 8, 0, 1600"]


def goes_on_from_nothing(sent: list[str], got: list[str]) -> None:
    sent[1] = "sendoff 19, 0, 1"


def two_messages(sent: list[str], got: list[str]) -> None:
    way = sent[1].split(", ")[2]
    sent[1:2] = [f"send 9, {FIRST // 4}, {way}", f"send 9, {FIRST // 4 + 10}, {way}"]


def pointer_inside(sent: list[str], got: list[str]) -> None:
    got[2:3] = [got[2], f"delaypic 3, 0, {SECOND // 4}"]


def no_row(sent: list[str], got: list[str]) -> None:
    sent[0] = "sync 7"


BAD: list[tuple[Callable[[list[str], list[str]], None], str]] = [
    (source_later, "mux"),
    (source_earlier, "window"),
    (neutral_later, "window"),
    (neutral_earlier, "mux"),
    (send_later, "window"),
    (no_pointer, "pointer"),
    (pointer_later, "pointer"),
    (pointer_inside, "pointer"),
    (pointer_outside, "memory"),
    (pointer_into_the_row, "element"),
    (pointer_at_the_end_of_memory, "memory"),
    (other_source, "window"),
    (own_source, "mux"),
    (no_such_source, "mux"),
    (never_neutral, "window"),
    (ends_early, "end"),
    (never_ends, "end"),
    (send_outside, "memory"),
    (send_from_the_row, "element"),
    (send_the_other_way, "window"),
    (control_on_a_start, "control"),
    (goes_on_from_nothing, "send"),
    (two_messages, "window"),
    (no_row, "row"),
]


@pytest.mark.parametrize(("change", "expected"), BAD, ids=[change.__name__ for change, _ in BAD])
def test_what_silicon_would_corrupt_is_seen(
    bench: MakeBench,
    listed: MakePhase,
    change: Callable[[list[str], list[str]], None],
    expected: str,
) -> None:
    sent, got = lines(listed)
    change(sent, got)
    rows = {
        tile: list(assemble("\n".join(text), 0).words)
        for tile, text in ((SOURCE, sent), (TARGET, got))
    }
    label, message, _ = bench().run(rows)
    assert label == expected, message


def test_a_send_and_a_receive_in_one_element_are_seen(bench: MakeBench, listed: MakePhase) -> None:
    """Both tiles send and receive at once; one keeps both spans in one element."""
    starts = Solution(np.array([200, 200]))
    for address, expected in ((0x90000, ""), (FIRST + 0x1000, "element")):
        transfers = [
            (SOURCE, FIRST, 130, [(TARGET, SECOND)], 32),
            (TARGET, FIRST, 130, [(SOURCE, address)], 32),
        ]
        rows = encode_rows(listed(transfers, TILES), starts)
        label, message, _ = bench().run(
            {tile: rows.row(tile).tolist() for tile in (SOURCE, TARGET)}
        )
        assert label == expected, message


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("count", [1, 2])
def test_a_short_message_holds_its_sender(
    bench: MakeBench, listed: MakePhase, side: int, count: int
) -> None:
    """Until six events after P - P0 (ipu21.md 3.1), which no receiver notices."""
    source = 40
    time = time_to_mux()[source, :TILES].astype(np.int64)
    near = np.flatnonzero((time * side > 0) & (time > -4) & (np.arange(TILES) != source))
    targets = near[:count].tolist()
    held = 6 + min(0, int(time[targets].min()))
    problem = listed([(source, FIRST, 1, [(tile, SECOND) for tile in targets], 32)], TILES)
    rows = encode_rows(problem, Solution(np.array([200])))
    words = {tile: rows.row(tile).tolist() for tile in (source, *targets)}
    label, message, _ = bench().run(words)
    assert (label, message) == ("", "")
    sent = [line.text for line in disassemble(words[source], 0)]
    assert sent[-2] == f"delay {held - 2}" and sent[-1].startswith("br")
    sent[-2:-1] = [f"delay {held - 3}"] if held > 2 else []
    words[source] = list(assemble("\n".join(sent), 0).words)
    label, message, _ = bench().run(words)
    assert label == "end", message
    assert message.endswith(f"expected it at event {200 + held} or later")
    every = [np.array(words.get(tile, rows.row(tile)), np.uint32) for tile in range(TILES)]
    bounds = np.concatenate(([0], np.cumsum([len(row) for row in every])))
    changed_rows = Rows(np.concatenate(every), bounds, rows.done)
    with pytest.raises(InputError, match="a row that lasts until then"):
        rebuild(problem, decode_rows(changed_rows))
