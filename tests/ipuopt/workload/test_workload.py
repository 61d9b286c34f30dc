"""Reading workloads: the good cases, order independence, and the way through Python."""

from __future__ import annotations

import io
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipuopt.errors import InputError
from ipuopt.options import Solver
from ipuopt.workload import TensorKind, Workload, from_dict, load, to_dict
from ipuopt.workload.document import parse
from ipuopt.workload.operators import OPERATORS

ROOT = Path(__file__).parents[3]


def _mlp() -> dict[str, Any]:
    return {
        "ipuopt": 1,
        "name": "mlp",
        "target": {"chip": "ipu21", "tiles": 64},
        "inputs": {"x": {"shape": [8, 16, 32]}},
        "parameters": {
            "w": {"shape": [32, 64], "data": "weights.npz#w"},
            "b": {"shape": [8, 16, 64]},
        },
        "operations": {
            "h": {"op": "MatMul", "inputs": ["x", "w"]},
            "s": {"op": "Add", "inputs": ["h", "b"]},
            "a": {"op": "Gelu", "inputs": ["s"]},
            "y": {"op": "Cast", "inputs": ["a"], "to": "float32"},
        },
        "outputs": ["y"],
        "solve": {"time_limit": "2m", "gap": 0.01, "solver": "highs", "memory_limit": "1GiB"},
    }


def test_siglip_example() -> None:
    workload = load(ROOT / "examples" / "siglip-mlp.yaml")
    assert (workload.name, workload.target.tiles) == ("siglip-mlp", 1472)
    shapes = {tensor.name: tensor.shape for tensor in workload.tensors.values()}
    assert shapes == {
        "x": (729, 1152),
        "w1": (1152, 4304),
        "w2": (4304, 1152),
        "h": (729, 4304),
        "a": (729, 4304),
        "y": (729, 1152),
    }
    assert {tensor.dtype for tensor in workload.tensors.values()} == {"float16"}
    assert [operation.kind for operation in workload.operations] == ["MatMul", "Gelu", "MatMul"]


def test_tiny_example() -> None:
    workload = load(ROOT / "examples" / "mlp-tiny.yaml")
    assert workload.target.tiles == 64
    assert workload.tensors["y"].shape == (128, 256)


def test_inference_and_options() -> None:
    workload = from_dict(_mlp())
    assert workload.tensors["h"].shape == (8, 16, 64)
    assert (workload.tensors["h"].rows, workload.tensors["h"].columns) == (128, 64)
    assert workload.tensors["y"].dtype == "float32"
    assert workload.tensors["w"].data == "weights.npz#w"
    assert workload.tensors["y"].kind is TensorKind.RESULT
    assert workload.operations[-1].attributes == {"to": "float32"}
    expected = {"time_limit": 120.0, "gap": 0.01, "solver": Solver.HIGHS, "memory_limit": 1 << 30}
    assert workload.solve == expected


def test_defaults() -> None:
    data = _mlp()
    for key in ("name", "target", "solve"):
        del data[key]
    workload = from_dict(data)
    assert (workload.name, workload.target.chip, workload.target.tiles) == (
        "workload",
        "ipu21",
        1472,
    )
    assert workload.solve == {}


def test_round_trip() -> None:
    workload = from_dict(_mlp())
    assert from_dict(to_dict(workload)) == workload
    assert from_dict(json.loads(json.dumps(to_dict(workload)))) == workload


@given(st.randoms(use_true_random=False))
def test_order_in_the_file_does_not_show(rng: random.Random) -> None:
    """Sections and entries in any order give the same workload, field by field and in order."""

    def shuffled(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        items = [(key, shuffled(item)) for key, item in value.items()]
        rng.shuffle(items)
        return dict(items)

    expected, found = from_dict(_mlp()), from_dict(shuffled(_mlp()))
    assert found == expected
    assert list(found.tensors) == list(expected.tensors)


def test_json_is_valid_input(tmp_path: Path) -> None:
    expected = from_dict(_mlp())
    for number, indent in enumerate((None, 2, "\t")):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(_mlp(), indent=indent), encoding="utf-8")
        assert load(path) == expected


def test_json_escapes(tmp_path: Path) -> None:
    """JSON writes characters past the basic plane as surrogate pairs."""
    data = _mlp()
    data["inputs"]["\U0001f600/é"] = data["inputs"].pop("x")
    data["operations"]["h"]["inputs"][0] = "\U0001f600/é"
    path = tmp_path / "w.json"
    path.write_text(json.dumps(data, ensure_ascii=True).replace("/", "\\/"), encoding="utf-8")
    assert "\U0001f600/é" in load(path).tensors


