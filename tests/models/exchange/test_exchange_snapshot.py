"""Snapshots of the public compiler: what is read, how bad files are told, and what is gained."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipuopt.errors import InputError
from ipuopt.limits import Limits
from ipuopt.models.exchange import Problem, append_only, check, horizon, lower_bound, solve
from ipuopt.models.exchange.snapshot import load_snapshot

Mutate = Callable[[dict[str, Any]], object]


def tiny() -> dict[str, Any]:
    """Two phases and an empty one, as the compiler writes them."""
    return {
        "schema_version": 4,
        "tile_count": 64,
        "phases": [
            {
                "phase": 0,
                "transfers": [
                    transfer(0, 0x64000, 10, [[5, 0x68000]]),
                    transfer(2, 0x64100, 20, [[5, 0x68100], [7, 0x68100]]),
                ],
            },
            {"phase": 1, "transfers": []},
            {"phase": 2, "transfers": [transfer(9, 0x80000, 4148, [[63, 0x90000]])]},
        ],
    }


def transfer(source: int, address: int, words: int, receivers: list[list[int]]) -> dict[str, Any]:
    return {
        "source": source,
        "source_addresses": [address],
        "destinations": receivers,
        "words": words,
        "width": "Word32",
    }


def write(folder: Path, data: object, *, packed: bool = False) -> Path:
    text = json.dumps(data).encode()
    path = folder / ("tiny.json.gz" if packed else "tiny.json")
    path.write_bytes(gzip.compress(text) if packed else text)
    return path


def as_lists(problem: Problem) -> list[list[int]]:
    return [
        column.tolist()
        for column in (
            problem.source,
            problem.source_address[:, 0],
            problem.words,
            problem.destination_start,
            problem.destination_tile,
            problem.destination_address,
        )
    ]


@pytest.mark.parametrize("packed", [False, True])
def test_columns(tmp_path: Path, packed: bool) -> None:
    path = write(tmp_path, tiny(), packed=packed)
    first, second, third = load_snapshot(path).problems
    assert first.tiles == 64 and first.name == f"{path.name} phase 0"
    assert as_lists(first) == [
        [0, 2],
        [0x64000, 0x64100],
        [10, 20],
        [0, 1, 3],
        [5, 5, 7],
        [0x68000, 0x68100, 0x68100],
    ]
    assert len(second) == 0
    assert as_lists(third)[2] == [4148]


def test_any_white_space_and_order_of_keys(tmp_path: Path) -> None:
    """Also braces in strings, escaped letters, further keys: what JSON allows is read."""
    data = tiny()
    whole = [as_lists(problem) for problem in load_snapshot(write(tmp_path, data)).problems]
    data["note"] = 'braces } in { a "string" \\'
    for phase in data["phases"]:
        phase["transfers"] = [dict(reversed(entry.items())) for entry in phase["transfers"]]
    path = tmp_path / "spaced.json"
    text = json.dumps(data, indent=3)
    for changed in (
        text,
        text.replace(":", "\t: \r\n").replace(",", " ,"),
        text.replace('"words"', '"w\\u006frds"'),
        text.replace('"words"', '"more": [{"a": 1}], "words"'),
        text.replace('"words"', '"words": 7, "words"'),  # the last one counts
    ):
        path.write_text(changed)
        assert [as_lists(problem) for problem in load_snapshot(path).problems] == whole


def test_transfers_in_another_form_between_usual_ones(tmp_path: Path) -> None:
    data = tiny()
    data["phases"][0]["transfers"] *= 5
    whole = [as_lists(problem) for problem in load_snapshot(write(tmp_path, data)).problems]
    for place in (0, 3, 4, 9):
        data["phases"][0]["transfers"][place] = data["phases"][0]["transfers"][place] | {"x": None}
    assert [as_lists(problem) for problem in load_snapshot(write(tmp_path, data)).problems] == whole
    assert whole[0][0] == [0, 2] * 5


def test_phase_numbers_and_hash(tmp_path: Path) -> None:
    """The hash is that of the text, packed or not; phases without a number have their place."""
    data = tiny()
    data["phases"][0]["phase"] = 7
    del data["phases"][1]["phase"]
    found = load_snapshot(write(tmp_path, data))
    assert found.numbers == (7, 1, 2)
    assert found.problems[0].name == "tiny.json phase 7"
    assert found.sha256 == load_snapshot(write(tmp_path, data, packed=True)).sha256
    assert found.sha256 != load_snapshot(write(tmp_path, tiny())).sha256


def test_iterations_of_a_repeat(tmp_path: Path) -> None:
    """A single address serves all iterations; the others of a phase have one an iteration."""
    data = tiny()
    data["phases"][0]["transfers"][0]["source_addresses"] = [0x64000, 0x64800, 0x65000]
    first, second, third = load_snapshot(write(tmp_path, data)).problems
    assert first.source_address.tolist() == [[0x64000, 0x64800, 0x65000], [0x64100] * 3]
    assert (second.source_address.shape, third.source_address.shape) == ((0, 1), (1, 1))
    data["phases"][0]["transfers"][1]["source_addresses"] = [0, 4]
    with pytest.raises(InputError, match="phase 0: transfer 1: source_addresses: found 2 of them"):
        load_snapshot(write(tmp_path, data))


def test_widths(tmp_path: Path) -> None:
    data = tiny()
    pair = transfer(0, 0x64000, 128, [[8, 0x68000], [10, 0x68000]]) | {"width": "Paired64"}
    data["phases"][1]["transfers"] = [transfer(2, 0x64000, 128, [[9, 0x68000]]), pair]
    with pytest.raises(InputError, match="phase 1: transfer 1: width: found Paired64, expected Wo"):
        load_snapshot(write(tmp_path, data))
    pair["destinations"] = [[8, 0x68000], [9, 0x68000]]
    problem = load_snapshot(write(tmp_path, data)).problems[1]
    assert problem.paired.dtype == np.bool_
    assert problem.paired.tolist() == [False, True]


@pytest.mark.parametrize(
    "mutate",
    [
        lambda d: d.update(meta={"a": {"b": 1}}),
        lambda d: d["phases"][0].update(meta={"b": {"c": 1}}),
        lambda d: d["phases"].insert(0, {"phase": 9, "transfers": [], "m": {"y": 2}}),
        lambda d: d["phases"][0]["transfers"][0].update(meta={"deep": {"er": [{}]}}),
    ],
)
def test_further_objects_are_passed_over(tmp_path: Path, mutate: Mutate) -> None:
    whole = [as_lists(problem) for problem in load_snapshot(write(tmp_path, tiny())).problems]
    data = tiny()
    mutate(data)
    data = dict(reversed(data.items()))  # the further key comes before the phases
    found = [as_lists(problem) for problem in load_snapshot(write(tmp_path, data)).problems]
    assert found[-3:] == whole


def set_second(key: str, value: object) -> Mutate:
    return lambda data: data["phases"][0]["transfers"][1].__setitem__(key, value)


@pytest.mark.parametrize(
    ("mutate", "words"),
    [
        (lambda d: d.pop("schema_version"), "expected an object with schema_version"),
        (lambda d: d.update(schema_version=3), "schema_version 3, expected 4"),
        (lambda d: d.update(schema_version="4"), "schema_version '4', expected 4"),
        (lambda d: d.pop("tile_count"), "tile_count is None, expected an integer"),
        (lambda d: d.update(tile_count=True), "tile_count is True, expected an integer"),
        (lambda d: d.update(tile_count=8), "phase 2: transfer 0: source: found 9, .*tile 0..7"),
        (lambda d: d.update(tile_count=1473), "tiles: found 1473, expected 1..1472"),
        (lambda d: d.update(tile_count=0), "tiles: found 0, expected 1..1472"),
        (lambda d: d.pop("phases"), "phases is None, expected a list"),
        (lambda d: d.update(phases=[5]), "phase 0: phase is None, expected an integer"),
        (lambda d: d["phases"][1].update(phase="b"), "phase 1: phase is 'b', expected an integer"),
        (lambda d: d["phases"][1].update(phase=0), "phase 0: found a second phase of this number"),
        (lambda d: d["phases"][1].update(transfers=7), "phase 1: transfers is 7, expected a list"),
        (lambda d: d["phases"][0].update(transfers=[5]), "phase 0: transfers holds something else"),
        (lambda d: d["phases"][2].update(transfers=[[]]), "phase 2: transfers holds"),
        (lambda d: d["phases"][2]["transfers"].append(0), "phase 2: transfers holds"),
        (set_second("source_addresses", []), "source_addresses: found 0 of them, expected 1"),
        (set_second("source_addresses", 0x64000), "source_addresses: found 409600, .*a list"),
        (set_second("source_addresses", [2]), "source_addresses: found 2, expected a multiple"),
        (set_second("source", None), "source: found nothing, expected an integer from 0"),
        (set_second("source", 1.0), r"source: found 1\.0, expected an integer"),
        (set_second("source", 1 << 70), "source: found 1.18.*e.21, expected an integer"),
        (set_second("source", 1 << 31), "source: found 2147483648, expected an integer"),
        (set_second("source", "0"), "source: found '0', expected an integer"),
        (set_second("source", True), "source: found True, expected an integer"),
        (set_second("source", -1), "source: found -1, expected an integer from 0"),
        (set_second("source", 64), r"source: found 64, expected a tile 0\.\.63"),
        (set_second("destinations", [[5]]), r"destinations: found \[\[5\]\], expected a list"),
        (set_second("destinations", [[5, 4, 3]]), r"destinations: found \[\[5, 4, 3\]\]"),
        (set_second("destinations", 5), "destinations: found 5, expected a list"),
        (set_second("destinations", []), "destinations: found none, expected some"),
        (set_second("destinations", [[2, 0x68000]]), "destinations: tile: found 2, .*another tile"),
        (set_second("destinations", [[5, 0x68002]]), "destinations: address: found 425986, exp"),
        (set_second("destinations", [[5, 0], [5, 4]]), "destinations: found tile 5 twice"),
        (set_second("destinations", [[99, 0]]), r"destinations: tile: found 99, expected 0\.\.63"),
        (set_second("words", 0), r"words: found 0, expected 1\.\.4148"),
        (set_second("words", 4149), r"words: found 4149, expected 1\.\.4148"),
        (lambda d: d["phases"][0]["transfers"][1].pop("words"), "words: found nothing"),
        (lambda d: d["phases"][0]["transfers"][1].pop("width"), "width: found nothing, expected W"),
        (set_second("width", "Word64"), "width: found 'Word64', expected Word32 or Paired64"),
        (set_second("width", 32), "width: found 32, expected Word32 or Paired64"),
        (set_second("width", "Paired64"), "width: found Paired64, expected Word32"),
    ],
)
def test_bad_fields_are_told_in_one_line(tmp_path: Path, mutate: Mutate, words: str) -> None:
    data = tiny()
    mutate(data)
    path = write(tmp_path, data)
    with pytest.raises(InputError) as caught:
        load_snapshot(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and "\n" not in message
    assert re.search(words, message), message
    if "found" in words and "tiles" not in words and "second" not in words:
        assert "phase 0: transfer 1: " in message or "phase 2: transfer 0: " in message


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\0\1\2",
        b"[]",
        b"17",
        b"not json",
        b'{"a": {"b": {"c": 1}}}',
        b"}}}{{{",
        b'"' + b"\\",
        b'{"schema_version": 4, "tile_count": 64, "phases": [',
        b"\x1f\x8b",
        b"\x1f\x8b\x08\0nothing",
        json.dumps(tiny()).encode()[:-40],
        json.dumps(tiny()).encode()[:200],
        gzip.compress(json.dumps(tiny()).encode())[:-20],
        gzip.compress(json.dumps(tiny()).encode())[:-6],
        gzip.compress(json.dumps(tiny()).encode())[:-12] + b"\0" * 12,
        gzip.compress(b"[1, 2"),
    ],
)
def test_damaged_and_foreign_files(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "some.json.gz"
    path.write_bytes(text)
    with pytest.raises(InputError) as caught:
        load_snapshot(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and "\n" not in message


def test_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.json: cannot be read"):
        load_snapshot(tmp_path / "none.json")
    with pytest.raises(InputError, match="cannot be read"):
        load_snapshot(tmp_path)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_any_damage_is_an_input_error_or_harmless(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    text = bytearray(json.dumps(tiny()).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        piece = data.draw(st.sampled_from((b"", b"{", b"}", b"[", b'"', b"0", b",", b"null")))
        text[at : at + data.draw(st.integers(0, 30))] = piece
    path = tmp_path_factory.getbasetemp() / "damaged.json"
    path.write_bytes(text)
    try:
        problems = load_snapshot(path).problems
    except InputError as error:
        assert "\n" not in str(error)
    else:
        phases = json.loads(text)["phases"]
        assert [len(problem) for problem in problems] == [len(p["transfers"]) for p in phases]


SMALL = {
    "mlp_128x256x512_t64": [(64, 64, 32768), (64, 1008, 32768), (192, 192, 49152)],
    "mlp_rep2_pinned_t64": [
        (32, 32, 65536),
        (128, 128, 32768),
        (128, 2016, 32768),
        (192, 192, 49152),
        (64, 992, 16384),
    ],
    "attn_h3_d192_s64_t64": [
        (8, 60, 6144),
        (64, 64, 6144),
        (8, 60, 6144),
        (64, 64, 6144),
        (8, 60, 6144),
        (64, 64, 6144),
        (1132, 1132, 6036),
        (1615, 1615, 12160),
        (60, 1200, 12288),
    ],
}
"""Transfers, receivers and words of each phase, from the README of the snapshots."""


@pytest.mark.parametrize("name", SMALL)
def test_snapshots_hold_what_their_readme_says(shared: Path, name: str) -> None:
    problems = load_snapshot(shared / "data" / "snapshots" / f"{name}.json.gz").problems
    found = [(len(p), len(p.destination_tile), int(p.words.sum())) for p in problems]
    assert found == SMALL[name]
    for problem in problems:
        baseline = append_only(problem)
        assert not check(problem, baseline)
        assert lower_bound(problem)[0] <= horizon(problem, baseline)


HORIZONS = {
    "mlp_128x256x512_t64": [(614, 726), (8295, 9813), (870, 1064)],
    "attn_h3_d192_s64_t64": [(874, 874), (198, 310)] * 3 + [(198, 2257), (592, 9158), (4202, 6121)],
}
"""Columns head+tail and peer of the README, by phase."""


@pytest.mark.slow
@pytest.mark.parametrize("name", HORIZONS)
def test_horizons_are_never_above_those_of_the_peer(shared: Path, name: str) -> None:
    problems = load_snapshot(shared / "data" / "snapshots" / f"{name}.json.gz").problems
    for problem, (least, peer) in zip(problems, HORIZONS[name], strict=True):
        solution, report = solve(problem, Limits().within(15.0))
        assert not check(problem, solution)
        assert report.bound is not None and report.objective is not None
        assert least <= lower_bound(problem)[0] <= report.bound <= report.objective <= peer


@pytest.mark.slow
@pytest.mark.parametrize(("number", "most"), [(0, 4100), (1, 6600), (4, 5600)])
def test_largest_snapshot(shared: Path, number: int, most: int) -> None:
    """At most a little above the prototype's horizons in the README: 3953, 6548, 5320."""
    path = shared / "data" / "snapshots" / "siglip_mlp_seed004_t1472.json.gz"
    problem = load_snapshot(path).problems[number]
    solution, report = solve(problem, Limits().within(60.0))
    assert not check(problem, solution)
    assert report.objective is not None and report.objective <= most
