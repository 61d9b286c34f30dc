"""``ipuopt log``: forms of output, errors, and the plan of a log beside what it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ipuopt.cli import main
from ipuopt.cli.log_solve import comparison, comparison_lines
from ipuopt.peerlog import read_log, tables

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "peer-build.log"


def run(*arguments: str, text: str | None = None) -> Any:
    return CliRunner().invoke(main, ["log", *arguments], input=text)


def test_json() -> None:
    outcome = run(str(EXAMPLE), "--json")
    assert outcome.exit_code == 0
    data = json.loads(outcome.stdout)
    assert (data["status"], data["events"], data["foreign_events"]) == ("built", 14, 0)
    assert data["unread"] == ["warning: the device is busy"]
    assert data["sums"][0]["horizon"] == 8551
    phases = data["tables"]["exchange_phases"]
    assert [row["gap_pct"] for row in phases] == [15.14, 48.5, 7.38]
    assert data["tables"]["kernels"] == []


def test_csv_of_one_table() -> None:
    outcome = run(str(EXAMPLE), "--table", "exchange_phases", "--csv")
    assert outcome.stdout == tables(read_log(EXAMPLE))["exchange_phases"].csv()


def test_standard_input_panic_and_strangers() -> None:
    text = EXAMPLE.read_text().partition("warning")[0]
    text += "2026-08-17T13:12:02.000000Z  INFO never heard of a=1\n"
    text += "thread 'main' (1) panicked at a.rs:1:2:\nno room\nnote: run with `RUST_BACKTRACE=1`\n"
    lines = run("-", text=text).stdout.splitlines()
    assert lines[0] == "-: text form, 13 events, panic: the compiler died"
    assert lines[1:3] == [
        "Panic at a.rs:1:2: no room",
        "Not understood: 1 event with unknown messages",
    ]


def test_much_that_is_not_understood(tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    file.write_text(EXAMPLE.read_text() + "".join(f"{'x' * 90} {i}\n" for i in range(9)))
    lines = run(str(file)).stdout.splitlines()
    assert lines[2] == f"Not understood: {'x' * 77}..."
    assert lines[6] == "Not understood: 5 more pieces of text"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("none.log",), "none.log: found No such file or directory"),
        ((str(EXAMPLE), "--table", "phases"), "--table: found 'phases', expected one of exchange_"),
        ((str(EXAMPLE), "--csv"), "--csv: found 0 tables, expected one --table"),
        ((str(EXAMPLE), "--solve"), "peer-build: found no plan"),
    ],
)
def test_bad_usage_is_one_line(arguments: tuple[str, ...], words: str) -> None:
    outcome = run(*arguments)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(f"error: {words}")
    assert outcome.stderr.count("\n") == 1


def test_ours_beside_the_logged() -> None:
    """Phases are paired by number; a phase without a line in the log has no logged figures."""
    part = {"stage": "exchange", "heuristic": 1900, "bound": 1600, "gap": 0.1, "bound_source": "b"}
    reports = [part | {"model": f"exchange {i} p", "objective": 1700 + i} for i in range(4)]
    report = {"reports": [{"stage": "mapping"}, *reports], "total": {"objective": 40_000}}
    found = tables(read_log(EXAMPLE))
    rows = comparison(found, report)
    assert [row["logged_horizon"] for row in rows] == [1810, 3977, 2764, None]
    assert [row["objective"] for row in rows] == [1700, 1701, 1702, 1703]
    lines = comparison_lines(rows, found, report | {"output": "runs/x"})
    assert " ".join(lines[4].split()) == "exchange 3 p - - 1 900 1 703 1 600 10.0 % b"
    together = "sum of logged phases 8 551 6 144 5 700 5 103 4 800 5.9 %"
    assert " ".join(lines[5].split()) == together
    assert lines[7].startswith("Total of the plan: 40 000 cycles as built here, estimated 41 250")


@pytest.mark.slow
def test_plan_of_the_seed_log(shared: Path, tmp_path: Path) -> None:
    """The plan of seed 004, built here: shorter phases than those that the log has."""
    (file,) = (shared / "data/seeds/logs").glob("004_*")
    folder = tmp_path / "run"
    outcome = run(str(file), "--solve", "--json", "-q", "-o", str(folder), "--time-limit", "5m")
    assert outcome.exit_code in (0, 4)
    logged = [row for row in json.loads(outcome.stdout)["comparison"] if row["logged_horizon"]]
    assert [row["logged_horizon"] for row in logged] == [6657, 15_536]
    assert all(row["bound"] <= row["objective"] < row["logged_horizon"] for row in logged)
    assert (folder / "report.json").exists()
