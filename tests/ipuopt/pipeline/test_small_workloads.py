"""Small workloads of odd shapes: solved, checked, and run on the simulator."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ipuopt.cli import main

Runs = Callable[..., None]


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    """``runs(tiles, inputs, parameters, operations, outputs)``: exit code 0 of all commands."""

    def run(
        tiles: int,
        inputs: dict[str, Any],
        parameters: dict[str, Any],
        operations: dict[str, Any],
        outputs: list[str],
    ) -> None:
        content = {
            "ipuopt": 1,
            "target": {"tiles": tiles},
            "defaults": {"dtype": "float16"},
            "inputs": inputs,
            "parameters": parameters,
            "operations": operations,
            "outputs": outputs,
        }
        (tmp_path / "w.json").write_text(json.dumps(content))
        folder = str(tmp_path / "run")
        for command in (
            ["solve", str(tmp_path / "w.json"), "-o", folder, "--gap", "1", "--deterministic"],
            ["check", folder],
            ["run", folder],
        ):
            outcome = CliRunner().invoke(main, [*command, "-q"])
            assert outcome.exit_code == 0, outcome.output

    return run


@pytest.mark.parametrize("shape", [(2, 17), (100, 15), (64, 32), (33, 130)])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_cast_keeps_every_element(shape: tuple[int, int], dtype: str, runs: Runs) -> None:
    """Behind a product or before one: micro-panels of the two types differ in width."""
    rows, columns = shape
    if dtype == "float16":
        inner, result = 24, columns
        operations = {
            "h": {"op": "MatMul", "inputs": ["x", "w"]},
            "y": {"op": "Cast", "inputs": ["h"], "to": "float32"},
        }
    else:
        inner, result = columns, 24
        operations = {
            "c": {"op": "Cast", "inputs": ["x"], "to": "float16"},
            "y": {"op": "MatMul", "inputs": ["c", "w"]},
        }
    inputs = {"x": {"shape": [rows, inner], "dtype": dtype}}
    runs(17, inputs, {"w": {"shape": [inner, result]}}, operations, ["y"])
