"""``ipuopt place``: what files may hold, what is refused, exit codes, streams."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from click.testing import Result as Outcome

from ipuopt.cli import main

PLAIN = "id,lower,upper,size\na,0,3,4\nb,2,5,4\nc,0,2,8\nd,3,6,4\n"


@pytest.fixture(autouse=True)
def _folder(clean_folder: Path) -> None:
    (clean_folder / "plain.csv").write_text(PLAIN)


def place(text: str, *arguments: str) -> Outcome:
    flags = ("--progress", "none", "--threads", "1")
    return CliRunner().invoke(main, ["place", "-", *flags, *arguments], input=text.encode())


def offsets(outcome: Outcome) -> dict[str, int]:
    rows = csv.DictReader(io.StringIO(outcome.stdout))
    return {row["id"]: int(row["offset"]) for row in rows}


def test_least_height_goes_to_standard_output() -> None:
    outcome = place(PLAIN)
    assert outcome.exit_code == 0
    assert outcome.stdout.splitlines()[0] == "id,lower,upper,size,offset"
    found = offsets(outcome)
    assert sorted(found) == ["a", "b", "c", "d"]
    assert max(found["a"] + 4, found["c"] + 8) == 12
    assert "12" in outcome.stderr and "load" in outcome.stderr


VARIANTS = {
    "crlf": PLAIN.replace("\n", "\r\n"),
    "byte order mark": "\ufeff" + PLAIN,
    "blank lines": "\n" + PLAIN.replace("\n", "\n\n ,, ,\n"),
    "no last newline": PLAIN.rstrip("\n"),
    "blanks": PLAIN.replace(",", " , "),
    "other names": PLAIN.replace("id,lower", "buffer_id,start"),
    "end": "id,lower,end,size\na,0,2,4\nb,2,4,4\nc,0,1,8\nd,3,5,4\n",
    "order of columns": "size,id,upper,lower\n4,a,3,0\n4,b,5,2\n8,c,2,0\n4,d,6,3\n",
    "alignment 0": PLAIN.replace("size", "size,alignment").replace("4\n", "4,0\n").replace("8\n", "8,\n"),
    "quoted": PLAIN.replace("a,0", '"a",0'),
}  # fmt: skip


@pytest.mark.parametrize("name", VARIANTS)
def test_forms_of_one_file_give_one_answer(name: str) -> None:
    outcome = place(VARIANTS[name], "--json", "--deterministic")
    assert outcome.exit_code == 0, outcome.output
    answer = json.loads(outcome.stdout)
    expected = json.loads(place(PLAIN, "--json", "--deterministic").stdout)
    assert answer["offsets"] == expected["offsets"]
    assert answer["objective"] == answer["bound"] == 12


REFUSED = {
    "": ":1: found no header",
    "id,lower,upper\n": ":1: found no column 'size'",
    "id,lower,upper,size,size\n": ":1: found column 'size' twice",
    "id,lower,upper,end,size\n": ":1: found column 'end' twice",
    "id,lower,upper,size\na,0,1\n": ":2: found 3 cells",
    "id,lower,upper,size\n\na,0,1,1\na,0,1,1\n": ":4, id: found 'a' as in line 3",
    "id,lower,upper,size\n,0,1,1\n": ":2, id: found no name",
    "id,lower,upper,size\na,0,1,-1\n": ":2, size: found '-1', expected a whole number from 0",
    "id,lower,upper,size\na,2,1,1\n": ":2, upper: found 1 after 2",
    "id,lower,end,size\na,2,0,1\n": ":2, upper: found 0 after 2",
    "id,lower,upper,size\na,0,1,1.5\n": ":2, size: found '1.5'",
    "id,lower,upper,size\na,0,1,nan\n": ":2, size: found 'nan'",
    "id,lower,upper,size\na,0,1,1e9\n": ":2, size: found '1e9'",
    "id,lower,upper,size\na,0,1,99999999999999999999\n": ":2, size: found '99999999999999999999'",
    "id,lower,upper,size\na,x,1,1\n": ":2, lower: found 'x'",
    "id,lower,upper,size,alignment\na,0,1,1,-4\n": ":2, alignment: found '-4'",
    "id,lower,upper,size,alignment,offset\na,0,1,1,4,6\n": ":2, offset: found 6",
    "id,lower,upper,size,gaps\na,0,9,1,3\n": ":2, gaps: found '3'",
    "id,lower,upper,size,gaps\na,0,9,1,5-3\n": ":2, gaps: found '5-3'",
    "id,lower,upper,size,gaps\na,0,9,3,3-5@0:4\n": ":2, gaps: found '3-5@0:4', expected bytes",
    "id,lower,upper,size,gaps\na,0,9,3,3-5@2:1\n": ":2, gaps: found '3-5@2:1', expected bytes",
    "id,lower,upper,size,gaps\na,0,9,3,3-5@-1:1\n": ":2, gaps: found '-1'",
    "id,lower,upper,size,gaps\na,0,9,3,3-5@1\n": ":2, gaps: found '3-5@1'",
    "id,lower,upper,size,gaps\na,0,9,3,3-5@0:1 4-6\n": ":2, gaps: found '3-5@0:1 4-6'",
    'id,lower,upper,size\n"a,0,1,1\n': ":2: found unexpected end of data",
}


@pytest.mark.parametrize("text", REFUSED)
def test_bad_files_are_refused_on_one_line(text: str) -> None:
    outcome = place(text)
    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    assert outcome.stderr.count("\n") == 1
    assert f"error: -{REFUSED[text]}" in outcome.stderr


def test_files_that_are_no_text() -> None:
    Path("bad.csv").write_bytes(b"id,\xff\n")
    for name, found in (("bad.csv", "byte 0xff at 3"), ("no.csv", "No such file")):
        outcome = CliRunner().invoke(main, ["place", name])
        assert outcome.exit_code == 2 and found in outcome.stderr


def test_empty_buffers_take_no_room() -> None:
    """Size 0, no life, a life of gaps only: the rule stands in docs/place.md."""
    text = "id,lower,upper,size,gaps\na,0,4,8,\nb,1,3,0,\nc,2,2,8,\nd,0,4,8,0-2 2-9\n"
    outcome = place(text, "--json")
    answer = json.loads(outcome.stdout)
    assert (outcome.exit_code, answer["objective"]) == (0, 8)
    assert answer["offsets"] == {"a": 0, "b": 0, "c": 0, "d": 0}


def test_no_buffers_at_all() -> None:
    outcome = place("id,lower,upper,size\n")
    assert outcome.exit_code == 0
    assert outcome.stdout == "id,lower,upper,size,offset\n"


def test_gaps_leave_room() -> None:
    text = "id,lower,{},size,gaps\na,0,{},8,{}\nb,3,{},8,\n"
    for form in (("upper", 9, "3-5", 5), ("end", 8, "3-4", 4)):
        assert json.loads(place(text.format(*form), "--json").stdout)["objective"] == 8
    for form in (("upper", 9, "3-4", 5), ("end", 8, "3-3", 4)):
        assert json.loads(place(text.format(*form), "--json").stdout)["objective"] == 16


def test_gaps_that_keep_some_bytes() -> None:
    """``@LOW:HIGH`` names the bytes of the buffer that live in the gap: two of two bytes in three."""
    text = "id,lower,{0},size,gaps\na,0,{1},2,0-{2}@0:1\nb,0,{1},2,5-{1}@1:2\n"
    for form in (("upper", 10, 5), ("end", 9, 4)):
        answer = json.loads(place(text.format(*form), "--json").stdout)
        assert (answer["objective"], answer["bound"]) == (3, 3)
        assert answer["offsets"] == {"a": 0, "b": 1}
    free = "id,lower,upper,size,gaps\na,0,9,8,3-5@4:4\nb,3,5,8,\n"
    assert json.loads(place(free, "--json").stdout)["objective"] == 8
    touching = "id,lower,upper,size,gaps\na,0,9,8,0-2@0:4 2-5 5-9@4:8\nb,0,9,4,2-5\n"
    answer = json.loads(place(touching, "--json", "--deterministic").stdout)
    assert answer["objective"] == answer["bound"] == 12
    inside = "id,lower,upper,size,gaps\na,0,9,3,0-5@0:1 5-9@2:3\nb,0,9,1,\n"
    answer = json.loads(place(inside, "--json", "--deterministic").stdout)
    assert (answer["objective"], answer["offsets"]) == (3, {"a": 0, "b": 1})


def test_fixed_offsets_and_hints() -> None:
    text = "id,lower,upper,size,offset\na,0,4,8,4\nb,1,3,4,-1\nc,2,5,4,\n"
    assert offsets(place(text))["a"] == 4
    clash = "id,lower,upper,size,offset\na,0,4,8,4\nb,1,3,4,8\n"
    outcome = place(clash)
    assert (
        outcome.exit_code == 3 and "2 buffers (a 8, b 4) have no placement at all" in outcome.stderr
    )
    hinted = "id,lower,upper,size,hint\na,0,4,8,0\nb,1,3,4,8\n"
    assert json.loads(place(hinted, "--json").stdout)["objective"] == 12


def test_the_output_is_an_input() -> None:
    """With all offsets fixed, the command only checks them."""
    placed = place(PLAIN).stdout
    again = place(placed)
    assert again.exit_code == 0 and again.stdout == placed


def test_capacity() -> None:
    assert place(PLAIN, "--capacity", "12").exit_code == 0
    outcome = place(PLAIN, "--capacity", "11")
    assert outcome.exit_code == 3 and outcome.stdout.count("\n") == 2
    assert "in step 0, 2 buffers need 12 of 11 bytes (c 8, a 4)" in outcome.stderr
    answer = json.loads(place(PLAIN, "--capacity", "11", "--json").stdout)
    assert answer["status"] == "infeasible" and answer["conflict"]["buffers"] == ["a", "c"]


def test_capacity_0_and_the_greatest_numbers() -> None:
    outcome = place(PLAIN, "--capacity", "0")
    assert outcome.exit_code == 3
    assert "in step 0, 1 buffer needs 8 of 0 bytes (c 8)" in outcome.stderr
    assert place("id,lower,upper,size\na,0,3,0\n", "--capacity", "0").exit_code == 0
    most = 1 << 53
    huge = f"id,lower,upper,size\na,{-most},{most},{most}\n"
    assert place(huge).exit_code == 0
    outcome = place(huge + f"b,0,1,{most}\n")
    assert outcome.exit_code == 3 and f"2 buffers need {2 * most} of {most} bytes" in outcome.stderr


def test_proof_by_search_names_few_buffers() -> None:
    """10 bytes of 12 are needed, but the fixed buffer leaves pieces of 4 only; c is not to blame."""
    text = "id,lower,upper,size,offset\nc,3,5,12,-1\na,0,3,4,4\nb,1,2,6,-1\n"
    outcome = place(text, "--capacity", "12")
    assert outcome.exit_code == 3
    found = "2 buffers (b 6, a 4) have no placement in 12 bytes, with a load of 10"
    assert found in outcome.stderr
    assert place(text, "--capacity", "14").exit_code == 0


def test_files_and_their_protection() -> None:
    flags = ["--progress", "none", "--threads", "1"]
    run = CliRunner().invoke
    done = run(main, ["place", "plain.csv", "-o", "out.csv", *flags])
    assert done.exit_code == 0 and "Offsets: out.csv" in done.stdout
    assert Path("out.csv").read_text().startswith("id,lower,upper,size,offset\n")
    assert run(main, ["place", "plain.csv", "-o", "out.csv", *flags]).exit_code == 0
    refused = run(main, ["place", "plain.csv", "-o", "plain.csv", *flags])
    assert refused.exit_code == 2 and Path("plain.csv").read_text() == PLAIN
    assert run(main, ["place", "plain.csv", "-o", "plain.csv", "--force", *flags]).exit_code == 0


@pytest.mark.parametrize(
    "flag",
    [
        ("--capacity", "x"),
        ("--capacity", "-1"),
        ("--capacity", "nan"),
        ("--capacity", "9007199254740994"),
        ("--capacity", "99999999999999999999999"),
        ("--solver", "highs"),
    ],
)
def test_bad_flags(flag: tuple[str, str]) -> None:
    outcome = place(PLAIN, *flag)
    assert outcome.exit_code == 2 and flag[0] in outcome.stderr


def test_deterministic_runs_are_equal(shared: Path) -> None:
    file = shared / "bench" / "minimalloc" / "input.12.csv"
    outcomes = [place(file.read_text(), "--deterministic", "--seed", "3") for _ in range(2)]
    assert outcomes[0].stdout == outcomes[1].stdout
    assert max(offsets(outcomes[0]).values()) <= 12
