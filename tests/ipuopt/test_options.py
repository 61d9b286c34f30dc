"""Options: how they are written, their ranges, and which place wins."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipuopt.errors import InputError
from ipuopt.options import (
    MAX_THREADS,
    OPTIONS,
    Option,
    Setting,
    SolveOptions,
    Solver,
    available_threads,
    cgroup_cpus,
    options_of,
    resolve,
)
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


def test_precedence_with_origins() -> None:
    flags = {"seed": "1", "time_limit": "none"}
    environment = {"IPUOPT_SEED": "2", "IPUOPT_GAP": "0.02", "IPUOPT_THREADS": "", "SEED": "9"}
    section = {"seed": 3, "gap": 0.03, "solver": Solver.HIGHS, "threads": 5}
    settings = resolve(flags, environment, section)
    assert settings["seed"] == Setting(1, "flag --seed")
    assert settings["time_limit"] == Setting(None, "flag --time-limit")
    assert settings["gap"] == Setting(0.02, "IPUOPT_GAP")
    assert settings["threads"] == Setting(5, "workload")
    assert settings["solver"] == Setting(Solver.HIGHS, "workload")
    assert settings["deterministic"] == Setting(False, "default")
    assert list(settings) == [option.key for option in OPTIONS]
    options = options_of(settings)
    assert (options.seed, options.time_limit_s, options.gap, options.threads) == (1, None, 0.02, 5)


@pytest.mark.parametrize(
    ("flags", "environment", "message"),
    [
        ({"gap": "nan"}, {}, "--gap: found 'nan', expected a number from 0 to 1 as 0.01, or none"),
        ({}, {"IPUOPT_SEED": "x"}, "IPUOPT_SEED: found 'x', expected a whole number from 0 to "),
        ({"solver": "gurobi"}, {}, "--solver: found 'gurobi', expected auto, cpsat, highs or heur"),
        ({"memory_limit": "1KiB"}, {}, "--memory-limit: found '1KiB', expected at least 64MiB, or"),
        ({"time_limit": "0"}, {}, "--time-limit: found '0', expected a duration above 0 and up to"),
    ],
)
def test_wrong_settings(
    flags: dict[str, object], environment: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        resolve(flags, environment, {})
    assert str(caught.value).startswith(message)


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


@pytest.mark.parametrize(
    ("files", "cpus"),
    [
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu.max": "max 100000\n"}, MAX_THREADS),
        ({"cpu/cpu.cfs_quota_us": "400000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 4),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, MAX_THREADS),
        ({"cpu.max": "garbage"}, MAX_THREADS),
        ({}, MAX_THREADS),
    ],
)
def test_cgroup_quota(files: dict[str, str], cpus: int, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="ascii")
    assert cgroup_cpus(tmp_path) == cpus
