"""Limits of one run, handed down to every stage and solver."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from ipuopt.events import Events
    from ipuopt.options import SolveOptions

T = TypeVar("T")
R = TypeVar("R")


def _never() -> bool:
    return False


def _ignore(stage: str, value: int) -> None:
    del stage, value


class Workers(Protocol):
    """Where independent jobs run side by side: :class:`ipuopt.solvers.parallel.Workers`."""

    @property
    def remote(self) -> bool:
        """Whether jobs leave this machine's share of processors."""

    def width(self, limits: Limits) -> int:
        """Jobs that run side by side under ``limits``."""

    def run(
        self, function: Callable[[T, Limits], R], jobs: Sequence[T], limits: Limits
    ) -> list[R | None]:
        """Answers in the order of the jobs; None where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a solve may use, and whom it tells.

    Attributes
    ----------
    deadline
        Value of :func:`time.monotonic` at which the caller wants the result; infinity for none.
    budget_s
        Seconds of the whole run as they were asked for. What depends on the time in repeatable
        mode depends on this alone, never on the clock.
    gap
        Stop once ``(objective - bound) / max(1, objective)`` is proven to be at most this.
    threads
        Threads or processes the solve may use, at least 1.
    seed
        Seed of every random choice.
    deterministic
        Repeatable mode: one worker where a solver is only then repeatable, effort limited by
        deterministic counters; the deadline stays as an emergency stop.
    effort
        Part of those counters that one solve may use, for plans that come after the first.
    memory_bytes
        Memory the whole process may use; None for no limit.
    workers
        For independent parts of a solve; None to do all of them in this process.
    should_stop
        Polled; true ends the search with the incumbent.
    on_solution, on_bound
        Called with the stage's name and a new incumbent or bound.
    """

    deadline: float = math.inf
    budget_s: float = math.inf
    gap: float = 0.0
    threads: int = 1
    seed: int = 0
    deterministic: bool = False
    effort: float = 1.0
    memory_bytes: int | None = None
    workers: Workers | None = None
    should_stop: Callable[[], bool] = _never
    on_solution: Callable[[str, int], None] = _ignore
    on_bound: Callable[[str, int], None] = _ignore

    def remaining_s(self) -> float:
        """Seconds to the deadline, at least 0; infinity without one."""
        return max(0.0, self.deadline - time.monotonic())

    def expired(self) -> bool:
        """Whether the deadline has passed or the caller asked to stop."""
        return self.should_stop() or time.monotonic() >= self.deadline

    def unheard(self) -> Limits:
        """Same limits, with nobody told.

        For a solver whose answers are checked first, and for a part whose objective is not that of
        the whole.
        """
        return replace(self, on_solution=_ignore, on_bound=_ignore)

    def alone(self) -> Limits:
        """Same limits, with nobody told, asked or at hand; they travel to other processes."""
        return replace(self.unheard(), workers=None, should_stop=_never)

    def within(self, seconds: float) -> Limits:
        """Same limits, with a deadline at most ``seconds`` from now."""
        return replace(self, deadline=min(self.deadline, time.monotonic() + seconds))


def limits_of(
    options: SolveOptions,
    events: Events,
    started_s: float,
    *,
    kept: tuple[float, float],
    workers: Workers | None = None,
) -> Limits:
    """Limits of a run with these options.

    Parameters
    ----------
    events
        Whom to tell of incumbents and bounds, and who may stop the run.
    started_s
        :func:`time.monotonic` at which the time limit began to run.
    kept
        Part of the time limit, and most seconds, that are not for solving.
    workers
        For independent parts.
    """
    limit_s = math.inf if options.time_limit_s is None else options.time_limit_s
    share, most_s = kept
    return Limits(
        deadline=started_s + limit_s - min(most_s, share * limit_s),
        budget_s=limit_s,
        gap=options.gap or 0.0,
        threads=options.threads,
        seed=options.seed,
        deterministic=options.deterministic,
        memory_bytes=options.memory_limit_bytes,
        workers=workers,
        should_stop=events.should_stop,
        on_solution=events.on_solution,
        on_bound=events.on_bound,
    )
