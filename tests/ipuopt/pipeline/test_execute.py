"""Inputs of a run on a device, and the reference."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ipuopt
from ipuopt.errors import InputError
from ipuopt.pipeline.execute import tensors_of
from ipuopt.pipeline.reference import reference
from ipuopt.workload import Workload


@pytest.fixture
def workload() -> Workload:
    return ipuopt.from_dict(
        {
            "ipuopt": 1,
            "name": "small",
            "target": {"tiles": 4},
            "inputs": {"x": {"shape": [2, 3, 16]}, "b": {"shape": [2, 3, 8]}},
            "parameters": {"w": {"shape": [16, 8]}},
            "operations": {
                "h": {"op": "MatMul", "inputs": ["x", "w"]},
                "g": {"op": "Gelu", "inputs": ["h"]},
                "s": {"op": "Add", "inputs": ["g", "b"]},
                "c": {"op": "Cast", "inputs": ["s"], "to": "float32"},
            },
            "outputs": ["s", "c"],
        }
    )


def test_draws_depend_on_the_seed_alone(workload: Workload) -> None:
    one, same, other = (tensors_of(workload, None, seed) for seed in (1, 1, 2))
    assert {name: value.shape for name, value in one.items()} == {
        "x": (2, 3, 16),
        "b": (2, 3, 8),
        "w": (16, 8),
    }
    for name, value in one.items():
        assert value.dtype == np.float16
        np.testing.assert_array_equal(value, same[name])
        assert not np.array_equal(value, other[name])
    assert 0.15 < one["w"].std() < 0.35


def test_inputs_of_a_file(workload: Workload, tmp_path: Path) -> None:
    file = tmp_path / "given.npz"
    np.savez(file, w=np.full((16, 8), 3))
    given = tensors_of(workload, file, 1)
    np.testing.assert_array_equal(given["w"], 3)
    np.testing.assert_array_equal(given["x"], tensors_of(workload, None, 1)["x"])
    for content, message in (
        ({"w": np.zeros((8, 16))}, r"w: found shape \[8, 16\], expected \[16, 8\]"),
        ({"v": np.zeros(3)}, r"found 'v', expected inputs or parameters: b, w, x"),
        ({"w": np.full((16, 8), "a")}, r"w: found <U1, expected numbers"),
    ):
        np.savez(file, **content)
        with pytest.raises(InputError, match=message):
            tensors_of(workload, file, 0)
    whole = file.read_bytes()
    for damaged in (b"no archive", b"", whole[:40], whole[:-5], b"PK" + bytes(50)):
        file.write_bytes(damaged)
        with pytest.raises(InputError, match="of numpy"):
            tensors_of(workload, file, 0)
    with pytest.raises(InputError, match="of numpy"):
        tensors_of(workload, tmp_path / "none.npz", 0)


def test_parameters_that_the_workload_names(workload: Workload, tmp_path: Path) -> None:
    file = tmp_path / "weights.npz"
    np.savez(file, first=np.full((16, 8), 2), second=np.zeros((8, 8)))

    def naming(source: str) -> Workload:
        tensors = dict(workload.tensors)
        tensors["w"] = replace(tensors["w"], data=source)
        return replace(workload, tensors=tensors)

    np.testing.assert_array_equal(tensors_of(naming(f"{file}#first"), None, 0)["w"], 2)
    with pytest.raises(InputError, match=r"found no array 'third', expected one of first, second"):
        tensors_of(naming(f"{file}#third"), None, 0)
    with pytest.raises(InputError, match=r"weights.npz#second: w: found shape \[8, 8\]"):
        tensors_of(naming(f"{file}#second"), None, 0)
    given = tmp_path / "given.npz"
    np.savez(given, w=np.full((16, 8), 5))
    np.testing.assert_array_equal(tensors_of(naming(f"{file}#first"), given, 0)["w"], 5)


def test_reference(workload: Workload) -> None:
    given = tensors_of(workload, None, 3)
    found = reference(workload, given)
    x, w, b = (given[name].astype(np.float64) for name in ("x", "w", "b"))
    h = x.reshape(6, 16) @ w
    expected = np.vectorize(lambda v: v / 2 * (1 + math.erf(v / math.sqrt(2))))(h)
    np.testing.assert_allclose(found["s"], expected + b.reshape(6, 8), atol=1e-5)
    np.testing.assert_array_equal(found["c"], found["s"])
    assert found["c"].dtype == np.float32
