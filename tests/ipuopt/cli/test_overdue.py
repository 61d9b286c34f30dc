"""How long a late run is waited for."""

from __future__ import annotations

import time

import pytest

from ipuopt.cli.overdue import INTERRUPT_GRACE_S, NOTHING_GRACE_S, Overdue, OverdueError

MISSING = "before any schedule"


def late(overdue: Overdue[str]) -> bool:
    try:
        overdue.check()
    except OverdueError:
        return True
    return False


def test_the_message_names_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    overdue: Overdue[str] = Overdue(time.monotonic() - 20, 10.0, MISSING)
    with pytest.raises(OverdueError, match=r"^the limit was reached before any schedule$"):
        overdue.check()
    overdue = Overdue(time.monotonic(), None, MISSING)
    overdue.interrupted()
    later = time.monotonic() + 60
    monkeypatch.setattr(time, "monotonic", lambda: later)
    with pytest.raises(OverdueError, match=r"^interrupted before any schedule$"):
        overdue.check()


@pytest.mark.parametrize(
    ("over_s", "known", "expected"),
    [(0.9, True, False), (1.1, True, True), (1.9, False, False), (2.1, False, True)],
)
def test_a_first_result_is_waited_for_longer(over_s: float, known: bool, expected: bool) -> None:
    """A limit of 10 s holds within a tenth and one second, or two while there is nothing."""
    overdue: Overdue[str] = Overdue(time.monotonic() - 10 * 1.1 - over_s, 10.0, MISSING)
    if known:
        overdue.keep("a schedule")
    assert late(overdue) is expected


def test_a_result_that_came_late_ends_the_wait() -> None:
    overdue: Overdue[str] = Overdue(time.monotonic() - 10 * 1.1 - 1.5, 10.0, MISSING)
    assert not late(overdue)
    overdue.keep("a schedule")
    assert late(overdue)


@pytest.mark.parametrize("known", [False, True])
def test_an_interrupt_shortens_the_wait(known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    overdue: Overdue[str] = Overdue(time.monotonic(), None, MISSING)
    if known:
        overdue.keep("a schedule")
    overdue.interrupted()
    now, grace_s = time.monotonic(), INTERRUPT_GRACE_S if known else NOTHING_GRACE_S
    for after_s in (-0.5, 0.5):
        monkeypatch.setattr(time, "monotonic", lambda at=now + grace_s + after_s: at)
        assert late(overdue) is (after_s > 0)
