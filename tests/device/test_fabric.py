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
from ipuopt.codegen.rows import encode_rows
from ipuopt.device.marks import WRITE_LATENCY
from ipuopt.errors import CheckError
from ipuopt.models.exchange import Problem, Solution, check, horizon
from ipuopt.models.exchange.timing import timing
from ipuopt.target.fabric import PHYSICAL, ROW, time_to_mux

MakeBench = Callable[[], Any]
TILES = 64
Transfer = tuple[int, int, int, list[tuple[int, int]]]


def phase(transfers: list[Transfer]) -> Problem:
    pairs = [pair for transfer in transfers for pair in transfer[3]]
    return Problem(
        name="phase",
        tiles=TILES,
        source=np.array([t[0] for t in transfers], np.int64),
        source_address=np.array([t[1] for t in transfers], np.int64),
        words=np.array([t[2] for t in transfers], np.int64),
        destination_start=np.cumsum([0, *(len(t[3]) for t in transfers)]),
        destination_tile=np.array([tile for tile, _ in pairs], np.int64),
        destination_address=np.array([address for _, address in pairs], np.int64),
    )


def scheduled(random: np.random.Generator) -> tuple[Problem, Solution]:
    """Transfers put where the checker of the model lets them and all rows can be encoded."""
    members = random.choice(TILES, 5, replace=False).tolist()
    transfers: list[Transfer] = []
    starts: list[int] = []
    problem = phase([])
    for _ in range(int(random.integers(2, 9))):
        source = int(random.choice(members))
        others = [tile for tile in members if tile != source]
        chosen = random.choice(others, int(random.integers(1, 4)), replace=False).tolist()
        words = int(random.choice((1, 2, 10, 52, 64, 65, 130)))
        target = 0x80000 + 0x8000 * int(random.integers(0, 3)) + 600 * len(transfers)
        origin = 0x64000 + 4 * int(random.integers(0, 1000))
        more = [*transfers, (source, origin, words, [(int(t), target) for t in chosen])]
        wider = phase(more)
        head = int(timing(wider).head[-1])
        for event in random.integers(head, head + 500, 8).tolist():
            solution = Solution(np.array([*starts, event]))
            if check(wider, solution):
                continue
            try:
                encode_rows(wider, solution)
            except CheckError:
                continue
            transfers, starts, problem = more, [*starts, event], wider
            break
    return problem, Solution(np.array(starts, np.int64))


def test_no_word_is_written_before_it_is_sent() -> None:
    latency = time_to_mux() + 1 + WRITE_LATENCY + 2 * ROW[None, :]
    np.fill_diagonal(latency, 1)
    assert 1 <= latency.min()
    assert latency.max() < 256


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_words_arrive_and_the_phase_takes_its_horizon(bench: MakeBench, seed: int) -> None:
    random = np.random.default_rng(seed)
    problem, solution = scheduled(random)
    if not len(problem):
        return
    tiles = bench()
    for source, address, words in zip(
        problem.source, problem.source_address[:, 0], problem.words, strict=True
    ):
        content = random.integers(0, 2**32, int(words), dtype=np.uint32)
        tiles.span(int(source), int(address), int(words))[:] = content
    rows = encode_rows(problem, solution)
    taking = np.flatnonzero(rows.done).tolist()
    label, message, events = tiles.run({tile: rows.row(tile).tolist() for tile in taking})
    assert (label, message) == ("", "")
    assert events == rows.horizon == horizon(problem, solution)
    for index, words in enumerate(problem.words.tolist()):
        sent = tiles.span(int(problem.source[index]), int(problem.source_address[index, 0]), words)
        for at in range(*problem.destination_start[index : index + 2].tolist()):
            tile, address = problem.destination_tile[at], problem.destination_address[at]
            np.testing.assert_array_equal(tiles.span(int(tile), int(address), words), sent)


SOURCE, TARGET = 3, 40
FIRST, SECOND = 0x68000, 0x88000


def lines() -> tuple[list[str], list[str]]:
    """Rows of one transfer of 20 words, as text: sender, receiver."""
    problem = phase([(SOURCE, FIRST, 20, [(TARGET, SECOND)])])
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


def send_wide(sent: list[str], got: list[str]) -> None:
    changed(sent, 1, r", (\w+)$", lambda value: value + 4)


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
    (send_wide, "wide"),
    (control_on_a_start, "control"),
    (goes_on_from_nothing, "send"),
    (two_messages, "window"),
    (no_row, "row"),
]


@pytest.mark.parametrize(("change", "expected"), BAD, ids=[change.__name__ for change, _ in BAD])
def test_what_silicon_would_corrupt_is_seen(
    bench: MakeBench, change: Callable[[list[str], list[str]], None], expected: str
) -> None:
    sent, got = lines()
    change(sent, got)
    rows = {
        tile: list(assemble("\n".join(text), 0).words)
        for tile, text in ((SOURCE, sent), (TARGET, got))
    }
    label, message, _ = bench().run(rows)
    assert label == expected, message


def test_a_send_and_a_receive_in_one_element_are_seen(bench: MakeBench) -> None:
    """Both tiles send and receive at once; one keeps both spans in one element."""
    starts = Solution(np.array([200, 200]))
    for address, expected in ((0x90000, ""), (FIRST + 0x1000, "element")):
        transfers = [
            (SOURCE, FIRST, 130, [(TARGET, SECOND)]),
            (TARGET, FIRST, 130, [(SOURCE, address)]),
        ]
        rows = encode_rows(phase(transfers), starts)
        label, message, _ = bench().run(
            {tile: rows.row(tile).tolist() for tile in (SOURCE, TARGET)}
        )
        assert label == expected, message
