"""Commands on the folder of a run whose program has a repeat."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ipuopt.cli import main
from ipuopt.codegen.package import read_package, write_package
from ipuopt.codegen.package.listing import PATCH_TABLE
from ipuopt.htmlreport.tiles import cycle_parts, tile_facts
from ipuopt.result import Built
from ipuopt.rundir import PACKAGE, read_run, write_run
from ipuopt.settings import resolve
from ipuopt.target.fabric import PHYSICAL


@pytest.fixture
def run(repeated: Built, repeating: Any, tmp_path: Path) -> Path:
    """A finished run with its package, which takes cycle samples."""
    path = tmp_path / "run"
    write_run(path, repeating.result(repeated), resolve({}, {}, {}), wall_time_s=1.0)
    assert asked("package", path, "--profile")[0] == 0
    return path


def asked(*arguments: object) -> tuple[int, str]:
    outcome = CliRunner().invoke(main, [str(argument) for argument in arguments])
    return outcome.exit_code, outcome.output


def test_check_run_and_report(run: Path, repeated: Built) -> None:
    code, text = asked("check", run)
    assert code == 0 and "lowering: ok" in text and "package: ok" in text
    code, text = asked("run", run, "--profile", "--json")
    assert code == 0
    content = json.loads(text)
    assert content["passed"]
    events = repeated.horizon.tolist()
    assert [(p["schedule"], p["device"]) for p in content["phases"]] == [(e, e) for e in events]
    total = int(repeated.program.cycles_with(repeated.horizon).sum())
    (step,) = content["steps"]
    assert (step["program"], step["device"]) == (total, total)
    (kernel,) = content["kernels"]
    assert kernel["calls"] == 2 * 4 and kernel["program"] == kernel["device"]
    steps = content["profile"]["steps"]
    assert [s["kernel"] for s in steps][::2] == ["exchange", "repeat"]
    assert sum(s["elapsed"] for s in steps) == content["profile"]["total"] == total
    code, _ = asked("report", run)
    page = (run / "report.html").read_text(encoding="utf-8")
    assert code == 0 and "kernels, 3 times" in page


def test_inspect(run: Path) -> None:
    code, text = asked("inspect", run / PACKAGE, "--tile", PHYSICAL[2], "--disassemble")
    assert code == 0
    table = text[text.index(f"// {PATCH_TABLE}") :].splitlines()[1:4]
    assert [line.split()[0] for line in table] == ["send"] * 3
    assert "add $m11, $m11, -8" in text


def test_a_wrong_word_of_a_table(run: Path, changes: Any) -> None:
    package = read_package(run / PACKAGE)
    table = next(r for r in package.regions if r.name == PATCH_TABLE)
    words = changes.words_of(package, table)
    words[1] = words[2]
    write_package(run / PACKAGE, changes.with_words(package, table, words))
    code, text = asked("check", run)
    assert code == 6 and "exchange 1 weights in iteration 1: " in text
    code, text = asked("run", run)
    assert code == 6 and "FAIL" in text


def test_facts_of_the_report(run: Path, repeated: Built) -> None:
    """Cycles and words of all iterations."""
    built = read_run(run)[1]
    facts, words = tile_facts(built), built.program.transfers.words[0]
    assert facts.sent[:, 2].tolist() == [words, 3 * words]
    cycles = int(built.program.runs.cycles[0])
    assert facts.busy_cycles[:2].tolist() == [4 * cycles] * 2
    parts = cycle_parts(built)
    assert sum(parts.values()) == int(built.program.cycles_with(built.horizon).sum())
    assert parts["kernels"] == 4 * cycles
