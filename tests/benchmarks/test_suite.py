"""The suite of the examples, as docs/benchmarks.md shows it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.bench

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_suite(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """Every case has a program, and no solver is worse than its heuristic."""
    command = [sys.executable, "-m", "ipuopt", "compare", "--suite", str(EXAMPLES / "suite.yaml")]
    done = subprocess.run(
        [*command, "-o", str(tmp_path), "--json", "-q"], capture_output=True, check=False
    )
    assert done.returncode in (0, 4), done.stderr
    answer = json.loads(done.stdout)
    for name, value in answer["summary"].items():
        record_property(name, value)
    for case in answer["cases"]:
        record_property(f"{case['name']} (cycles)", case["objective"])
        assert case["objective"] <= case["heuristic"]
