"""Progress on standard error: a live line on a terminal, elsewhere one plain line an event."""

from __future__ import annotations

import os
import queue
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from ipuopt.cli.streams import say
from ipuopt.events import Events
from ipuopt.figures import percent, thousands
from ipuopt.report import gap_of

HEARTBEAT_S = 10.0
"""Longest silence of the plain form."""


class Mode(StrEnum):
    """How progress is shown."""

    AUTO = "auto"
    PLAIN = "plain"
    NONE = "none"


@dataclass(slots=True)
class _Stage:
    name: str
    incumbent: int | None = None
    bound: int | None = None


_Item = tuple[str, str, int]


class Progress:
    """Collects events from any thread; the main thread shows them in :meth:`tick`.

    Parameters
    ----------
    mode
        AUTO is a live line on a terminal that can move its cursor, else PLAIN.
    started
        :func:`time.monotonic` at the start of the command.
    stage
        What is under way until an event names another stage.
    """

    def __init__(self, mode: Mode, started: float, stage: str = "start") -> None:
        self._queue: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        self._started = started
        self._stage = _Stage(stage)
        self._silent = mode is Mode.NONE
        self._live = _LiveLine() if mode is Mode.AUTO and _can_move_cursor() else None
        self._last_s = started
        self._shown = ""

    def events(self, should_stop: Callable[[], bool]) -> Events:
        """Callbacks that feed this object."""
        put = self._queue.put
        return Events(
            on_solution=lambda stage, value: put(("solution", stage, value)),
            on_bound=lambda stage, value: put(("bound", stage, value)),
            on_stage=lambda stage: put(("stage", stage, 0)),
            on_message=lambda text: put(("message", text, 0)),
            should_stop=should_stop,
        )

    def message(self, text: str) -> None:
        """Show one line for people."""
        self._queue.put(("message", text, 0))

    def tick(self) -> None:
        """Show what has come since the last call; call it about ten times a second."""
        changed = False
        while not self._queue.empty():
            kind, text, value = self._queue.get()
            if kind == "message":
                self._emit(self._line(f"note: {text}"))
                continue
            if text != self._stage.name:
                if changed:
                    self._event()
                self._stage = _Stage(text)
            if kind == "solution":
                self._stage.incumbent = value
            elif kind == "bound":
                self._stage.bound = value
            changed = True
        if changed:
            self._event()
        if self._live is None and time.monotonic() - self._last_s >= HEARTBEAT_S:
            self._emit(self._line(self._state()))
        if self._live is not None and not self._silent:
            self._live.show(self._line(self._state()))

    def close(self) -> None:
        """Take the live line away."""
        if self._live is not None:
            self._live.close()

    def _event(self) -> None:
        state = self._state()
        if self._live is None and state != self._shown:
            self._shown = state
            self._emit(self._line(state))

    def _state(self) -> str:
        stage = self._stage
        if stage.incumbent is None and stage.bound is None:
            return stage.name
        gap = percent(gap_of(stage.incumbent, stage.bound))
        figures = f"incumbent {thousands(stage.incumbent)}  bound {thousands(stage.bound)}"
        return f"{stage.name}  {figures}  gap {gap}"

    def _line(self, text: str) -> str:
        return f"{time.monotonic() - self._started:7.1f} s  {text}"

    def _emit(self, line: str) -> None:
        self._last_s = time.monotonic()
        if self._silent:
            return
        if self._live is not None:
            self._live.print(line)
        else:
            say(line)


def _can_move_cursor() -> bool:
    terminal = os.environ.get("TERM", "")
    return sys.stderr is not None and sys.stderr.isatty() and terminal not in ("", "dumb")


class _LiveLine:
    """One line that is drawn over itself."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        self._text = Text
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._live.start()

    def show(self, line: str) -> None:
        self._live.update(self._text(line, no_wrap=True, overflow="crop"), refresh=True)

    def print(self, line: str) -> None:
        self._console.print(self._text(line))

    def close(self) -> None:
        self._live.stop()
