"""``ipuopt solve`` with a pipeline of the test's own: files, streams, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from click.testing import Result as Outcome

import ipuopt
from ipuopt.cli import main
from ipuopt.errors import (
    CheckError,
    Infeasibility,
    InfeasibleError,
    InputError,
    LimitError,
    MissingPartError,
)
from ipuopt.events import Events
from ipuopt.options import SolveOptions, Solver
from ipuopt.plan import Plan
from ipuopt.report import Limit
from ipuopt.result import Result, Total
from ipuopt.rundir import read_run, write_run
from ipuopt.workload import Workload

WORKLOAD = """
ipuopt: 1
name: tiny
target: {tiles: 2}
inputs: {x: {shape: [2, 4]}}
operations: {a: {op: Gelu, inputs: [x]}}
outputs: [a]
solve: {seed: 5, gap: 0.05}
"""

Pipeline = Callable[[Workload, SolveOptions, Plan | None, Events], Result]
Install = Callable[[Pipeline], None]


@pytest.fixture(autouse=True)
def _folder(clean_folder: Path) -> None:
    (clean_folder / "tiny.yaml").write_text(WORKLOAD, encoding="utf-8")


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a function in the place of the pipeline."""

    def put(function: Pipeline) -> None:
        def solve(
            workload: Workload,
            options: SolveOptions,
            *,
            plan: Plan | None = None,
            events: Events,
            started_s: float,
            workers: object,
            library: object,
            profile: bool,
        ) -> Result:
            assert 0 <= time.monotonic() - started_s < 60
            return function(workload, options, plan, events)

        fake = types.ModuleType("ipuopt.pipeline")
        vars(fake)["solve"] = solve
        monkeypatch.setitem(sys.modules, "ipuopt.pipeline", fake)
        monkeypatch.setattr(ipuopt, "pipeline", fake, raising=False)

    return put


def _run(*arguments: str, input: str | None = None) -> Outcome:
    return CliRunner().invoke(main, ["solve", *arguments], input=input)


BOUNDED = (
    "The bound of the total is the mapping bound: it holds for every program made of the same "
    "candidates under this cost model."
)
NO_PACKAGE = (
    "package.ipuexe is not written: package: found data at 0x50000, expected from 0x64000: "
    "code lies below"
)
TABLE = """\
stage               heuristic  solver  bound     gap  proven by             time
mapping                   720     700    700   0.0 %  highs                0.2 s
exchange 0 x for a        180     170    160   5.9 %  head + words + tail  0.0 s
total cycles              810     800    700  12.5 %"""


def test_table_and_files(install: Install, tiny_result: Result) -> None:
    install(lambda workload, options, plan, events: tiny_result)
    outcome = _run("tiny.yaml")
    assert outcome.exit_code == 4  # a time limit, and 12.5 % is above the file's 5 %
    lines = outcome.stdout.splitlines()
    assert lines[:3] == TABLE.splitlines()[:3]
    assert lines[3].startswith(TABLE.splitlines()[3])
    assert lines[5:] == [
        BOUNDED,
        "The run stopped early: time.",
        "Stopped by time: exchange 0 x for a.",
        "Note on exchange 0 x for a: the back end crashed; the heuristic's schedule is kept",
        NO_PACKAGE,
        "Run directory: runs/tiny",
    ]
    assert sorted(os.listdir("runs/tiny")) == [
        "plan.json",
        "program.npz",
        "report.json",
        "workload.json",
    ]
    assert read_run(Path("runs/tiny"))[0] == tiny_result.workload


