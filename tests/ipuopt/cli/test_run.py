"""``run``: what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ipuopt.cli import main
from ipuopt.device.card import Setup
from ipuopt.pipeline import execute
from ipuopt.pipeline.cycles import KernelCycles, StepCycles
from ipuopt.pipeline.execute import Compared, Execution, PhaseCycles


def execution(
    cosine: float = 0.9995, device: int = 70, error: float = 0.01, charged: int = 44
) -> Execution:
    return Execution(
        (Compared("y", error, 0.5, cosine),),
        (PhaseCycles("reduce y", 70, device),),
        (StepCycles("y", 1_500, 1_600, 1_700),),
        (KernelCycles("copy", 2, 9, 5), KernelCycles("sum", 3, 44, charged)),
    )


@pytest.mark.parametrize(
    ("done", "verdict"),
    [
        (execution(), "PASS"),
        (execution(cosine=0.9985), "FAIL"),
        (execution(device=71), "FAIL"),
        (execution(error=float("inf")), "FAIL"),
        (execution(error=float("nan")), "FAIL"),
        (execution(error=0.025), "PASS"),
        (execution(error=0.026), "FAIL"),  # one wrong word
        (execution(charged=45), "FAIL"),
    ],
)
def test_verdicts(monkeypatch: pytest.MonkeyPatch, done: Execution, verdict: str) -> None:
    monkeypatch.setattr(execute, "execute_run", lambda *_, **__: done)
    outcome = CliRunner().invoke(main, ["run", "somewhere"])
    assert outcome.exit_code == {"PASS": 0, "FAIL": 6}[verdict]
    lines = outcome.stdout.splitlines()
    assert lines[-1] == verdict
    rows = [line.split() for line in lines]
    assert rows[1] == ["reduce", "y", "70", str(done.phases[0].device)]
    assert ["total", "1", "500", "1", "600", "1", "700"] in rows
    assert ["sum", "3", "44", str(done.kernels[1].device)] in rows


def test_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that JSON does not have are null there."""
    done = execution(cosine=float("nan"), error=float("nan"))
    monkeypatch.setattr(execute, "execute_run", lambda *_, **__: done)
    outcome = CliRunner().invoke(main, ["run", "somewhere", "--json"])
    assert outcome.exit_code == 6
    assert json.loads(outcome.stdout) == {
        "exit_code": 6,
        "device": "sim",
        "passed": False,
        "outputs": [
            {"name": "y", "largest_error": None, "rms": 0.5, "cosine": None, "passed": False}
        ],
        "phases": [{"name": "reduce y", "schedule": 70, "device": 70}],
        "steps": [{"name": "y", "model": 1500, "program": 1600, "device": 1700}],
        "kernels": [
            {"purpose": "copy", "calls": 2, "program": 9, "device": 5},
            {"purpose": "sum", "calls": 3, "program": 44, "device": 44},
        ],
    }


def test_arguments_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def record(path: Path, **arguments: Any) -> Execution:
        seen.update(arguments, path=path)
        return Execution((Compared("y", 0.01, 0.5, 0.9995),), (), (), ())

    monkeypatch.setattr(execute, "execute_run", record)
    CliRunner().invoke(main, ["run", "a", "--inputs", "b.npz", "--seed", "4", "--profile"])
    given = {"path": Path("a"), "inputs": Path("b.npz"), "seed": 4, "profile": True}
    assert seen == {**given, "card": None}
    monkeypatch.setenv("IPUOPT_CARD_LOADER", "l.elf")
    options = ["--device", "card", "--card-config", "c.ipucfg", "--card-node", "/dev/ipu1"]
    outcome = CliRunner().invoke(main, ["run", "a", *options])
    assert seen["card"] == Setup(Path("/dev/ipu1"), Path("c.ipucfg"), Path("l.elf"))
    # A card counts nothing: there are only results.
    assert outcome.stdout.split() == [
        "output",
        "largest",
        "error",
        "rms",
        "cosine",
        "y",
        "1.00e-02",
        "5.00e-01",
        "0.999500",
        "PASS",
        "PASS",
    ]
    CliRunner().invoke(main, ["run", "a", "--device", "card"])
    assert seen["card"].node == Path("/dev/ipu0")
