"""``ipuopt exchange``: files, streams, exit codes; most with a solve of the test's own."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from click.testing import Result as Outcome

from ipuopt.cli import main
from ipuopt.errors import CheckError
from ipuopt.limits import Limits
from ipuopt.models.exchange import Problem, Solution, check, horizon, several
from ipuopt.models.exchange.apart import quick_bound, schedule_apart
from ipuopt.models.exchange.snapshot import load_snapshot
from ipuopt.report import Limit, SolveReport, status_of

Solve = Callable[..., tuple[Solution, SolveReport]]
SCRIPT = Path(__file__).with_name("fake_exchange.py")


def transfer(source: int, words: int, *receivers: int) -> dict[str, Any]:
    return {
        "source": source,
        "source_addresses": [0x64000],
        "destinations": [[tile, 0x68000] for tile in receivers],
        "words": words,
        "width": "Word32",
    }


PHASES = [
    [transfer(0, 10, 5), transfer(2, 20, 7)],  # one pass is optimal: no common tile
    [transfer(0, 100, 4, 6), transfer(1, 100, 5), transfer(0, 100, 5)],
    [transfer(0, 100, 4, 6), transfer(1, 100, 5), transfer(0, 100, 5)],
    [],
]


@pytest.fixture(autouse=True)
def _folder(clean_folder: Path) -> None:
    phases = [{"phase": n, "transfers": listed} for n, listed in enumerate(PHASES)]
    content = {"schema_version": 4, "tile_count": 64, "phases": phases}
    (clean_folder / "tiny.json").write_text(json.dumps(content), encoding="utf-8")


def run(*arguments: str, input: bytes | None = None) -> Outcome:
    return CliRunner().invoke(main, ["exchange", *arguments], input=input)


def answer(problem: Problem, limit: Limit | None, gain: int) -> tuple[Solution, SolveReport]:
    """The schedule of one pass, with a bound ``gain`` above that of one pass."""
    solution = schedule_apart(problem)
    objective = horizon(problem, solution)
    bound = min(objective, quick_bound(problem)[0] + gain)
    report = SolveReport(
        stage="exchange",
        model=problem.name,
        status=status_of(objective, bound),
        limit=limit,
        heuristic=objective,
        objective=objective,
        bound=bound,
        bound_source="a test",
        unit="cycles",
        wall_time_s=0.25,
    )
    return solution, report


def fake(
    monkeypatch: pytest.MonkeyPatch, limit: Limit | None = None, gain: int = 0
) -> list[dict[str, Any]]:
    """Put a solve in place that returns at once; its calls."""
    calls: list[dict[str, Any]] = []

    def solve(problem: Problem, limits: Limits, **more: Any) -> tuple[Solution, SolveReport]:
        calls.append({"problem": problem, "limits": limits, **more})
        return answer(problem, limit, gain)

    monkeypatch.setattr(several, "solve", solve)
    return calls


def written(name: str = "tiny.schedule.json") -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path(name).read_text(encoding="utf-8"))
    return content


def test_table_and_file(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = fake(monkeypatch, gain=10**6)
    outcome = run("tiny.json")
    assert outcome.exit_code == 0, outcome.stderr
    lines = [re.sub(r" +", " ", line) for line in outcome.stdout.splitlines()]
    assert lines[0] == "phase transfers words heuristic solver bound gap proven by time"
    assert [line.split()[:3] for line in lines[1:6]] == [
        ["0", "2", "30"],
        ["1", "3", "300"],
        ["2", "3", "300"],
        ["3", "0", "0"],
        ["sum", "8", "630"],
    ]
    assert re.search(r"0\.0 % a test [\d.]+ s$", lines[2])
    assert lines[3].endswith("0.0 % a test 0.0 s")  # its time is that of phase 1
    assert lines[6:] == [
        "",
        "Note on phase 2: of equal structure as tiny.json phase 1",
        "Schedule: tiny.schedule.json",
    ]
    assert len(calls) == 1  # phases 0 and 3 were closed by one pass, phase 2 equals phase 1
    content = written()
    whole = load_snapshot(Path("tiny.json"))
    assert content["schema_version"] == 1
    assert content["snapshot_hash"] == whole.sha256
    for number, (problem, phase) in enumerate(zip(whole.problems, content["phases"], strict=True)):
        assert phase["phase"] == number
        assert phase["status"] == "optimal"
        assert phase["width"] == ["Word32"] * len(problem)
        solution = Solution(np.array(phase["start"], np.int64))
        assert check(problem, solution) == ()
        assert horizon(problem, solution) == phase["horizon"] == phase["bound"]


def test_json(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, Limit.TIME)
    outcome = run("tiny.json", "--json", "-o", "deep/one.json", "--phase", "2", "--phase", "0")
    report = json.loads(outcome.stdout)
    assert outcome.exit_code == report["exit_code"] == 4
    assert report["output"] == "deep/one.json"
    assert [phase["phase"] for phase in report["phases"]] == [0, 2]
    assert report["total"]["objective"] == sum(p["objective"] for p in report["phases"])
    assert [p["phase"] for p in written("deep/one.json")["phases"]] == [0, 2]


@pytest.mark.parametrize(
    ("limit", "arguments", "code"),
    [
        (None, (), 0),  # no limit cut it short
        (Limit.TIME, (), 4),
        (Limit.TIME, ("--gap", "0.9"), 0),
        (Limit.GAP, ("--gap", "0.01"), 0),
        (Limit.SOLVER, (), 4),
        (Limit.INTERRUPT, (), 130),
    ],
)
def test_exit_codes(
    limit: Limit | None, arguments: tuple[str, ...], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(monkeypatch, limit)
    assert run("tiny.json", *arguments, "--time-limit", "1").exit_code == code
    assert len(written()["phases"]) == 4


def test_refused_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    """The phase keeps the schedule of one pass; what was refused is saved."""

    def solve(problem: Problem, limits: Limits, **more: Any) -> tuple[Solution, SolveReport]:
        raise CheckError(problem.name, (("E2", "sends overlap"),))

    monkeypatch.setattr(several, "solve", solve)
    outcome = run("tiny.json", "--phase", "1")
    assert outcome.exit_code == 6
    assert "The checker refused: tiny.json phase 1: E2: sends overlap (saved in" in outcome.stdout
    assert written()["phases"][0]["status"] == "feasible"
    kept = written("tiny.schedule.json.rejected.json")
    assert kept["phases"][0]["violations"] == [["E2", "sends overlap"]]


def test_options_reach_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = fake(monkeypatch)
    run("tiny.json", "--width", "free", "--seed", "7", "--deterministic", "--threads", "1")
    (call,) = calls
    limits = call["limits"]
    assert (call["free"], limits.seed, limits.deterministic, limits.threads) == (True, 7, True, 1)
    assert call["warm"] is None


def test_later_rounds_start_from_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other seeds, from the schedule that is known; rounds that bring nothing are few."""
    calls = fake(monkeypatch)
    run("tiny.json", "--seed", "7", "--phase", "1")
    assert [call["limits"].seed for call in calls] == [7, 8, 9, 10]
    assert [call["warm"] is None for call in calls] == [True, False, False, False]