@pytest.mark.parametrize(
    ("limit", "total", "arguments", "code"),
    [
        (None, (800, 800), (), 0),
        (None, (800, 700), (), 0),  # no limit cut it short
        (Limit.GAP, (800, 790), (), 0),
        (Limit.TIME, (800, 800), ("--gap", "none"), 0),
        (Limit.TIME, (800, 790), (), 0),  # within the 5 % of the file
        (Limit.TIME, (800, 790), ("--gap", "none"), 4),
        (Limit.TIME, (800, 790), ("--gap", "0.01"), 4),
        (Limit.MEMORY, (800, 700), (), 4),
        (Limit.SOLVER, (800, 700), (), 4),
        (Limit.TIME, (800, None), ("--gap", "0.06"), 0),  # a given plan: its stages count
        (Limit.TIME, (800, None), ("--gap", "0.05"), 4),
        (Limit.INTERRUPT, (800, 800), (), 130),
    ],
)
def test_exit_codes_with_a_plan(
    limit: Limit | None,
    total: tuple[int, int | None],
    arguments: tuple[str, ...],
    code: int,
    install: Install,
    tiny_result: Result,
) -> None:
    figures = Total(heuristic=None, objective=total[0], bound=total[1])
    result = replace(tiny_result, limit=limit, total=figures)
    install(lambda workload, options, plan, events: result)
    outcome = _run("tiny.yaml", *arguments)
    assert outcome.exit_code == code
    assert ("The total has no bound" in outcome.stdout) == (total[1] is None)
    assert Path("runs/tiny/report.json").exists()


NO_ROOM = Infeasibility("tile 3, step a", 700_000, 638_976, "bytes", (("w1", 500_000),), ("tiles",))
OWNERS = "(largest: w1 500 000)"
SEND = "(please send this line, the input, 'ipuopt versions' and the file of --log-file)"


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (InputError("w.yaml:1:1: found a"), 2, "w.yaml:1:1: found a"),
        (
            InfeasibleError(NO_ROOM),
            3,
            f"tile 3, step a: needs 700000 bytes of 638976 {OWNERS}; would fit with: tiles",
        ),
        (LimitError("the limit came first"), 5, "the limit came first"),
        (MissingPartError("no card"), 7, "no card"),
        (MemoryError(), 5, "out of memory before there was a plan"),
        (ValueError("two\nlines"), 1, f"internal error, a bug: ValueError: two lines {SEND}"),
        (TimeoutError(), 1, f"internal error, a bug: TimeoutError: {SEND}"),
        (
            BrokenPipeError(32, "Broken pipe"),
            1,
            f"internal error, a bug: RuntimeError: the pipe to a child process broke {SEND}",
        ),
        (SystemError("x"), 1, f"internal error, a bug: SystemError: x {SEND}"),
    ],
)
def test_exit_codes_without_a_plan(
    error: Exception, code: int, line: str, install: Install
) -> None:
    def fail(*arguments: object) -> Result:
        raise error

    install(fail)
    outcome = _run("tiny.yaml", "-q")
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (code, "", f"error: {line}\n")
    assert os.listdir() == ["tiny.yaml"]


def test_rejected_plan_is_saved(install: Install) -> None:
    violations = (("C1", "overlap at 0x50000"), ("C2", "late"))

    def fail(*arguments: object) -> Result:
        raise CheckError("placement", violations, {"plan": {"tiles": 2}})

    install(fail)
    outcome = _run("tiny.yaml", "-q", "-o", "out/run")
    message = "placement: C1: overlap at 0x50000; C2: late (saved in out/run.rejected.json; "
    assert outcome.stderr == f"error: {message}please send it)\n"
    assert outcome.exit_code == 6
    saved = json.loads(Path("out/run.rejected.json").read_bytes())
    assert saved["violations"] == [list(violation) for violation in violations]
    assert saved["artifacts"] == {"plan": {"tiles": 2}}
    assert saved["workload"]["name"] == "tiny"
    assert os.listdir("out") == ["run.rejected.json"]


def test_tracebacks_only_where_asked(install: Install) -> None:
    def fail(*arguments: object) -> Result:
        raise ValueError("deep inside")

    install(fail)
    assert "Traceback" not in _run("tiny.yaml", "-v").stderr
    assert "Traceback" in _run("tiny.yaml", "-vv").stderr
    outcome = _run("tiny.yaml", "--log-file", "log.txt")
    assert "Traceback" not in outcome.stderr
    assert "ValueError: deep inside" in Path("log.txt").read_text(encoding="utf-8")
    assert _run("tiny.yaml", "--log-file", "no/log.txt").stderr == (
        "error: no/log.txt: found No such file or directory, expected to write the log\n"
    )


