"""Callbacks of a run; every one may be called from any thread and must return quickly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ipuopt.result import Result


def _ignore_value(stage: str, value: int) -> None:
    del stage, value


def _ignore_text(text: str) -> None:
    del text


def _ignore_result(result: Result) -> None:
    del result


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """Whom a run tells, and who may stop it.

    Attributes
    ----------
    on_solution, on_bound
        Called with the stage's name and a new incumbent or bound.
    on_stage
        Called with the name of a stage that begins.
    on_message
        Called with one line for people: a fallback, a refused answer.
    on_result
        Called with a complete, checked program before the search is over: what to keep if the run
        has to be cut off.
    should_stop
        Polled; true ends the run with the best plan so far.
    """

    on_solution: Callable[[str, int], None] = _ignore_value
    on_bound: Callable[[str, int], None] = _ignore_value
    on_stage: Callable[[str], None] = _ignore_text
    on_message: Callable[[str], None] = _ignore_text
    on_result: Callable[[Result], None] = _ignore_result
    should_stop: Callable[[], bool] = _never
