"""Options of a solve: their names, ranges and defaults; :mod:`ipuopt.settings` reads their values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from ipuopt.processors import MAX_THREADS, available_threads
from ipuopt.quantities import flag, fraction, seconds, size_bytes, whole

MAX_SECONDS = 365 * 86400.0
MAX_SEED = 2**31 - 1
"""Largest seed that every solver takes."""
MIN_MEMORY_BYTES = 64 << 20
"""Less than the interpreter with numpy and a solver loaded."""
DEFAULT_TIME_LIMIT_S = 300.0

Word = TypeVar("Word", bound=StrEnum)


class Solver(StrEnum):
    """Which back end proves and improves; HEURISTIC starts none."""

    AUTO = "auto"
    CPSAT = "cpsat"
    HIGHS = "highs"
    HEURISTIC = "heuristic"


class SpaceKind(StrEnum):
    """Which plans are searched: all of ours under our prices, or the public compiler's under its."""

    FULL = "full"
    PEER = "peer"


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveOptions:
    """What a solve may use and how it searches.

    Attributes
    ----------
    time_limit_s
        Wall clock of the whole run in seconds, above 0; None for no limit.
    gap
        Stop once proven within it, 0..1; None to search until optimal.
    threads
        Threads or processes, at least 1.
    seed
        Seed of every random choice, 0..2^31 - 1.
    deterministic
        Repeatable mode, see :class:`ipuopt.limits.Limits`.
    memory_limit_bytes
        Memory of the whole process; None for no limit.
    solver
        See :class:`Solver`.
    space
        See :class:`SpaceKind`.
    cluster
        Address of a Dask scheduler on whose workers independent parts run; None for processes of
        this machine.

    Raises
    ------
    ValueError
        For a value out of its range.
    """

    time_limit_s: float | None = DEFAULT_TIME_LIMIT_S
    gap: float | None = None
    threads: int = field(default_factory=available_threads)
    seed: int = 0
    deterministic: bool = False
    memory_limit_bytes: int | None = None
    solver: Solver = Solver.AUTO
    space: SpaceKind = SpaceKind.FULL
    cluster: str | None = None

    def __post_init__(self) -> None:
        for option in OPTIONS:
            value = getattr(self, option.field)
            try:
                object.__setattr__(self, option.field, option.parse(value))
            except ValueError as error:
                raise ValueError(f"{option.field}: found {value!r}, expected {error}") from None


@dataclass(frozen=True, slots=True)
class Option:
    """One option in all the places where it can be set.

    Attributes
    ----------
    key
        Key in the ``solve:`` section; ``--time-limit`` and ``IPUOPT_TIME_LIMIT`` follow from it.
    field
        Name in :class:`SolveOptions`.
    parse
        Value from text or number; raises ``ValueError`` with what would be right.
    metavar, help
        For ``--help``.
    """

    key: str
    field: str
    parse: Callable[[object], Any]
    metavar: str
    help: str

    @property
    def flag(self) -> str:
        """``"--time-limit"``."""
        return "--" + self.key.replace("_", "-")

    @property
    def negation(self) -> str:
        """``"--no-deterministic"``: the flag that turns an option without a value off."""
        return f"--no-{self.flag.removeprefix('--')}"

    @property
    def variable(self) -> str:
        """``"IPUOPT_TIME_LIMIT"``."""
        return f"IPUOPT_{self.key.upper()}"


def _optional(parse: Callable[[object], Any]) -> Callable[[object], Any]:
    """Also takes None and ``"none"``, which lift the limit."""

    def parse_or_none(value: object) -> Any:
        if value is None or (isinstance(value, str) and value.strip().casefold() == "none"):
            return None
        try:
            return parse(value)
        except ValueError as error:
            raise ValueError(f"{error}, or none") from None

    return parse_or_none


def _time_limit(value: object) -> float:
    limit = seconds(value)
    if not 0 < limit <= MAX_SECONDS:
        raise ValueError(f"a duration above 0 and up to {MAX_SECONDS:.0f} s")
    return limit


def _memory_limit(value: object) -> int:
    limit = size_bytes(value)
    if limit < MIN_MEMORY_BYTES:
        raise ValueError(f"at least {MIN_MEMORY_BYTES >> 20}MiB")
    return limit


def _one_of(words: type[Word]) -> Callable[[object], Word]:
    """Reads one of a few words."""
    *most, last = list(words)

    def parse(value: object) -> Word:
        if isinstance(value, str) and value in set(words):
            return words(value)
        raise ValueError(f"{', '.join(most)} or {last}")

    return parse


def _address(value: object) -> str:
    if isinstance(value, str) and ":" in value and not any(map(str.isspace, value)):
        return value
    raise ValueError("an address such as tcp://192.0.2.1:8786")


OPTIONS = (
    Option(
        "time_limit",
        "time_limit_s",
        _optional(_time_limit),
        "60|90s|2m|1h",
        f"Wall clock of the whole command, or none.  [default: {DEFAULT_TIME_LIMIT_S:.0f}s]",
    ),
    Option(
        "gap", "gap", _optional(fraction), "FRACTION", "Stop when proven within this gap (0.01)."
    ),
    Option(
        "threads",
        "threads",
        lambda value: whole(value, 1, MAX_THREADS),
        "N",
        "Threads to use.  [default: the CPUs this process may use]",
    ),
    Option(
        "seed",
        "seed",
        lambda value: whole(value, 0, MAX_SEED),
        "N",
        "Seed of every random choice.  [default: 0]",
    ),
    Option("deterministic", "deterministic", flag, "", "Same files from every run."),
    Option(
        "memory_limit",
        "memory_limit_bytes",
        _optional(_memory_limit),
        "SIZE",
        "Memory of the process (4GiB), or none.  [default: none]",
    ),
    Option(
        "solver",
        "solver",
        _one_of(Solver),
        "|".join(Solver),
        "Back end; heuristic starts none.  [default: auto]",
    ),
    Option(
        "space",
        "space",
        _one_of(SpaceKind),
        "|".join(SpaceKind),
        "Plans to search; peer: the public compiler's own.  [default: full]",
    ),
    Option(
        "cluster",
        "cluster",
        _optional(_address),
        "ADDRESS",
        "Dask scheduler on whose workers independent parts run.  [default: none]",
    ),
)
"""Every option, in the order of ``--help``."""
