"""Ctrl-C and SIGTERM, and what a terminal sees, through real processes."""

from __future__ import annotations

import json
import os
import pickle
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from ipuopt.result import Result
from ipuopt.rundir import read_run

SCRIPT = Path(__file__).with_name("fake_run.py")
WORKLOAD = """
ipuopt: 1
name: tiny
target: {tiles: 2}
inputs: {x: {shape: [2, 4]}}
operations: {a: {op: Gelu, inputs: [x]}}
outputs: [a]
"""

Start = Callable[..., subprocess.Popen[str]]
UntilHandled = Callable[[int], None]


@pytest.fixture
def start(tiny_result: Result, tmp_path: Path) -> Start:
    """Starts ``ipuopt solve`` with a waiting pipeline in ``tmp_path``."""
    (tmp_path / "tiny.yaml").write_text(WORKLOAD, encoding="utf-8")
    (tmp_path / "result.pickle").write_bytes(pickle.dumps(tiny_result))

    def begin(
        behaviour: str, *arguments: str, stderr: int = subprocess.PIPE
    ) -> subprocess.Popen[str]:
        command = [sys.executable, str(SCRIPT), behaviour, "result.pickle", "solve", "tiny.yaml"]
        return subprocess.Popen(
            [*command, *arguments],
            cwd=tmp_path,
            text=True,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )

    return begin


def _lines_until(process: subprocess.Popen[str], text: str) -> list[str]:
    """Lines of standard error up to the one that contains ``text``."""
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line.rstrip("\n"))
        if text in line:
            return lines
    raise AssertionError(f"no {text!r} in {lines}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("behaviour", ["wait", "cpsat"])
def test_first_signal_keeps_the_plan(
    number: signal.Signals, behaviour: str, start: Start, tmp_path: Path
) -> None:
    """Also while a solver's call keeps its thread: the run is written, and nothing is optimal."""
    process = start(behaviour)
    _lines_until(process, "stage runs")
    time.sleep(0.5)
    assert process.poll() is None
    before = time.monotonic()
    process.send_signal(number)  # in the search, or still in presolve
    stdout, stderr = process.communicate(timeout=30)
    assert time.monotonic() - before < 10
    assert process.returncode == 128 + number
    assert "interrupted; ending with the best plan so far" in stderr
    assert "Traceback" not in stderr
    assert stdout.startswith("stage ")
    assert "The run stopped early: interrupt." in stdout
    assert read_run(tmp_path / "runs" / "tiny")[2]["limit"] == "interrupt"


def test_second_signal_ends_at_once(start: Start, tmp_path: Path) -> None:
    """A pipeline that hears nothing, and its child, are gone; no run directory is left."""
    process = start("deaf", "--progress", "plain")
    child = int(_lines_until(process, "child ")[-1].split()[1])
    process.send_signal(signal.SIGINT)
    _lines_until(process, "interrupted; ending")
    assert process.poll() is None
    before = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=10)
    assert time.monotonic() - before < 3
    assert process.returncode == 130
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == "zombie"
    assert not (tmp_path / "runs").exists()


def test_signal_while_the_command_starts(tmp_path: Path, until_handled: UntilHandled) -> None:
    """Before there is a pipeline the command just ends; standard input is what it waits for."""
    command = [sys.executable, "-m", "ipuopt", "solve", "-"]
    waiting = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until_handled(waiting.pid)
    waiting.send_signal(signal.SIGTERM)
    _, stderr = waiting.communicate(timeout=10)
    assert (waiting.returncode, stderr.strip()) == (143, "error: interrupted")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("module", ["click", "numba"])
def test_signal_while_modules_are_imported(
    module: str, number: signal.Signals, tmp_path: Path
) -> None:
    """The import of a module is cut short, also where it would swallow every exception."""
    source = f"""
import os
try:
    os.kill(os.getpid(), {int(number)})
    for _ in range(1000): pass
except BaseException:
    pass
"""
    (tmp_path / f"{module}.py").write_text(source, encoding="ascii")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "ipuopt", "check", "."]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=30, check=False
    )
    expected = (128 + number, "", "error: interrupted\n")
    assert (done.returncode, done.stdout, done.stderr) == expected


