"""``run``: what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ipuopt.cli import main
from ipuopt.pipeline import execute
from ipuopt.pipeline.execute import Compared, Execution, PhaseCycles


@pytest.mark.parametrize(
    ("cosine", "device", "error", "verdict"),
    [
        (0.9995, 70, 0.01, "PASS"),
        (0.9985, 70, 0.01, "FAIL"),
        (0.9995, 71, 0.01, "FAIL"),
        (0.9995, 70, float("inf"), "FAIL"),
    ],
)
def test_verdicts(
    monkeypatch: pytest.MonkeyPatch, cosine: float, device: int, error: float, verdict: str
) -> None:
    outputs = (Compared("y", error, cosine),)
    done = Execution(outputs, (PhaseCycles("reduce y", 70, device),), {"kernel": 3})
    monkeypatch.setattr(execute, "execute_run", lambda *_, **__: done)
    outcome = CliRunner().invoke(main, ["run", "somewhere"])
    assert outcome.exit_code == {"PASS": 0, "FAIL": 6}[verdict]
    lines = outcome.stdout.splitlines()
    assert lines[-1] == verdict
    assert lines[1].split() == ["reduce", "y", "70", str(device)]


def test_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that JSON does not have are null there."""
    outputs = (Compared("y", float("nan"), float("nan")),)
    done = Execution(outputs, (PhaseCycles("reduce y", 70, 70),), {"kernel": 3})
    monkeypatch.setattr(execute, "execute_run", lambda *_, **__: done)
    outcome = CliRunner().invoke(main, ["run", "somewhere", "--json"])
    assert outcome.exit_code == 6
    assert json.loads(outcome.stdout) == {
        "exit_code": 6,
        "device": "sim",
        "passed": False,
        "outputs": [{"name": "y", "largest_error": None, "cosine": None, "passed": False}],
        "phases": [{"name": "reduce y", "schedule": 70, "device": 70}],
        "kernel_calls": {"kernel": 3},
    }


def test_arguments_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def record(path: Path, **arguments: Any) -> Execution:
        seen.update(arguments, path=path)
        return Execution((), (), {})

    monkeypatch.setattr(execute, "execute_run", record)
    CliRunner().invoke(main, ["run", "a", "--inputs", "b.npz", "--seed", "4"])
    assert seen == {"path": Path("a"), "inputs": Path("b.npz"), "seed": 4}
    outcome = CliRunner().invoke(main, ["run", "a", "--device", "card"])
    assert outcome.exit_code == 2
