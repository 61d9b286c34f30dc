"""Small workloads of odd shapes: solved, checked, and run on the simulator."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ipuopt.cli import main
from ipuopt.plan import ConversionStep, Plan

Runs = Callable[..., Plan]


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    """``runs(tiles, inputs, parameters, operations, outputs)``: all commands end with 0; the plan."""

    def run(
        tiles: int,
        inputs: dict[str, Any],
        parameters: dict[str, Any],
        operations: dict[str, Any],
        outputs: list[str],
    ) -> Plan:
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
        return Plan.from_json(json.loads((tmp_path / "run" / "plan.json").read_text()))

    return run


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        ("float16", (2, 17)),
        ("float16", (100, 15)),
        ("float32", (2, 17)),
        ("float32", (33, 130)),
    ],
)
def test_cast_keeps_every_element(dtype: str, shape: tuple[int, int], runs: Runs) -> None:
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


PRODUCTS = {
    "y": {"op": "MatMul", "inputs": ["h", "w1"]},
    "z": {"op": "MatMul", "inputs": ["h", "w2"]},
}


def test_a_converted_copy_has_two_readers(runs: Runs) -> None:
    """The result of a product is converted once, and two products read the copy."""
    plan = runs(
        64,
        {"x": {"shape": [128, 256]}},
        {"w0": {"shape": [256, 512]}, "w1": {"shape": [512, 256]}, "w2": {"shape": [512, 256]}},
        {"h": {"op": "MatMul", "inputs": ["x", "w0"]}, **PRODUCTS},
        ["y", "z"],
    )
    (copy,) = (step for step in plan.steps if isinstance(step, ConversionStep))
    assert (
        sum(copy.result in (getattr(s, "left", -1), getattr(s, "right", -1)) for s in plan.steps)
        == 2
    )


def test_a_result_that_is_read_three_times_and_is_an_output(runs: Runs) -> None:
    """Readers of other shapes, in place or from copies, beside an addition."""
    runs(
        13,
        {"x": {"shape": [33, 40]}, "b": {"shape": [33, 64]}},
        {"w0": {"shape": [40, 64]}, "w1": {"shape": [64, 17]}, "w2": {"shape": [64, 130]}},
        {
            "h": {"op": "MatMul", "inputs": ["x", "w0"]},
            **PRODUCTS,
            "s": {"op": "Add", "inputs": ["h", "b"]},
        },
        ["h", "y", "z", "s"],
    )


def test_an_input_loaded_in_two_layouts(runs: Runs) -> None:
    """Two products read one input in layouts of their own: no conversion."""
    plan = runs(
        32,
        {"h": {"shape": [64, 256]}},
        {"w1": {"shape": [256, 1024]}, "w2": {"shape": [256, 16]}},
        PRODUCTS,
        ["y", "z"],
    )
    assert not any(isinstance(step, ConversionStep) for step in plan.steps)
    assert len({value.layout for value in plan.values if value.tensor == "h"}) == 2


@pytest.mark.parametrize("shape", [(9, 11), (40, 33)])
def test_gelu_of_an_odd_number_of_elements(shape: tuple[int, int], runs: Runs) -> None:
    """Its kernel takes pairs of elements; rows of an odd number of them are padded."""
    operations = {"y": {"op": "Gelu", "inputs": ["x"]}}
    runs(7, {"x": {"shape": list(shape)}}, {}, operations, ["y"])