def test_entry_imports_nothing_that_takes_long() -> None:
    """Handlers stand before any module that is not part of the interpreter's own start."""
    code = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "import ipuopt.__main__\n"
        "print(sorted(set(sys.modules) - before - {'signal'}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.strip() == "['ipuopt', 'ipuopt.__main__']"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_at_any_time(
    number: signal.Signals, tmp_path: Path, until_handled: UntilHandled
) -> None:
    """One line, no traceback, from the moment the handlers stand until programs are complete."""
    example = Path(__file__).parents[3] / "examples" / "siglip-mlp.yaml"
    command = [sys.executable, "-m", "ipuopt", "solve", str(example), "-q"]
    for delay_s in (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 2.5, 3):
        process = subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        until_handled(process.pid)
        time.sleep(delay_s)
        process.send_signal(number)
        before = time.monotonic()
        stdout, stderr = process.communicate(timeout=30)
        assert time.monotonic() - before < 12
        assert process.returncode == 128 + number, (delay_s, stderr)
        if not stdout:
            assert stderr.count("\n") == 1, (delay_s, stderr)
            assert stderr.startswith("error: ") and "interrupted" in stderr


def _read_terminal(descriptor: int, process: subprocess.Popen[str], until: str) -> str:
    text = ""
    deadline = time.monotonic() + 20
    while until not in text and time.monotonic() < deadline:
        if select.select([descriptor], [], [], 0.1)[0]:
            try:
                text += os.read(descriptor, 4096).decode()
            except OSError:  # the other side is closed
                break
        elif process.poll() is not None:
            break
    return text


@pytest.mark.parametrize("terminal", ["xterm-256color", "dumb"])
def test_terminal(
    terminal: str, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal gets one line that is drawn over itself; a dumb one plain lines."""
    monkeypatch.setenv("TERM", terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    master, slave = pty.openpty()
    process = start("wait", stderr=slave)
    os.close(slave)
    text = _read_terminal(master, process, "incumbent")
    process.send_signal(signal.SIGINT)
    stdout, _ = process.communicate(timeout=30)
    text += _read_terminal(master, process, "never there")
    os.close(master)
    assert process.returncode == 130
    assert "total cycles" in stdout
    assert "\x1b[3" not in text  # no colours
    if terminal == "dumb":
        assert "\x1b" not in text
    else:
        assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1  # the cursor is back


def test_closed_pipes(start: Start, tmp_path: Path) -> None:
    """Readers of both streams go away: the run is written all the same."""
    process = start("wait", "--progress", "plain")
    assert process.stdout is not None
    assert process.stderr is not None
    _lines_until(process, "incumbent")
    process.stdout.close()
    process.stderr.close()
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130
    assert read_run(tmp_path / "runs" / "tiny")[0].name == "tiny"


def test_json_and_ascii(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """One object on standard output, nothing else there, in an ASCII-only environment."""
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    process = start("wait", "--json", "-q")
    _lines_until(process, "stage runs")
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    report = json.loads(stdout)
    assert (report["exit_code"], report["output"]) == (130, "runs/tiny")
    assert report["total"]["objective"] == 800
    assert stderr == "stage ends\n"


def test_deaf_stage_is_cut_off_with_the_program_it_published(start: Start, tmp_path: Path) -> None:
    """The limit holds although a stage never looks at it; the complete program is written."""
    process = start("published", "--time-limit", "3")
    before = time.monotonic()
    stdout, stderr = process.communicate(timeout=30)
    assert time.monotonic() - before < 3 * 1.1 + 2 + 2  # two more to start the interpreter
    assert process.returncode == 4, stderr
    assert "The run stopped early: time." in stdout
    assert read_run(tmp_path / "runs" / "tiny")[2]["limit"] == "time"
    child = int(stderr.split("child ")[1].split()[0])
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == "zombie"


def test_deaf_stage_without_a_program_is_exit_5(start: Start, tmp_path: Path) -> None:
    """Nothing was complete: one line, no run directory."""
    process = start("deaf", "--time-limit", "2", "--progress", "none")
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 5
    assert stderr.splitlines()[-1].startswith("error: tiny: the limit was reached before any")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_deaf_stage_is_abandoned_soon_after_a_signal(
    number: signal.Signals, start: Start, tmp_path: Path
) -> None:
    """There is nothing to write: two seconds are enough, and the message names the signal's way."""
    process = start("deaf", "--progress", "none")
    child = int(_lines_until(process, "child ")[-1].split()[1])
    before = time.monotonic()
    process.send_signal(number)
    _, stderr = process.communicate(timeout=30)
    assert time.monotonic() - before < 4
    assert process.returncode == 128 + number
    assert stderr == "error: tiny: interrupted before any program was complete\n"
    assert not (tmp_path / "runs").exists()
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == "zombie"


def test_refusal_after_a_signal_names_the_signal(start: Start) -> None:
    """A pipeline that hears the signal and has nothing says so as the command does."""
    process = start("empty", "--progress", "none")
    _lines_until(process, "stage runs")
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 143
    assert stderr.splitlines()[-1] == "error: tiny: interrupted before any program was complete"
