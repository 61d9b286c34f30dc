"""``check``, ``versions`` and the group itself."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from pathlib import Path

import pytest
from click.testing import CliRunner

import ipuopt
from ipuopt.cli import main
from ipuopt.errors import InputError


def _install(monkeypatch: pytest.MonkeyPatch, violations: tuple[tuple[str, str], ...]) -> None:
    def check_run(path: Path) -> types.SimpleNamespace:
        if not path.is_dir():
            raise InputError(f"{path}: found no such directory, expected a run directory")
        return types.SimpleNamespace(lines=("placement: ok", "totals: ok"), violations=violations)

    fake = types.ModuleType("ipuopt.pipeline")
    vars(fake)["check_run"] = check_run
    monkeypatch.setitem(sys.modules, "ipuopt.pipeline", fake)
    monkeypatch.setattr(ipuopt, "pipeline", fake, raising=False)


def test_check(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = str(tmp_path)
    _install(monkeypatch, ())
    outcome = CliRunner().invoke(main, ["check", run])
    assert outcome.exit_code == 0
    assert outcome.stdout == f"placement: ok\ntotals: ok\n{run}: no violations\n"
    _install(monkeypatch, (("totals bound", "too high"),))
    outcome = CliRunner().invoke(main, ["check", run])
    assert outcome.exit_code == 6
    assert outcome.stdout.splitlines()[2:] == ["totals bound: too high", f"{run}: 1 violation"]
    outcome = CliRunner().invoke(main, ["check", run, "--json"])
    assert outcome.exit_code == 6
    assert json.loads(outcome.stdout) == {
        "exit_code": 6,
        "checks": ["placement: ok", "totals: ok"],
        "violations": [{"label": "totals bound", "message": "too high"}],
    }
    outcome = CliRunner().invoke(main, ["check", f"{run}/none"])
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(f"error: {run}/none: found no such directory")


def test_versions() -> None:
    outcome = CliRunner().invoke(main, ["versions"])
    assert outcome.exit_code == 0
    names = [line.split()[0] for line in outcome.stdout.splitlines()]
    assert names[:2] == ["ipuopt", "python"]
    assert {"ortools", "highspy", "cpu"} <= set(names)
    facts = json.loads(CliRunner().invoke(main, ["versions", "--json"]).stdout)
    assert list(facts) == names


def test_group() -> None:
    assert CliRunner().invoke(main, ["--help"]).exit_code == 0
    assert CliRunner().invoke(main, ["-h"]).stdout.startswith("Usage: ")
    version = CliRunner().invoke(main, ["--version"], prog_name="ipuopt")
    assert version.stdout.startswith("ipuopt, version ")
    empty = CliRunner().invoke(main, [])
    assert (empty.exit_code, empty.stdout) == (2, "")
    assert empty.stderr.startswith("Usage: ")
    unknown = CliRunner().invoke(main, ["slove"])
    assert unknown.exit_code == 2
    assert unknown.stderr.startswith("error: No such command 'slove'.")
    assert unknown.stderr.count("\n") == 1


def test_help_loads_no_solver() -> None:
    """Starting is fast because the heavy modules come with the work."""
    code = (
        "import sys; from ipuopt.cli import main\n"
        "try: main(['solve', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'numba', 'ortools', 'highspy', 'pyomo', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    assert done.stderr == "[]\n"
