"""What tests of commands share."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def clean_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, and no options in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("IPUOPT_"):
            monkeypatch.delenv(name)
    return tmp_path


@pytest.fixture
def until_handled() -> Callable[[int], None]:
    """Wait for a command's own handlers: SIGTERM's is set after SIGINT's."""

    def wait(pid: int) -> None:
        status = Path(f"/proc/{pid}/status")
        for _ in range(2000):
            caught = int(status.read_text(encoding="ascii").split("SigCgt:")[1].split()[0], 16)
            if caught & (1 << (signal.SIGTERM - 1)):
                return
            time.sleep(0.005)
        raise AssertionError("no handlers within 10 s")

    return wait