def test_options_reach_the_pipeline(install: Install, tiny_result: Result) -> None:
    seen: list[SolveOptions] = []

    def record(workload: Workload, options: SolveOptions, plan: Any, events: Any) -> Result:
        seen.append(options)
        return tiny_result

    install(record)
    arguments = "--time-limit 2m --gap 0.5 --threads 3 --memory-limit 2GiB --solver heuristic"
    assert _run("tiny.yaml", *arguments.split()).exit_code == 0
    options = seen.pop()
    assert (options.gap, options.threads, options.seed) == (0.5, 3, 5)
    assert (options.memory_limit_bytes, options.solver) == (2 << 30, Solver.HEURISTIC)
    assert options.time_limit_s == 120
    _run("tiny.yaml", "--deterministic", "--force")
    assert seen.pop() == replace(SolveOptions(), seed=5, gap=0.05, deterministic=True)
    _run("tiny.yaml", "--time-limit", "none", "--force")
    assert seen.pop().time_limit_s is None


@pytest.mark.parametrize("repeatable", [False, True])
def test_deterministic_run_that_the_clock_cut_says_so(
    repeatable: bool, install: Install, tiny_result: Result
) -> None:
    """In the remarks and in the report; an ordinary run promises nothing."""
    install(lambda *_: replace(tiny_result, repeatable=repeatable))
    said = "This deterministic run was cut off before its counters ended it"
    outcome = _run("tiny.yaml", "--deterministic", "--force")
    assert (said in outcome.stdout) is not repeatable
    assert said not in _run("tiny.yaml", "--force").stdout
    report = json.loads(_run("tiny.yaml", "--deterministic", "--force", "--json").stdout)
    assert report["repeatable"] is repeatable


