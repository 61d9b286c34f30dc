"""JSON that every reader takes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from ipuopt.errors import InputError
from ipuopt.report import Limit
from ipuopt.strict_json import dumps, load_object, plain


def test_plain() -> None:
    assert plain(math.nan) is None
    assert plain([math.inf, -math.inf, 1.5]) == [None, None, 1.5]
    assert plain({"a": 2**53, "b": 2**53 + 1, "c": -(2**60)}) == {
        "a": 2**53,
        "b": "9007199254740993",
        "c": "-1152921504606846976",
    }
    found = plain((np.int64(3), np.float32(0.5), np.bool_(True), True, None, Limit.TIME))
    assert found == [3, 0.5, True, True, None, "time"]
    assert [type(item) for item in found] == [int, float, bool, bool, type(None), str]
    assert plain(np.arange(3)) == [0, 1, 2]
    with pytest.raises(TypeError, match="bytes has no form in JSON"):
        plain({"a": b"x"})


def test_keys_keep_their_order() -> None:
    assert dumps({"b": 1, "a": [2]}) == b'{\n  "b": 1,\n  "a": [\n    2\n  ]\n}\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[1]", "found a list, expected a plan"),
        (b"null", "found null, expected a plan"),
        (b"3", "found a number, expected a plan"),
        (b'{"a": NaN}', "found bad JSON"),
        (b'{"a": 1', "found bad JSON"),
        (b"", "found bad JSON"),
        (b"\xff", "found bad JSON"),
    ],
)
def test_no_object(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_object(path, "a plan")
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_unreadable(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        load_object(tmp_path / "f.json", "a plan")
    with pytest.raises(InputError, match="Is a directory"):
        load_object(tmp_path, "a plan")
