"""Plans from files: what a reader relies on is checked, one line an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ipuopt.errors import InputError
from ipuopt.plan_file import read_plan_json
from ipuopt.result import Result


def _written(path: Path, data: Any) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_round_trip(tiny_result: Result, tmp_path: Path) -> None:
    path = _written(tmp_path / "plan.json", tiny_result.plan.to_json())
    assert read_plan_json(path) == tiny_result.plan


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("tiles",), "2", "tiles: found '2', expected a value of type int"),
        (("tiles",), 2.0, "tiles: found 2.0, expected a value of type int"),
        (("tiles",), 1473, "tiles: found 1473, expected 1 to 1472 tiles"),
        (("joins_phases",), 1, "joins_phases: found 1, expected a value of type bool"),
        (("values", 0, "name"), 3, "values[0].name: found 3, expected a value of type str"),
        (("values", 0, "rows"), True, "values[0].rows: found True, expected a value of type int"),
        (("values", 0, "rows"), 0, "values[0]: found float16 0 x 4, expected float16 or float32"),
        (("values", 1, "dtype"), "int8", "values[1]: found int8 2 x 4, expected float16 or"),
        (("values", 2, "origin"), "air", "found 'air' is not a valid Origin, expected a plan"),
        (("values", 0, "layout", "tiles"), -3, "values[0].layout: found -3 tiles with 1 replicas"),
        (
            ("values", 0, "layout", "axes", 0, "stride"),
            "1",
            "values[0].layout.axes[0].stride: found '1', expected a whole number or null",
        ),
        (("values", 0, "layout", "axes", 0, "block"), 0, "found axis 2: counts and grains must"),
        (("steps", 0, "value"), 3, "steps[0]: found a reference to value 3, expected one of the 3"),
        (("steps", 0, "value"), -1, "steps[0]: found a reference to value -1, expected one of"),
        (("steps", 1, "inputs"), ["1"], "steps[1]: found a reference to value '1', expected one"),
        (("steps", 0, "terms", "exchange"), "9", "steps[0].terms.exchange: found '9', expected a"),
        (("steps", 0, "terms"), "x", "steps[0].terms: found 'x', expected cycles by name"),
        (("steps", 0, "terms"), 1.5, "steps[0].terms: found 1.5, expected cycles by name"),
        (("steps", 0, "surplus"), 1, "unexpected keyword argument 'surplus', expected a plan"),
    ],
)
def test_refused(
    place: tuple[str | int, ...], value: Any, message: str, tiny_result: Result, tmp_path: Path
) -> None:
    data: Any = json.loads(json.dumps(tiny_result.plan.to_json()))
    inner = data
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    path = _written(tmp_path / "plan.json", data)
    with pytest.raises(InputError) as caught:
        read_plan_json(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_grid_of_a_product(tiny_result: Result, tmp_path: Path) -> None:
    data: Any = json.loads(json.dumps(tiny_result.plan.to_json()))
    data["steps"][1] = {
        "step": "matmul",
        "name": "y",
        "left": 0,
        "right": 1,
        "result": 2,
        "orientation": "normal",
        "rows": 1,
        "columns": 1,
        "inner": 0,
        "block_inner": 16,
        "block_columns": 16,
        "epochs": "complete",
        "terms": {},
    }
    path = _written(tmp_path / "plan.json", data)
    message = r"steps\[1\]: found grid and blocks \(1, 1, 0, 16, 16\), expected numbers of at"
    with pytest.raises(InputError, match=message):
        read_plan_json(path)
