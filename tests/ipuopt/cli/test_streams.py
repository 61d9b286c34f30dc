"""Standard output that cannot be written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
@pytest.mark.parametrize("arguments", [["versions"], ["versions", "--json"]])
def test_full_disk_is_one_line(arguments: list[str]) -> None:
    """Results that cannot be printed: exit code 2 and the reason, no traceback, no bug."""
    with FULL.open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "ipuopt", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    assert ended.returncode == 2
    assert ended.stderr == (
        "error: standard output: found No space left on device, expected to write results\n"
    )


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
def test_full_error_stream_keeps_the_exit_code() -> None:
    """A message that cannot be told does not change what happened."""
    with FULL.open("w") as full:
        command = [sys.executable, "-m", "ipuopt", "solve", "nowhere.yaml"]
        ended = subprocess.run(command, stderr=full, check=False, timeout=60)
    assert ended.returncode == 2
