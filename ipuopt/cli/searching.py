"""What the commands that search share: settings, limits, and the way to the last result."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Mapping
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

KEPT_SHARE, KEPT_S = 0.05, 3.0
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


def limits_of(
    options: SolveOptions,
    events: Events,
    started: float,
    *,
    kept: tuple[float, float] = (KEPT_SHARE, KEPT_S),
    workers: Workers | None = None,
) -> Limits:
    """Limits of all that a command solves; the time limit holds for the whole command.

    Parameters
    ----------
    started
        :func:`time.monotonic` at the start of the command.
    kept
        Part of the time limit, and most seconds, that are not for solving.
    workers
        For independent parts.
    """
    from ipuopt.limits import Limits

    limit_s = math.inf if options.time_limit_s is None else options.time_limit_s
    share, most_s = kept
    return Limits(
        deadline=started + limit_s - min(most_s, share * limit_s),
        gap=1.0 if options.solver is Solver.HEURISTIC else options.gap or 0.0,
        threads=options.threads,
        seed=options.seed,
        deterministic=options.deterministic,
        memory_bytes=options.memory_limit_bytes,
        workers=workers,
        should_stop=events.should_stop,
        on_solution=events.on_solution,
        on_bound=events.on_bound,
    )


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
