"""What the commands that search share: settings, limits, and the way to the last result."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ipuopt.cli.interrupts import Interrupts
from ipuopt.cli.overdue import Overdue, OverdueError, end_process
from ipuopt.cli.progress import Progress
from ipuopt.cli.streams import as_json_text, fail
from ipuopt.events import Events
from ipuopt.options import SolveOptions, Solver
from ipuopt.settings import Setting, resolve

if TYPE_CHECKING:
    from ipuopt.limits import Limits, Workers

KEPT = 0.05, 3.0
"""Part of the time limit, and most seconds, kept for writing."""

T = TypeVar("T")


def settings_of(flags: Mapping[str, Any], time_limit_s: float) -> dict[str, Setting]:
    """Every option with its origin, for a command with a default time limit of its own.

    Parameters
    ----------
    flags
        Values of the command line by key; None where not given.
    time_limit_s
        The default.
    """
    settings = resolve(flags, os.environ, {})
    if settings["time_limit"].origin == "default":
        settings["time_limit"] = Setting(time_limit_s, "default")
    return settings


def config_text(settings: Mapping[str, Setting], as_json: bool) -> str:
    """Every option with its value and origin, for ``--print-config``."""
    if as_json:
        from ipuopt.rundir import config_of

        return as_json_text(config_of(settings))
    texts = {key: "none" if s.value is None else str(s.value) for key, s in settings.items()}
    wide, value_width = max(map(len, texts)), max(map(len, texts.values()))
    return "\n".join(
        f"{key.ljust(wide)}  {texts[key].ljust(value_width)}  {setting.origin}"
        for key, setting in settings.items()
    )


def limits_of_search(
    options: SolveOptions, events: Events, started: float, *, workers: Workers | None = None
) -> Limits:
    """Limits of all that a command solves; to heuristics alone, any gap is good enough.

    Parameters
    ----------
    started
        :func:`time.monotonic` at the start of the command, for whose whole the time limit holds.
    workers
        For independent parts.
    """
    from ipuopt.limits import limits_of

    limits = limits_of(options, events, started, kept=KEPT, workers=workers)
    return replace(limits, gap=1.0) if options.solver is Solver.HEURISTIC else limits


def last_result(
    work: Callable[[], T],
    shown: Progress,
    interrupts: Interrupts,
    overdue: Overdue[T],
    name: str,
    *,
    within: contextlib.AbstractContextManager[Any] | None = None,
) -> tuple[T, bool]:
    """Result of ``work``, and whether it is only the last complete one of work that goes on.

    Work that goes on is inside a call that nothing can stop: what is left of the command ends
    with :func:`~ipuopt.cli.overdue.end_process`. If there is no complete result either, the
    process ends here, with a message about ``name``. ``within`` is entered around ``work``.

    Raises
    ------
    Error
        What ``work`` raised.
    """
    tick = _announcing(shown, interrupts, overdue)
    try:
        with within or contextlib.nullcontext():
            return interrupts.run(work, tick=tick, patience=overdue.check), False
    except OverdueError as error:
        shown.close()
        if overdue.result is None:
            code = interrupts.exit_code if interrupts.requested() else error.exit_code
            end_process(fail(f"{name}: {error}", code))
        return overdue.result, True
    finally:
        shown.close()


def _announcing(
    shown: Progress, interrupts: Interrupts, overdue: Overdue[Any]
) -> Callable[[], None]:
    """Tick that says once that an interrupt was understood."""
    said = False

    def tick() -> None:
        nonlocal said
        if interrupts.requested() and not said:
            said = True
            shown.message("interrupted; ending with the best plan so far (again: end at once)")
            overdue.interrupted()
        shown.tick()

    return tick
