"""Two runs side by side."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ipuopt.cli import main
from ipuopt.compare import differences
from ipuopt.compare.runs import changes
from ipuopt.result import Result


def edit(file: Path, change: Callable[[dict[str, Any]], None]) -> None:
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))


@pytest.fixture
def runs(tiny_result: Result, tmp_path: Path) -> tuple[Path, Path]:
    """A run, and a copy whose phase ends 9 cycles earlier under another seed and numpy."""
    first, second = tmp_path / "a", tmp_path / "b"
    tiny_result.save(first)
    shutil.copytree(first, second)

    def report(data: dict[str, Any]) -> None:
        data["versions"]["numpy"] = "0.1"
        data["total"] |= {"objective": 791, "gap": 0.1}
        data["reports"][1] |= {"objective": 161}

    edit(second / "report.json", report)
    edit(second / "workload.json", lambda data: data["config"]["seed"].update(value=7))
    edit(second / "plan.json", lambda data: data["values"][2].update(is_output=False))
    return first, second


def test_what_differs(runs: tuple[Path, Path]) -> None:
    found = differences(*runs)
    assert found.same_input
    assert found.options == {"seed": (0, 7)}
    assert list(found.versions) == ["numpy"]
    assert found.plan == {("value a", "is_output"): (True, False)}
    assert [(stage.name, stage.saved) for stage in found.stages] == [
        ("mapping", 0),
        ("exchange 0 x for a", 9),
        ("total", 9),
    ]
    assert [phase.objective for phase in found.phases] == [(170, 161)]


def test_a_run_beside_itself(runs: tuple[Path, Path]) -> None:
    found = differences(runs[0], runs[0])
    assert (found.options, found.versions, found.plan) == ({}, {}, {})
    assert [stage.saved for stage in found.stages] == [0, 0, 0]


def test_stages_of_only_one_run(runs: tuple[Path, Path]) -> None:
    """They keep their place, the total stays last."""
    edit(runs[1] / "report.json", lambda data: data["reports"][1].update(model="0 other"))
    stages = differences(*runs).stages
    assert [stage.name for stage in stages] == [
        "mapping",
        "exchange 0 x for a",
        "exchange 0 other",
        "total",
    ]
    assert [stage.objective for stage in stages[1:3]] == [(170, None), (None, 161)]
    assert [stage.saved for stage in stages[1:3]] == [None, None]


def test_phases_of_other_numbers(runs: tuple[Path, Path]) -> None:
    """Another plan may have more phases before the one that does the same."""
    edit(runs[1] / "report.json", lambda data: data["reports"][1].update(model="3 x for a"))
    stages = differences(*runs).stages
    assert [stage.name for stage in stages] == [
        "mapping",
        "exchange 0 x for a / exchange 3 x for a",
        "total",
    ]
    assert stages[1].objective == (170, 161)


def test_changes() -> None:
    assert changes({"a": 1, "b": 2}, {"b": 2, "c": 3}) == {"a": (1, None), "c": (None, 3)}


def test_command(runs: tuple[Path, Path]) -> None:
    names = [str(run) for run in runs]
    outcome = CliRunner().invoke(main, ["compare", *names])
    assert outcome.exit_code == 0
    lines = outcome.stdout.splitlines()
    assert lines[:3] == [f"A: {names[0]}", f"B: {names[1]}", "option seed: 0 -> 7"]
    assert lines[4:6] == ["plan: 1 differences", "  value a is_output: true -> false"]
    assert lines[9].split()[:7] == ["exchange", "0", "x", "for", "a", "170", "161"]
    assert lines[-1] == "Exchange phases in B: 1 better, 0 worse, 0 equal."
    shown = CliRunner().invoke(main, ["compare", *names, "--markdown"]).stdout
    assert "| stage | A | B |" in shown and "| mapping | 700 | 700 | 0 |" in shown
    data = json.loads(CliRunner().invoke(main, ["compare", *names, "--json"]).stdout)
    assert data["stages"][1]["saved"] == 9
    assert data["plan"] == [{"where": "value a", "key": "is_output", "values": [True, False]}]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "compare: found 0 runs, expected two runs or --suite FILE"),
        (("a",), "compare: found 1 runs, expected"),
        (("a", "b", "--suite", "s"), "compare: found 2 runs and --suite, expected"),
        (("a", "b", "--json", "--markdown"), "compare: found --json and --markdown"),
        (("none", "b"), "none: found no such directory"),
        (("--suite", "none"), "none: found No such file or directory"),
    ],
)
def test_bad_usage_is_one_line(arguments: tuple[str, ...], words: str) -> None:
    outcome = CliRunner().invoke(main, ["compare", *arguments])
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(f"error: {words}")
    assert outcome.stderr.count("\n") == 1
