"""Small calls are interpreted while somebody else compiles, with the same results."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from ipuopt import compiled, interpreted

STAGES = """
import hashlib, time
import numpy as np
from ipuopt.limits import Limits
from ipuopt.models import exchange, placement
from ipuopt.models.placement.tiles import TILE_REGIONS

limits = Limits(deadline=time.monotonic() + 500, deterministic=True)
rng = np.random.default_rng(5)
base, count = TILE_REGIONS.high_start, 40
sizes = rng.integers(1, 4, count)
tile = rng.integers(0, 12, count)
phase = exchange.Problem(
    name="a",
    tiles=12,
    source=tile,
    source_address=base + 512 * rng.integers(0, 12, count),
    words=rng.integers(1, 90, count),
    destination_start=np.concatenate(([0], np.cumsum(sizes))),
    destination_tile=np.concatenate(
        [(t + 1 + rng.permutation(11)[:n]) % 12 for t, n in zip(tile, sizes)]
    ),
    destination_address=base + 8192 + 512 * np.arange(sizes.sum()),
)
solution, report = exchange.solve(phase, limits)
print(solution.start.tolist(), report.objective, report.bound)
ones = np.ones(6, dtype=np.int64)
buffers = placement.Problem(
    name="b",
    regions=TILE_REGIONS,
    size_bytes=1024 * np.arange(1, 7),
    alignment=8 * ones,
    interleaved=np.array([1, 0, 0, 1, 0, 0]),
    live_start=np.arange(6) // 2,
    live_stop=np.arange(6) // 2 + 2,
    distinct=np.array([[1, 2]]),
    conflict=np.array([[0, 1], [2, 3]]),
    conflict_words=np.array([8, 16]),
)
placed, report = placement.solve(buffers, limits)
print(placed.address.tolist(), report.objective, report.bound)
"""


@pytest.fixture(autouse=True)
def nobody_compiles() -> Iterator[None]:
    """The process interprets nothing after a test."""
    yield
    interpreted.while_compiling(None)


@pytest.fixture
def total(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A kernel that calls another one, and has no code yet."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return compiled.small_kernel(_total)


@compiled.kernel
def _double(number: int) -> int:
    return 2 * number


def _total(numbers: Any) -> int:
    total = 0
    for number in numbers:
        total += _double(number)
    return total


def test_small_call_is_interpreted(total: Any) -> None:
    interpreted.while_compiling(lambda: True)
    assert total(np.arange(5)) == 20
    assert not total.signatures


def test_code_is_not_looked_for_each_time(total: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """To look into a folder takes longer than a small call."""
    looks: list[object] = []

    def look(kernel: object) -> bool:
        looks.append(kernel)
        return False

    monkeypatch.setattr(interpreted, "_in_cache", look)
    interpreted.while_compiling(lambda: True)
    assert [total(np.arange(count)) for count in range(5)] == [0, 0, 2, 6, 12]
    assert looks.count(total) == 1
    monkeypatch.setattr(interpreted, "LOOK_AGAIN_S", 0.0)
    total(np.arange(5))
    assert looks.count(total) == 2


def test_compiled_when_nobody_else_does(total: Any) -> None:
    """The child may have ended without the code."""
    interpreted.while_compiling(lambda: False)
    assert total(np.arange(5)) == 20
    assert total.signatures


def test_large_call_is_compiled(total: Any) -> None:
    interpreted.while_compiling(lambda: True)
    numbers = np.zeros(interpreted.SMALL_BYTES // 8 + 1, dtype=np.int64)
    assert total(numbers) == 0
    assert total.signatures


def test_code_is_used_once_it_is_there(total: Any) -> None:
    """Another process has put it into the cache meanwhile."""
    total(np.arange(5))
    found: Any = compiled.small_kernel(_total)
    interpreted.while_compiling(lambda: True)
    assert found(np.arange(5)) == 20
    assert sum(found.stats.cache_hits.values()) == 1


def test_interpreted_function_calls_code_that_is_there(total: Any) -> None:
    """The inner kernel's code is used; one that returns unsigned words stays interpreted."""
    double: Any = _double
    double(1)
    assert interpreted._interpreted(total, {}).__globals__["_double"] is double
    double.py_func.__annotations__["return"] = "np.uint64"
    assert interpreted._interpreted(total, {}).__globals__["_double"] is not double


def test_stages_give_the_same_without_the_compiler() -> None:
    """Kernels are written so that the interpreter's integers do what machine words do."""
    printed = [
        subprocess.run(
            [sys.executable, "-c", STAGES],
            env=os.environ | {"NUMBA_DISABLE_JIT": disabled},
            check=True,
            capture_output=True,
            text=True,
            timeout=600,
        ).stdout
        for disabled in ("0", "1")
    ]
    assert printed[0] == printed[1]
    assert printed[0].count("\n") == 2
