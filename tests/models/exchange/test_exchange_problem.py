"""Phases from the columns of another program."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipuopt.models.exchange import Problem, check

PAGE = Path(__file__).parents[3] / "docs" / "exchange.md"


def columns() -> dict[str, Any]:
    return {
        "tiles": 64,
        "source": [0, 2, 4],
        "source_address": [0x64000, 0x64100, 0x64200],
        "words": [10, 20, 30],
        "destination_tile": [[5], [5, 7], [9]],
        "destination_address": [[0x68000], [0x68100, 0x68100], [0x68000]],
    }


def same(one: Problem, other: Problem) -> bool:
    names = ("source", "source_address", "words", "destination_start", "destination_tile")
    more = ("destination_address", "paired")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names + more)


def test_lists_and_arrays_are_the_same() -> None:
    listed = Problem.from_arrays(**columns())
    arrays: dict[str, Any] = {
        key: np.array(value) if key in ("source", "words", "source_address") else value
        for key, value in columns().items()
    }
    assert same(Problem.from_arrays(**arrays), listed)
    flat = columns() | {
        "destination_tile": np.array([5, 5, 7, 9], np.int32),
        "destination_address": (0x68000, 0x68100, 0x68100, 0x68000),
        "destination_start": [0, 1, 3, 4],
    }
    assert same(Problem.from_arrays(**flat), listed)
    assert (listed.name, len(listed), listed.tiles) == ("phase", 3, 64)
    assert listed.destination_start.tolist() == [0, 1, 3, 4]


def test_one_receiver_each() -> None:
    given = columns() | {"destination_tile": [5, 6, 7], "destination_address": np.zeros(3, int)}
    assert Problem.from_arrays(**given).destination_start.tolist() == [0, 1, 2, 3]


def test_ragged_source_addresses() -> None:
    given = columns() | {"source_address": [[0, 8], 0x64100, [16]]}
    problem = Problem.from_arrays(**given)
    assert problem.source_address.tolist() == [[0, 8], [0x64100] * 2, [16, 16]]
    whole = columns() | {"source_address": np.array([[0, 8], [4, 12], [16, 20]])}
    assert Problem.from_arrays(**whole).source_address.shape == (3, 2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tiles": 1473}, "tiles: found 1473, expected 1..1472"),
        ({"source": [0, 2]}, "columns of transfers differ in length"),
        ({"source": [0, 2, 64]}, "transfer 2: source: found 64, expected a tile 0..63"),
        ({"source": [0.0, 2.0, 4.0]}, "source: found float64 of shape [3], expected whole numbers"),
        ({"source": [[0], [2], [4]]}, "source: found int64 of shape [3, 1], expected whole"),
        ({"source": ["a", "b", "c"]}, "source: found <U1 of shape [3], expected whole numbers"),
        ({"words": [10, 0, 30]}, "transfer 1: words: found 0, expected 1..4148"),
        ({"source_address": [2, 0, 0]}, "transfer 0: source_addresses: found 2, expected a mult"),
        ({"source_address": [[0, 2], 0, 0]}, "transfer 0: source_addresses: found [0, 2]"),
        ({"source_address": [[0, 4], [0, 4, 8], 0]}, "transfer 0: source_addresses: found 2 of"),
        ({"source_address": [[], 0, 0]}, "transfer 0: source_addresses: found 0 of them"),
        ({"source_address": [[0.5], 0, 0]}, "source_address: transfer 0: found float64"),
        ({"destination_tile": [[5], [5], [9]]}, "destination_tile and destination_address differ"),
        ({"destination_tile": [[5], [5, 5], [9]]}, "transfer 1: destinations: found tile 5 twice"),
        ({"destination_tile": [[0], [5, 7], [9]]}, "transfer 0: destinations: tile: found 0"),
        ({"destination_start": [0, 1, 3]}, "columns of transfers differ in length"),
        ({"destination_start": [0, 1, 3, 9]}, "bounds do not run from 0 to the number"),
        ({"destination_start": [0, 0, 3, 4]}, "transfer 0: destinations: found none"),
        ({"paired": [1, 0, 0]}, "paired: found int64, expected true or false"),
        ({"paired": [True]}, "columns of transfers differ in length"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        Problem.from_arrays(**(columns() | change))
    assert "\n" not in str(caught.value)


def test_the_example_of_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page's code runs as it stands and prints what the page says."""
    text = PAGE.read_text(encoding="utf-8")
    code = text.partition("```python\n")[2].partition("```")[0]
    expected = text.partition("It prints\n\n```\n")[2].partition("```")[0]
    script = tmp_path / "example.py"
    script.write_text(code, encoding="utf-8")
    scope = runpy.run_path(str(script))
    assert capsys.readouterr().out == expected
    assert check(scope["phase"], scope["solution"]) == ()
