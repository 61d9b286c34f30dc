"""``ipuopt assign``: files, messages, exit codes."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from click.testing import Result as Outcome

from ipuopt.cli import main

# Five nodes, of which two strategies have to give way to the limit: 445, found by hand.
EXAMPLE: dict[str, Any] = {
    "problem": {
        "name": "five",
        "nodes": {
            "intervals": [[30, 70], [40, 70], [50, 120], [110, 140], [110, 150]],
            "costs": [[15], [55, 65], [25, 45, 35], [85, 75], [95]],
            "usages": [[10], [25, 25], [15, 20, 15], [10, 10], [15]],
        },
        "edges": {
            "nodes": [[0, 1], [0, 2], [1, 3], [2, 4], [3, 4]],
            "costs": [[30, 40], [50, 10, 40], [90, 10, 20, 80], [60, 20, 30], [70, 60]],
        },
        "usage_limit": 50,
    }
}


@pytest.fixture(autouse=True)
def _folder(clean_folder: Path) -> None:
    (clean_folder / "five.json").write_text(json.dumps(EXAMPLE))


def run(*arguments: str, input: bytes | None = None) -> Outcome:
    return CliRunner().invoke(main, ["assign", *arguments], input=input)


def test_the_example_is_solved_and_written() -> None:
    outcome = run("five.json", "--deterministic")
    assert outcome.exit_code == 0, outcome.output
    assert Path("five.solution.json").read_text() == "[0, 0, 2, 1, 0]\n"
    report = json.loads(Path("five.report.json").read_text())["report"]
    assert (report["status"], report["objective"], report["bound"]) == ("optimal", 445, 445)
    assert report["terms"] == {"nodes": 275, "edges": 170}
    assert "445" in outcome.output


def test_gzip_standard_input_and_json() -> None:
    data = gzip.compress(json.dumps(EXAMPLE).encode())
    outcome = run("-", "--json", "--deterministic", "-q", "-o", "out/s.json", input=data)
    assert outcome.exit_code == 0
    content = json.loads(outcome.stdout)
    assert content["solution"] == "out/s.json" and content["exit_code"] == 0
    assert json.loads(Path("out/s.json").read_text()) == [0, 0, 2, 1, 0]
    assert Path("out/s.report.json").exists()


def test_without_a_limit_and_with_edges_of_one_node() -> None:
    free = copy.deepcopy(EXAMPLE)
    del free["problem"]["usage_limit"]
    free["problem"]["edges"]["nodes"] += [[2], [3, 3]]
    free["problem"]["edges"]["costs"] += [[0, 0, 100], [7, 9, 9, 1]]
    Path("free.json").write_text(json.dumps(free))
    outcome = run("free.json", "--deterministic")
    assert outcome.exit_code == 0
    assert json.loads(Path("free.solution.json").read_text()) == [0, 0, 1, 1, 0]
    report = json.loads(Path("free.report.json").read_text())["report"]
    assert report["objective"] == 415 + 1


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("nodes",), 3, "problem.nodes: found 3, expected an object"),
        (("nodes", "costs"), None, "problem.nodes.costs: found nothing, expected a list"),
        (("nodes", "costs", 1), [], "problem.nodes.costs[1]: found [], expected at least one"),
        (("nodes", "costs", 1), [5, 2.5], "problem.nodes.costs[1][1]: found 2.5, expected an int"),
        (("nodes", "costs", 1), [5, True], "problem.nodes.costs[1][1]: found True"),
        (("nodes", "costs", 1), [-1, 0], "problem.nodes.costs[1][0]: found -1"),
        (("nodes", "costs", 0), 15, "problem.nodes.costs[0]: found 15, expected a list"),
        (("nodes", "usages", 2), [1, 2], "problem.nodes.usages[2]: found 2 entries, expected 3"),
        (("nodes", "usages"), [[1]], "problem.nodes.usages: found 1 entries, expected 5"),
        (("nodes", "intervals", 3), [9, 8], "intervals[3]: found [9, 8], expected lower <= upper"),
        (("nodes", "intervals", 3), [9], "intervals[3]: found [9], expected [lower, upper]"),
        (("edges", "nodes", 4), [3, 5], "edges.nodes[4]: found [3, 5], expected nodes from 0 to 4"),
        (("edges", "nodes", 4), [1, 2, 3], "edges.nodes[4]: found [1, 2, 3], expected one or two"),
        (("edges", "costs", 2), [1], "edges.costs[2]: found 1 entries, expected 4 costs"),
        (("usage_limit",), "x", "problem.usage_limit: found 'x', expected an integer"),
    ],
)
def test_bad_files_are_one_line(place: tuple[Any, ...], value: object, said: str) -> None:
    bad = copy.deepcopy(EXAMPLE)
    owner = bad["problem"]
    for key in place[:-1]:
        owner = owner[key]
    owner[place[-1]] = value
    Path("bad.json").write_text(json.dumps(bad))
    outcome = run("bad.json")
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith("error: bad.json: ") and outcome.stderr.count("\n") == 1
    assert said in outcome.stderr
    assert not list(Path().glob("bad.*.json"))


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"problem": 1}', gzip.compress(b"{}")[:9]])
def test_files_that_are_no_problem(data: bytes) -> None:
    Path("bad.json").write_bytes(data)
    outcome = run("bad.json")
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith("error: bad.json") and outcome.stderr.count("\n") == 1
    assert run("absent.json").exit_code == 2


def test_what_cannot_fit_is_explained() -> None:
    tight = copy.deepcopy(EXAMPLE)
    tight["problem"]["usage_limit"] = 40
    Path("tight.json").write_text(json.dumps(tight))
    outcome = run("tight.json")
    assert outcome.exit_code == 3
    assert (
        "time 50, every node at its least usage: needs 50 units of memory of 40" in outcome.stderr
    )
    assert "node 1 25" in outcome.stderr and "usage_limit of 50 or more" in outcome.stderr
    assert not Path("tight.solution.json").exists()


def test_other_files_are_kept() -> None:
    Path("five.solution.json").write_text("mine")
    outcome = run("five.json")
    assert outcome.exit_code == 2 and "--force replaces it" in outcome.stderr
    assert Path("five.solution.json").read_text() == "mine"
    assert run("five.json", "--force").exit_code == 0
    assert run("five.json").exit_code == 0


def test_the_shared_example(shared: Path) -> None:
    outcome = run(str(shared / "bench" / "iopddl" / "example.json"), "--deterministic")
    assert outcome.exit_code == 0
    assert json.loads(Path("example.solution.json").read_text()) == [0, 0, 2, 1, 0]
