"""Options: how they are written, and their ranges."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipuopt.options import (
    OPTIONS,
    Option,
    SolveOptions,
    Solver,
)
from ipuopt.processors import available_threads
from ipuopt.quantities import flag, fraction, seconds, size_bytes, whole


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("60", 60.0),
        ("90s", 90.0),
        ("2m", 120.0),
        ("2 min", 120.0),
        ("1h", 3600.0),
        ("1.5h", 5400.0),
        ("250ms", 0.25),
        (".5", 0.5),
        ("1e2", 100.0),
        (60, 60.0),
        (0.01, 0.01),
    ],
)
def test_seconds(text: object, value: float) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize(
    "text", ["", "s", "1d", "-1", "1 2", "1_0", "inf", "nan", "1e400", True, None]
)
def test_no_seconds(text: object) -> None:
    with pytest.raises(ValueError, match=r"^a duration as 60, 90s, 2m or 1h$"):
        seconds(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("624KiB", 638_976),
        ("624 KiB", 638_976),
        ("4GiB", 4 << 30),
        ("1.5GiB", 3 << 29),
        ("2GB", 2_000_000_000),
        ("512K", 512 << 10),
        ("512Ki", 512 << 10),
        ("1kB", 1000),
        ("100B", 100),
        ("100", 100),
        ("1e3", 1000),
        (4096, 4096),
    ],
)
def test_size(text: object, value: int) -> None:
    assert size_bytes(text) == value


@pytest.mark.parametrize("text", ["", "GiB", "1.5B", "-1", "1PiB", "0.3", math.inf, math.nan, True])
def test_no_size(text: object) -> None:
    with pytest.raises(ValueError, match="a size in whole bytes"):
        size_bytes(text)


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, 1.5, "1.5", "", "x", True, None, 10**400, -1, 11]
)
def test_no_whole_number(value: object) -> None:
    with pytest.raises(ValueError, match="a whole number from 0 to 10"):
        whole(value, 0, 10)


@pytest.mark.parametrize("value", ["nan", "inf", "-0.1", "1.1", "1%", math.nan, True, None, ""])
def test_no_fraction(value: object) -> None:
    with pytest.raises(ValueError, match="a number from 0 to 1"):
        fraction(value)


def test_fraction_and_flag() -> None:
    assert [fraction(value) for value in ("0.01", ".5", 1, 0, "1e-3")] == [0.01, 0.5, 1, 0, 0.001]
    assert [flag(value) for value in (True, "TRUE", "1", False, "false", "0")] == [True] * 3 + [
        False
    ] * 3
    for word in ("yes", "on", "", 1, None):
        with pytest.raises(ValueError, match="true or false"):
            flag(word)


def test_defaults() -> None:
    options = SolveOptions()
    assert options.time_limit_s == 300
    assert options.threads == available_threads() >= 1
    assert (options.gap, options.memory_limit_bytes, options.solver) == (None, None, Solver.AUTO)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("time_limit_s", math.nan),
        ("time_limit_s", math.inf),
        ("time_limit_s", 0),
        ("time_limit_s", -1),
        ("time_limit_s", 1e9),
        ("gap", math.nan),
        ("gap", 1.5),
        ("threads", 0),
        ("threads", 10**6),
        ("seed", -1),
        ("seed", 2**31),
        ("memory_limit_bytes", 1),
        ("solver", "gurobi"),
        ("deterministic", "maybe"),
    ],
)
def test_ranges(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{field}: found .*, expected "):
        SolveOptions(**{field: value})


@given(
    st.sampled_from(OPTIONS), st.none() | st.booleans() | st.integers() | st.floats() | st.text()
)
def test_any_value_is_taken_or_refused(option: Option, value: object) -> None:
    """Parsing a parsed value changes nothing, and nothing but ValueError leaves a parser."""
    try:
        parsed = option.parse(value)
    except ValueError:
        return
    assert option.parse(parsed) == parsed