def test_print_config(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPUOPT_THREADS", "3")
    outcome = _run("tiny.yaml", "--print-config", "--seed", "1", "--time-limit", "1h")
    assert outcome.stdout.splitlines() == [
        "time_limit     3600.0  flag --time-limit",
        "gap            0.05    workload",
        "threads        3       IPUOPT_THREADS",
        "seed           1       flag --seed",
        "deterministic  False   default",
        "memory_limit   none    default",
        "solver         auto    default",
        "space          full    default",
        "cluster        none    default",
    ]
    config = json.loads(_run("tiny.yaml", "--print-config", "--json").stdout)
    assert config["threads"] == {"value": 3, "origin": "IPUOPT_THREADS"}
    assert os.listdir() == ["tiny.yaml"]


def test_json(install: Install, tiny_result: Result) -> None:
    install(lambda workload, options, plan, events: tiny_result)
    outcome = _run("tiny.yaml", "--json", "-o", "here")
    report = json.loads(outcome.stdout)
    stored = json.loads(Path("here/report.json").read_bytes())
    assert stored.items() <= report.items()
    assert (report["output"], report["exit_code"]) == ("here", 4)
    assert report["config"]["seed"] == {"value": 5, "origin": "workload"}


def test_output_is_refused_before_any_work(install: Install, tiny_result: Result) -> None:
    calls: list[int] = []

    def count(*arguments: object) -> Result:
        calls.append(1)
        return tiny_result

    install(count)
    assert _run("tiny.yaml").exit_code == 4
    again = _run("tiny.yaml")
    assert (again.exit_code, len(calls)) == (2, 1)
    assert again.stderr.startswith("error: runs/tiny: found a directory that is not empty")
    assert _run("tiny.yaml", "--force").exit_code == 4
    assert _run("tiny.yaml", "-o", "tiny.yaml").exit_code == 2
    assert len(calls) == 2


def test_given_plan(install: Install, tiny_result: Result) -> None:
    plans: list[Plan | None] = []

    def record(workload: Workload, options: Any, plan: Plan | None, events: Any) -> Result:
        plans.append(plan)
        return tiny_result

    install(record)
    write_run(Path("run"), tiny_result, _settings(), wall_time_s=0.0)
    _run("tiny.yaml", "--plan", "run/plan.json")
    assert plans == [tiny_result.plan]
    for file, message in (
        ("none.json", "none.json: found No such file or directory, expected a plan"),
        ("run/report.json", "run/report.json: found no key 'values', expected a plan"),
    ):
        outcome = _run("tiny.yaml", "--plan", file, "-o", "other")
        assert (outcome.exit_code, outcome.stderr) == (2, f"error: {message}\n")
    assert _run("tiny.yaml", "--plan", "tiny.yaml", "-o", "other").exit_code == 2
    Path("other.yaml").write_text(WORKLOAD.replace("a: {op", "b: {op").replace("[a]", "[b]"))
    outcome = _run("other.yaml", "--plan", "run/plan.json", "-o", "other")
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith("error: run/plan.json: found a plan that breaks ")
    assert outcome.stderr.endswith("expected a plan of workload tiny\n")
    assert len(plans) == 1


def _settings() -> Any:
    from ipuopt.settings import resolve

    return resolve({}, {}, {})


def test_standard_input(install: Install, tiny_result: Result) -> None:
    install(lambda workload, options, plan, events: replace(tiny_result, workload=workload))
    assert _run("-", input=WORKLOAD.replace("name: tiny", "")).exit_code == 4
    assert os.listdir("runs") == ["workload"]


def test_plain_progress(install: Install, tiny_result: Result) -> None:
    def talk(workload: Workload, options: Any, plan: Any, events: Events) -> Result:
        events.on_stage("mapping")
        events.on_solution("mapping", 183_619)
        events.on_bound("mapping", 158_240)
        events.on_message("a plan could not be placed")
        events.on_stage("exchange")
        events.on_solution("exchange", 5)
        assert not events.should_stop()
        return tiny_result

    install(talk)
    lines = [line[11:] for line in _run("tiny.yaml").stderr.splitlines()]
    expected = {
        "mapping  incumbent 183 619  bound 158 240  gap 13.8 %",
        "note: a plan could not be placed",
        "exchange  incumbent 5  bound -  gap -",
    }
    assert expected <= set(lines)
    for quiet in (("--progress", "none"), ("-q",)):
        assert _run("tiny.yaml", "--force", *quiet).stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing argument 'WORKLOAD'. (see 'ipuopt solve --help')"),
        (
            ("tiny.yaml", "--seed", "x"),
            "--seed: found 'x', expected a whole number from 0 to 21474",
        ),
        (("tiny.yaml", "--seed=-1"), "--seed: found '-1', expected a whole number from 0 to 21474"),
        (("tiny.yaml", "--gap", "inf"), "--gap: found 'inf', expected a number from 0 to 1"),
        (("tiny.yaml", "--workers", "2"), "No such option"),
        (("tiny.yaml", "more.yaml"), "Got unexpected extra argument (more.yaml)"),
        (("tiny.yaml", "--progress", "loud"), "Invalid value for '--progress'"),
        (("none.yaml",), "none.yaml: found no such file, expected a workload"),
        ((".",), ".: found a directory, expected a workload file"),
    ],
)
def test_usage(arguments: tuple[str, ...], message: str) -> None:
    outcome = CliRunner().invoke(main, ["solve", *arguments], prog_name="ipuopt")
    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    assert outcome.stderr.startswith(f"error: {message}")
    assert outcome.stderr.count("\n") == 1
    assert os.listdir() == ["tiny.yaml"]


BAD = Path(__file__).parents[2] / "instances" / "bad"


@pytest.mark.parametrize("name", sorted(path.name for path in BAD.glob("*.[yj]*")))
def test_bad_files(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = (BAD / "expected.txt").read_text(encoding="utf-8").splitlines()
    line = next(line for line in expected if line.startswith(f"{name}:"))
    monkeypatch.chdir(BAD)
    before = sorted(os.listdir())
    outcome = _run(name)
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (2, "", f"error: {line}\n")
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("name", ["binary.yaml", "alias_bomb.yaml", "cyclic_graph.yaml"])
def test_bad_files_in_a_process(name: str) -> None:
    command = [sys.executable, "-m", "ipuopt", "solve", str(BAD / name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"error: {BAD / name}:")
    assert os.listdir() == ["tiny.yaml"]