def test_deterministic_runs_write_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch)
    files = []
    for _ in range(2):
        run("tiny.json", "--deterministic")
        files.append(Path("tiny.schedule.json").read_bytes())
    assert files[0] == files[1]
    assert written()["phases"][1]["wall_time_s"] is None


def test_default_time_limit_and_config() -> None:
    outcome = run("tiny.json", "--print-config")
    assert re.search(r"^time_limit +85.0 +default$", outcome.stdout, re.MULTILINE)
    assert "[default: 85s]" in run("--help").stdout
    assert not Path("tiny.schedule.json").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("none.json",), "none.json: cannot be read"),
        (("tiny.json", "--phase", "9"), "--phase: found 9, expected a phase of tiny.json: 0, 1"),
        (("tiny.json", "-o", "tiny.json"), "tiny.json: found a file that is no schedule"),
        (("tiny.json", "-o", "."), "found a directory, expected a file"),
        (("tiny.json", "-o", "tiny.json/x"), "no directory, expected a file"),
        (("tiny.json", "--rows", "tiny.json"), "tiny.json: found a file, expected an empty"),
        (("tiny.json", "--rows", "."), "found a directory that is not empty"),
        (("tiny.json", "--width", "wide"), "is not one of 'given', 'free'"),
        (("tiny.json", "--cluster", "here"), "--cluster: found 'here', expected an address such"),
        (("tiny.json", "--time-limit", "0"), "--time-limit: found '0', expected a duration"),
    ],
)
def test_bad_usage_is_one_line(arguments: tuple[str, ...], words: str) -> None:
    outcome = run(*arguments)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert words in outcome.stderr
    assert outcome.stderr.count("\n") == 1