def test_forms_of_text(tmp_path: Path) -> None:
    """Byte order mark, CRLF, comments, anchors, document markers, missing last line end."""
    text = (
        "---\nipuopt: 1 # version\ninputs:\n  x: &t {shape: [2, 4]}\n  z: *t\n"
        "operations:\n  s: {op: Add, inputs: [x, z]}\noutputs: [s]\n..."
    )
    path = tmp_path / "my mlp!.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    workload = load(path)
    assert workload.tensors["z"].shape == (2, 4)
    assert workload.name == "my-mlp"


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps(_mlp()).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert load("-") == from_dict(_mlp())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"[]")))
    with pytest.raises(InputError, match=r"^<stdin>:1:1: found a list"):
        load("-")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match=r"^<stdin>: found closed, expected a readable stream"):
        load("-")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": {"tiles": 0}}, "target.tiles: found 0"),
        ({"target": {"tiles": 64.5}}, "target.tiles: found 64.5"),
        ({1: 2}, "found the number 1 as key, expected a string"),
        ({"name": b"x"}, "name: found a bytes, expected a mapping, list, string or number"),
        ({"outputs": ["nope"]}, "outputs[0]: found the unknown name 'nope'"),
        ({"outputs": None}, "outputs: found null"),
        ({"ipuopt": 10**5000}, "ipuopt: found a number of 16610 bits, expected version 1"),
        ({"solve": {"seed": 10**400}}, "solve.seed: found a number of 1329 bits"),
    ],
)
def test_from_python_names_the_key(change: dict[Any, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        from_dict(_mlp() | change, source="model")
    assert str(caught.value).startswith(f"model: {message}")


def test_from_python_refuses_recursion() -> None:
    data = _mlp()
    data["inputs"]["x"] = data["inputs"]
    with pytest.raises(InputError, match="deeper nesting"):
        from_dict(data)


def test_independent_branches_are_ordered_by_name() -> None:
    data = _mlp() | {
        "parameters": {},
        "operations": {
            "b": {"op": "Gelu", "inputs": ["x"]},
            "c": {"op": "Add", "inputs": ["b", "a"]},
            "a": {"op": "Gelu", "inputs": ["x"]},
        },
        "outputs": ["c"],
    }
    assert [operation.name for operation in from_dict(data).operations] == ["a", "b", "c"]


def _two(kind: str, left: tuple[list[int], str], right: tuple[list[int], str]) -> Workload:
    return from_dict(
        {
            "ipuopt": 1,
            "inputs": {
                "l": {"shape": left[0], "dtype": left[1]},
                "r": {"shape": right[0], "dtype": right[1]},
            },
            "operations": {"y": {"op": kind, "inputs": ["l", "r"]}},
            "outputs": ["y"],
        }
    )


@pytest.mark.parametrize(
    ("kind", "left", "right", "result"),
    [
        ("MatMul", ([2, 3], "float16"), ([3, 5], "float16"), ((2, 5), "float16")),
        ("MatMul", ([7, 2, 3], "float16"), ([3, 5], "float16"), ((7, 2, 5), "float16")),
        ("MatMul", ([1, 7, 2, 3], "float16"), ([3, 1], "float16"), ((1, 7, 2, 1), "float16")),
        ("Add", ([5], "float32"), ([5], "float32"), ((5,), "float32")),
        ("Add", ([2, 5], "float16"), ([2, 5], "float16"), ((2, 5), "float16")),
    ],
)
def test_signatures(
    kind: str,
    left: tuple[list[int], str],
    right: tuple[list[int], str],
    result: tuple[tuple[int, ...], str],
) -> None:
    tensor = _two(kind, left, right).tensors["y"]
    assert (tensor.shape, tensor.dtype) == result


@pytest.mark.parametrize(
    ("kind", "left", "right", "message"),
    [
        ("MatMul", ([2, 3], "float16"), ([3], "float16"), "a right operand [3, N] of rank 2"),
        ("MatMul", ([2, 3], "float16"), ([1, 3, 5], "float16"), "a right operand [3, N] of rank 2"),
        ("MatMul", ([2, 3], "float16"), ([3, 5], "float32"), "no float32 kernel"),
        ("MatMul", ([2, 3], "float16"), ([5, 3], "float16"), "expected [3, N]"),
        ("Add", ([2, 5], "float16"), ([5], "float16"), "does not broadcast"),
        ("Add", ([2, 5], "float16"), ([2, 5], "float32"), "Cast one of them"),
    ],
)
def test_refused_operands(
    kind: str, left: tuple[list[int], str], right: tuple[list[int], str], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        _two(kind, left, right)
    assert message in str(caught.value)
    assert str(caught.value).startswith("workload: operations.y.inputs[")


def test_registry_is_keyed_by_kind() -> None:
    assert list(OPERATORS) == ["MatMul", "Gelu", "Add", "Cast"]
    assert all(kind == operator.kind for kind, operator in OPERATORS.items())


def _read_or_refused(text: str) -> None:
    try:
        parse(text, "f")
    except InputError as error:
        assert "\n" not in str(error)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text makes the reader raise anything but its own error, on one line."""
    _read_or_refused(text)


@given(st.text(alphabet="ab:-[]{},&*!|>'\"#?% \n\t0", max_size=60))
def test_any_syntax_is_read_or_refused(text: str) -> None:
    _read_or_refused(text)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@given(st.sampled_from(sorted(_mlp())), _VALUES)
def test_any_value_is_read_or_refused(key: str, value: Any) -> None:
    """A section replaced by any value gives a workload or the reader's own error."""
    try:
        from_dict(_mlp() | {key: value})
    except InputError as error:
        assert "\n" not in str(error)
