"""Random schedules of both widths: decoding the rows gives them back; hostile words do not pass."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipuopt.codegen.isa import encode
from ipuopt.codegen.rows import Rows, decode_row, decode_rows, encode_rows, rebuild, write_rows
from ipuopt.codegen.rows.decode import FORMAT, SEND, SEND_ON, SOURCE, SOURCE64
from ipuopt.codegen.rows.instructions import END_OF_ROW
from ipuopt.errors import CheckError, InputError
from ipuopt.models.exchange import Problem, Solution
from ipuopt.models.exchange.timing import timing
from ipuopt.models.exchange.widths import qualifying
from ipuopt.target.registers import NEUTRAL

MakePhase = Callable[..., Problem]
Transfer = tuple[int, int, int, list[tuple[int, int]], int]
TILES = 64


def random_transfer(random: np.random.Generator, members: np.ndarray) -> Transfer:
    """Word32 to one or a few tiles, or Paired64 to one or two pairs, of few addresses."""
    source = int(random.choice(members))
    address = 0x60000 + 8 * int(random.integers(0, 100))
    wide = random.random() < 0.4
    pairs = np.unique(members // 2)
    others = pairs[pairs != source // 2] if wide else members[members != source]
    chosen = random.choice(others, int(random.integers(1, min(3, len(others)) + 1)), replace=False)
    tiles = [2 * pair + lane for pair in chosen for lane in (0, 1)] if wide else chosen
    words = int(random.choice((1, 10, 52, 64, 66, 130, 300)))
    if wide:
        words = 2 * int(random.integers(64, 120))
    base = 0x70000 + 40 * int(random.integers(0, 3)) * 10
    return source, address, words, [(int(tile), base) for tile in tiles], 64 if wide else 32


def free(problem: Problem, solution: Solution) -> bool:
    """Sends, source windows and write windows of each tile are disjoint, partners idle."""
    times = timing(problem, solution.paired)
    begin = np.repeat(solution.start, np.diff(problem.destination_start))
    window, write = begin + times.window, begin + times.write
    tile, sent = problem.destination_tile, solution.start + times.send_done
    partner, wide = problem.source ^ 1, solution.paired
    spans = [
        (problem.source * 4, solution.start, solution.start + times.items),
        (tile * 4 + 1, window, window + times.window_length),
        (tile * 4 + 2, write, write + times.write_length),
        (partner[wide] * 4, solution.start[wide], sent[wide]),
        (partner[wide] * 4 + 1, solution.start[wide], sent[wide]),
    ]
    bus, first, stop = (np.concatenate(column) for column in zip(*spans, strict=True))
    order = np.lexsort((first, bus))
    bus, first, stop = bus[order], first[order], stop[order]
    return bool(np.all((bus[1:] != bus[:-1]) | (first[1:] >= stop[:-1])))


def random_schedule(random: np.random.Generator, make: MakePhase) -> tuple[Problem, Solution, Rows]:
    """Transfers put one after another where they fit and all rows can be encoded."""
    pairs = random.choice(TILES // 2, 4, replace=False)
    members = np.sort(np.concatenate((2 * pairs, 2 * pairs + 1)))
    transfers: list[Transfer] = []
    start: list[int] = []
    found = None
    for _ in range(int(random.integers(3, 12))):
        more = [*transfers, random_transfer(random, members)]
        if transfers and random.random() < 0.3:
            # Goes on where another one ends in memory.
            source, address, words, receivers, width = more[-1]
            _, _, before, previous, _ = transfers[int(random.integers(0, len(transfers)))]
            at = {tile: to + 4 * before for tile, to in previous}
            receivers = [(tile, at.get(tile, to)) for tile, to in receivers]
            more[-1] = source, address, words, receivers, width
        problem = make(more, TILES)
        if problem.paired[-1] and not qualifying(problem)[-1]:
            continue
        head = int(timing(problem).head[-1])
        reach = int(random.choice((40, 700, 1_200_000), p=(0.5, 0.45, 0.05)))
        for event in random.integers(head, head + reach, 10).tolist():
            solution = Solution(np.array([*start, event]), problem.paired)
            if not free(problem, solution):
                continue
            try:
                found = problem, solution, encode_rows(problem, solution)
            except CheckError:
                continue
            transfers, start = more, [*start, event]
            break
    if found is None:
        return random_schedule(random, make)
    return found


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_decoding_gives_back_the_schedule(listed: MakePhase, seed: int) -> None:
    problem, solution, rows = random_schedule(np.random.default_rng(seed), listed)
    events = decode_rows(rows)
    np.testing.assert_array_equal(events.done, rows.done)
    np.testing.assert_array_equal(decode_row(rows.row(int(problem.source[0]))).event.size > 0, True)
    times = timing(problem, solution.paired)
    assert rows.horizon == int((solution.start + times.tail).max())
    found = rebuild(problem, events)
    # Equal transfers may change places; a schedule of the same events is as good.
    again = encode_rows(problem, found)
    np.testing.assert_array_equal(again.words, rows.words)
    np.testing.assert_array_equal(np.sort(found.start), np.sort(solution.start))
    np.testing.assert_array_equal(found.paired, solution.paired)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_changed_words_are_refused_or_mean_something_else(listed: MakePhase, seed: int) -> None:
    """One bit, or one word, of a valid row: an error that names a tile, never a wrong schedule."""
    random = np.random.default_rng(seed)
    problem, solution, rows = random_schedule(random, listed)
    for _ in range(20):
        words = rows.words.copy()
        at = int(random.integers(0, len(words)))
        if random.random() < 0.5:
            words[at] ^= np.uint32(1 << int(random.integers(0, 32)))
        else:
            words[at] = random.integers(0, 2**32, dtype=np.uint32)
        if np.array_equal(words, rows.words):
            continue
        try:
            events = decode_rows(replace(rows, words=words))
            found = rebuild(problem, events)
        except InputError as error:
            assert "tile" in str(error) or "messages" in str(error)
            continue
        # Rows may end later, leave out a pointer that is not needed, and waits have an address.
        np.testing.assert_array_equal(np.sort(found.start), np.sort(solution.start))
        intact = decode_rows(rows)
        for kind in (SEND, SEND_ON, SOURCE, SOURCE64, FORMAT):
            mine, other = intact.kind == kind, events.kind == kind
            np.testing.assert_array_equal(intact.event[mine], events.event[other])
            np.testing.assert_array_equal(intact.value[mine], events.value[other])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 2**32 - 1), max_size=6))
def test_foreign_words(words: list[int]) -> None:
    with pytest.raises(InputError, match="tile 0"):
        decode_row(np.array([*words, 0xFFFFFFFF], np.uint32))


PAIR = encode("sendpicp", 0, 0, 0, 0, 1, 0, NEUTRAL)
OPENING = encode("send", 1, 50, 1)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ((), "found 0 words"),
        ((0x19000000, END_OF_ROW), "word 0: found 0x19000000, expected a row instruction"),
        (encode("delay", 3), "word 0: found 0x40a00003, expected 0x43a00000"),
        ((*encode("br", 10), END_OF_ROW), "word 0: found 0x43a00000, expected br"),
        (encode("br", 7), "word 0: found 0x43700000, expected 0x43a00000"),
        ((*encode("delay", 3), *PAIR, END_OF_ROW), "word 1: found 0xf0000000, expected two-word"),
        (PAIR[:1], "word 0: found 0xf0000000, expected its second word"),
        ((*encode("sendoff", 3, 0, 1), END_OF_ROW), "expected a message under way"),
        ((*OPENING, *encode("delay", 0), *encode("sendpic", 1, 0, 4), END_OF_ROW), "under way"),
        (
            (*OPENING, *encode("sendoff", 3, 0, 2), END_OF_ROW),
            "expected the control of the message",
        ),
        ((*OPENING, *encode("sendoff", 3, 8, 1), END_OF_ROW), "expected an address field of 0"),
        ((*encode("send", 1, 50, 4), END_OF_ROW), "expected a message with a direction"),
        (
            (*OPENING, *encode("sendoff", 3, 0, 1), *encode("sendpicp", 1, 50, 1, 0, 1, 0, 1)),
            "the address the message has reached",
        ),
    ],
)
def test_each_refusal_of_the_decoder(words: tuple[int, ...], found: str) -> None:
    if found.startswith("the address"):
        words = (*words, END_OF_ROW)
    with pytest.raises(InputError, match=found) as caught:
        decode_row(np.array(words, np.uint32))
    assert str(caught.value).startswith("tile 0: ")


def test_rebuild_refuses_another_phase(listed: MakePhase) -> None:
    one = (0, 0x60000, 20, [(5, 0x70000)], 32)
    rows = encode_rows(listed([one], TILES), Solution(np.array([90])))
    for other in (
        (0, 0x60000, 20, [(5, 0x70004)], 32),
        (0, 0x60004, 20, [(5, 0x70000)], 32),
        (0, 0x60000, 21, [(5, 0x70000)], 32),
        (0, 0x60000, 20, [(6, 0x70000)], 32),
        (1, 0x60000, 20, [(5, 0x70000)], 32),
    ):
        with pytest.raises(InputError, match="tile 0, event 90: expected a transfer of the phase"):
            rebuild(listed([other], TILES), decode_rows(rows))
    with pytest.raises(InputError, match="found 1 messages, expected 2"):
        rebuild(listed([one, one], TILES), decode_rows(rows))


def test_overlapping_messages_are_refused(listed: MakePhase) -> None:
    transfers = [(0, 0x60000, 20, [(5, 0x70000)], 32), (0, 0x60000, 20, [(9, 0x70000)], 32)]
    with pytest.raises(CheckError, match="E7: tile 0, event 95: controls or messages collide"):
        encode_rows(listed(transfers, TILES), Solution(np.array([90, 95])))


def test_what_no_row_can_hold(listed: MakePhase) -> None:
    far = listed([(0, 0x60000, 20, [(5, 0x100000)], 32)], TILES)
    with pytest.raises(InputError, match="found address 0x100000, expected below 0x100000"):
        encode_rows(far, Solution(np.array([90])))
    near = listed([(0, 0x60000, 20, [(5, 0x70000)], 32)], TILES)
    with pytest.raises(CheckError, match="E1: transfer 0"):
        encode_rows(near, Solution(np.array([-1])))


def test_iterations_differ_in_their_source_address_only(listed: MakePhase) -> None:
    phase = listed([(0, 0x60000, 70, [(5, 0x70000)], 32)], TILES)
    phase = replace(phase, source_address=np.array([[0x60000, 0x61000]]))
    solution = Solution(np.array([90]))
    first, second = (encode_rows(phase, solution, iteration=i) for i in (0, 1))
    assert np.flatnonzero(first.words != second.words).tolist() == [1]
    assert rebuild(phase, decode_rows(second), iteration=1).start.tolist() == [90]


def test_empty_phase(listed: MakePhase) -> None:
    phase = listed([], 4)
    rows = encode_rows(phase, Solution(np.zeros(0, np.int64)))
    assert rows.words.tolist() == [END_OF_ROW] * 4
    assert rows.horizon == 0
    assert len(rebuild(phase, decode_rows(rows)).start) == 0


def test_files(tmp_path: Path, listed: MakePhase) -> None:
    phase = listed([(0, 0x60000, 70, [(5, 0x70000)], 32)], 8)
    rows = encode_rows(phase, Solution(np.array([90])))
    folder = tmp_path / "new" / "rows"
    write_rows(folder, rows)
    index = json.loads((folder / "index.json").read_text())
    assert index["horizon"] == rows.horizon
    assert [entry["tile"] for entry in index["tiles"]] == list(range(8))
    for entry in index["tiles"]:
        words = np.fromfile(folder / entry["file"], "<u4")
        assert words.tolist() == rows.row(entry["tile"]).tolist()
        assert (len(words), rows.done[entry["tile"]]) == (entry["words"], entry["done"])
    assert [path.name for path in folder.parent.iterdir()] == ["rows"]
    with pytest.raises(InputError, match="not empty"):
        write_rows(folder, rows)
    with pytest.raises(InputError, match="expected"):
        write_rows(folder / "index.json", rows)
