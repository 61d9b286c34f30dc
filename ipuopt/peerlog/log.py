"""What a log holds once it is read: events in the order of the file, and what lies between."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Status(StrEnum):
    """How the logged run ended."""

    PASS = "pass"  # the program ran on the device
    BUILT = "built"  # the package was written, nothing was run
    FAIL = "fail"  # the device test says so
    PANIC = "panic"
    CUT = "cut"  # nothing marks an end


@dataclass(frozen=True, slots=True)
class Span:
    """One span of an event's context."""

    name: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Event:
    """One event; values are texts as printed, without the quotes of strings.

    Attributes
    ----------
    time
        UTC with six decimals, as printed. Not monotonic in a file.
    level, message, fields
        Of the event itself.
    spans
        Context, outermost first.
    """

    time: str
    level: str
    spans: tuple[Span, ...]
    message: str
    fields: Mapping[str, str]

    def text(self, key: str) -> str | None:
        """Value of a field; None without it."""
        return self.fields.get(key)

    def integer(self, key: str) -> int | None:
        """Value of a field that is a decimal integer; None otherwise."""
        return integer(self.fields.get(key))

    def flag(self, key: str) -> bool | None:
        """Value of a field that is ``true`` or ``false``; None otherwise."""
        return {"true": True, "false": False}.get(self.fields.get(key, ""))


@dataclass(frozen=True, slots=True)
class Output:
    """One record of standard output, ``key=value`` each; ``after`` counts the events before it."""

    after: int
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Panic:
    """Where the program died, and its message."""

    place: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """A log file.

    Attributes
    ----------
    name
        What the tables call the file: its leading digits, or its stem.
    form
        ``"text"`` or ``"json"``.
    events, outputs
        In the order of the file.
    command
        Command line that cargo printed; the only place with the dimensions of the workload.
    panic
        None where the program did not panic.
    unread
        What was not understood, as text of the file.
    """

    name: str
    form: str
    events: tuple[Event, ...]
    outputs: tuple[Output, ...] = ()
    command: str | None = None
    panic: Panic | None = None
    unread: tuple[str, ...] = field(default=())

    @property
    def status(self) -> Status:
        """How the logged run ended."""
        if self.panic is not None:
            return Status.PANIC
        tests = [value for output in self.outputs if (value := output.fields.get("hardwareTest"))]
        if tests:
            return Status.PASS if set(tests) == {"PASS"} else Status.FAIL
        messages = {event.message for event in self.events}
        if "application package written" in messages and "loading application" not in messages:
            return Status.BUILT
        return Status.CUT


_INTEGER = re.compile(r"-?[0-9]{1,18}")


def integer(text: str | None) -> int | None:
    """Integer of a printed decimal; None for anything else."""
    return int(text) if text is not None and _INTEGER.fullmatch(text) else None
