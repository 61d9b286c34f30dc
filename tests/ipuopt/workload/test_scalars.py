"""Numbers, booleans and names: the tables of what YAML readers get wrong."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from ipuopt.errors import InputError
from ipuopt.workload import load
from ipuopt.workload.scalars import resolve

# YAML 1.1 words that must stay text, as values and as keys.
WORDS = ("no", "No", "NO", "on", "On", "off", "yes", "Yes", "y", "Y", "n", "N", "1:30", "0b1")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e5", 1e5),
        ("1E5", 1e5),
        ("1.0e5", 1e5),
        ("1e+5", 1e5),
        ("1e-2", 0.01),
        (".5", 0.5),
        ("5.", 5.0),
        ("1_000", "1_000"),
        ("0x4c000", 0x4C000),
        ("0o17", 0o17),
        ("017", 17),
        ("+3", 3),
        ("-3", -3),
        ("inf", "inf"),
        ("nan", "nan"),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("true", True),
        ("FALSE", False),
        ("tRue", "tRue"),
        ("~", None),
        ("null", None),
        ("nil", "nil"),
        ("", None),
        (".", "."),
        ("-", "-"),
        ("e5", "e5"),
        ("2026-01-01", "2026-01-01"),
        ("\u0661", "\u0661"),  # a digit, but not an ASCII one
        *((word, word) for word in WORDS),
    ],
)
def test_core_schema(text: str, value: object) -> None:
    found = resolve(text)
    assert found == value
    assert type(found) is type(value)


def test_nan() -> None:
    value = resolve(".nan")
    assert isinstance(value, float)
    assert math.isnan(value)


def _write(folder: Path, extent: str) -> Path:
    path = folder / "w.yaml"
    path.write_text(
        f"ipuopt: 1\ninputs:\n  x: {{shape: [{extent}, 4]}}\n"
        "operations:\n  g: {op: Gelu, inputs: [x]}\noutputs: [g]\n",
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize(
    ("text", "extent"),
    [
        ("1e5", 100_000),
        ("1E5", 100_000),
        ("1.0e5", 100_000),
        ("1e+5", 100_000),
        ("0x4c000", 0x4C000),
        ("+3", 3),
        ("12.", 12),
        ("0o10", 8),
    ],
)
def test_extent_takes(text: str, extent: int, tmp_path: Path) -> None:
    assert load(_write(tmp_path, text)).tensors["x"].shape == (extent, 4)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (".5", "0.5"),
        ("1_000", "'1_000'"),
        ("inf", "'inf'"),
        (".inf", "inf"),
        (".nan", "nan"),
        ("'3'", "'3'"),
        ("true", "true"),
        ("null", "null"),
        ("[1]", "a list"),
        ("1e400", "inf"),
    ],
)
def test_extent_refuses(text: str, found: str, tmp_path: Path) -> None:
    path = _write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        load(path)
    expected = "expected a whole number from 1 to 2147483648"
    assert str(caught.value) == f"{path}:3:15: inputs.x.shape[0]: found {found}, {expected}"


@pytest.mark.parametrize("word", WORDS)
def test_words_are_names(word: str, tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(
        f"ipuopt: 1\ninputs:\n  {word}: {{shape: [2, 4]}}\n"
        f"operations:\n  z{word}: {{op: Gelu, inputs: [{word}]}}\n"
        f"  r:\n    op: Add\n    inputs:\n    - {word}\n    - z{word}\noutputs: [r]\n",
        encoding="utf-8",
    )
    workload = load(path)
    assert list(workload.tensors) == [word, f"z{word}", "r"]
    assert workload.operations[1].inputs == (word, f"z{word}")
