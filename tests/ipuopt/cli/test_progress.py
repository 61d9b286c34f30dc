"""Progress lines: one an event, coalesced within a tick, and a heartbeat in silence."""

from __future__ import annotations

import time

import pytest

from ipuopt.cli import progress
from ipuopt.cli.progress import Mode, Progress
from ipuopt.figures import duration, percent, thousands


def _shown(capsys: pytest.CaptureFixture[str]) -> list[str]:
    captured = capsys.readouterr()
    assert captured.out == ""
    return [line[11:] for line in captured.err.splitlines()]


def test_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    shown = Progress(Mode.PLAIN, time.monotonic())
    events = shown.events(lambda: False)
    shown.tick()
    assert _shown(capsys) == []
    events.on_stage("mapping")
    shown.tick()
    for value in range(1000, 900, -1):
        events.on_solution("mapping", value)
    shown.tick()
    events.on_solution("mapping", 901)
    shown.tick()  # nothing new, no line
    events.on_bound("mapping", 901)
    events.on_stage("exchange 0")
    events.on_solution("exchange 1", 12_345)
    shown.tick()
    assert _shown(capsys) == [
        "mapping",
        "mapping  incumbent 901  bound -  gap -",
        "mapping  incumbent 901  bound 901  gap 0.0 %",
        "exchange 0",
        "exchange 1  incumbent 12 345  bound -  gap -",
    ]


def test_heartbeat(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "HEARTBEAT_S", 0.05)
    shown = Progress(Mode.PLAIN, time.monotonic())
    shown.events(lambda: False).on_stage("mapping")
    shown.tick()
    shown.tick()
    assert _shown(capsys) == ["mapping"]
    time.sleep(0.06)
    shown.tick()
    shown.tick()
    assert _shown(capsys) == ["mapping"]


def test_silence(capsys: pytest.CaptureFixture[str]) -> None:
    shown = Progress(Mode.NONE, time.monotonic() - 100)
    shown.message("unheard")
    shown.events(lambda: False).on_solution("mapping", 1)
    shown.tick()
    shown.close()
    assert _shown(capsys) == []


def test_figures() -> None:
    assert [thousands(value) for value in (None, 0, 999, 1000, 1234567)] == [
        "-",
        "0",
        "999",
        "1 000",
        "1 234 567",
    ]
    gaps = (None, 0.0, 1e-9, 0.0004, 0.0006, 0.0231, 1.0)
    expected = ["-", "0.0 %", "<0.1 %", "<0.1 %", "0.1 %", "2.3 %", "100.0 %"]
    assert [percent(gap) for gap in gaps] == expected
    times = (0.0, 9.94, 9.96, 59.6, 599.4, 720.0)
    assert [duration(value) for value in times] == [
        "0.0 s",
        "9.9 s",
        "10 s",
        "60 s",
        "599 s",
        "12 min",
    ]