@pytest.mark.parametrize("file", sorted(Path(__file__).parents[2].glob("instances/snapshots/*")))
def test_bad_snapshots(file: Path) -> None:
    """One line that names phase, transfer and field, or what of the file is wrong."""
    expected = file.parent.parent / "snapshots.txt"
    words = dict(line.split(": ", 1) for line in expected.read_text(encoding="utf-8").splitlines())
    outcome = run(str(file))
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr == f"error: {file}: {words[file.name]}\n"


def test_standard_input_and_a_schedule_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A schedule is replaced, another file only with ``--force``."""
    fake(monkeypatch)
    content = Path("tiny.json").read_bytes()
    assert run("-", "--phase", "0", input=content).exit_code == 0
    assert run("-", "--phase", "1", input=content).exit_code == 0
    assert [phase["phase"] for phase in written("stdin.schedule.json")["phases"]] == [1]
    Path("notes.json").write_text("mine", encoding="utf-8")
    assert run("tiny.json", "--phase", "0", "-o", "notes.json").exit_code == 2
    assert run("tiny.json", "--phase", "0", "-o", "notes.json", "--force").exit_code == 0


def test_snapshot_without_phases() -> None:
    empty = {"schema_version": 4, "tile_count": 64, "phases": []}
    Path("empty.json").write_text(json.dumps(empty), encoding="utf-8")
    assert run("empty.json").exit_code == 0
    assert written("empty.schedule.json")["phases"] == []


def test_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder a phase, and in a repeat one an iteration."""
    fake(monkeypatch)
    content = json.loads(Path("tiny.json").read_text(encoding="utf-8"))
    content["phases"][1]["transfers"][0]["source_addresses"] = [0x64000, 0x65000]
    Path("tiny.json").write_text(json.dumps(content), encoding="utf-8")
    assert run("tiny.json", "--rows", "rows", "--phase", "0", "--phase", "1").exit_code == 0
    for place in ("phase_0", "phase_1/iteration_0", "phase_1/iteration_1"):
        index = json.loads(Path("rows", place, "index.json").read_text(encoding="utf-8"))
        assert len(index["tiles"]) == 64
    found = [phase["horizon"] for phase in written()["phases"]]
    assert index["horizon"] == found[1]


def test_a_cluster_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    outcome = run("tiny.json", "--cluster", "tcp://127.0.0.1:1")
    assert (outcome.exit_code, outcome.stdout) == (7, "")
    assert outcome.stderr == (
        "error: --cluster: the extra 'cluster' is missing: pip install 'ipuopt[cluster]'\n"
    )
    assert not Path("tiny.schedule.json").exists()


def start(behaviour: str, *arguments: str) -> subprocess.Popen[str]:
    """The command with a search that waits, in a process of its own."""
    command = [sys.executable, str(SCRIPT), behaviour, "exchange", "tiny.json", *arguments]
    return subprocess.Popen(
        command,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_first_signal_keeps_what_is_known(number: signal.Signals) -> None:
    process = start("wait")
    assert process.stderr is not None
    for line in process.stderr:
        if "search runs" in line:
            break
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 128 + number, stderr
    assert "interrupted; ending with the best" in stderr
    assert "Stopped by interrupt: phase 1, 2." in stdout
    assert [phase["limit"] for phase in written()["phases"]] == [
        None,
        "interrupt",
        "interrupt",
        None,
    ]


@pytest.mark.slow
def test_a_search_that_hears_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit holds, and the schedules of one pass are written."""
    fake(monkeypatch)
    run("tiny.json")  # compiles what makes those schedules
    process = start("deaf", "--time-limit", "10")
    assert process.stderr is not None
    for line in process.stderr:
        if "search runs" in line:
            break
    before = time.monotonic()  # after the start of the command
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 4, stderr
    assert time.monotonic() - before < 1.1 * 10 + 2
    assert "Stopped by time: phase 1, 2." in stdout
    assert len(written()["phases"]) == 4
