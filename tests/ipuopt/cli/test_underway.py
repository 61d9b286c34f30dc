"""Commands that do one long thing say that they are at work: a live line, or a line now and then."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ipuopt.cli import progress
from ipuopt.cli.underway import underway
from ipuopt.result import Result


def test_silence_is_short(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of what is done at once; lines at the pace of heartbeats; nothing if quiet."""
    with underway("checking a", time.monotonic(), quiet=False):
        pass
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(progress, "HEARTBEAT_S", 0.2)
    for quiet in (False, True):
        with underway("checking a", time.monotonic(), quiet=quiet):
            time.sleep(0.7)
        out, err = capsys.readouterr()
        assert out == ""
        lines = [line[11:] for line in err.splitlines()]
        assert lines == [] if quiet else set(lines) == {"checking a"}
        assert quiet or 1 <= len(lines) <= 3


def test_error_takes_the_line_away() -> None:
    with pytest.raises(KeyError), underway("checking a", time.monotonic(), quiet=False):
        raise KeyError


def _read(terminal: int) -> Iterator[bytes]:
    """What is written to a terminal until its other side is closed."""
    with contextlib.suppress(OSError):  # so Linux says that it is
        while part := os.read(terminal, 1 << 16):
            yield part


@pytest.mark.parametrize("command", ["check", "report"])
def test_live_line_on_a_terminal(command: str, tiny_result: Result, tmp_path: Path) -> None:
    """It is on the terminal only while the command works, and the result goes elsewhere."""
    tiny_result.save(tmp_path / "run")
    terminal, error = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "ipuopt", command, "run"],
        cwd=tmp_path,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "80"},
        stdout=subprocess.PIPE,
        stderr=error,
        text=True,
    )
    os.close(error)
    shown = b"".join(_read(terminal)).decode()
    stdout, _ = process.communicate(timeout=120)
    os.close(terminal)
    doing = {"check": "checking run", "report": "drawing run"}[command]
    assert doing in shown
    assert re.search(r"\x1b\[2K(\x1b\[\?25h)?$", shown)  # the line is wiped, the cursor back
    assert stdout.splitlines()[-1].startswith(("run: ", "Report: run/"))
