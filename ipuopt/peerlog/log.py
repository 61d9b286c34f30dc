"""What a log holds once it is read: events in the order of the file, and what lies between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from ipuopt.peerlog.event import Event
from ipuopt.peerlog.messages import LOADING, PACKAGE_WRITTEN
from ipuopt.peerlog.places import Place


class Status(StrEnum):
    """How the logged run ended."""

    PASS = "pass"  # the program ran on the device
    BUILT = "built"  # the package was written, nothing was run
    FAIL = "fail"  # the device test says so
    PANIC = "panic"
    CUT = "cut"  # nothing marks an end


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
    places
        Where each of the events belongs.
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
    places: tuple[Place, ...]
    outputs: tuple[Output, ...] = ()
    command: str | None = None
    panic: Panic | None = None
    unread: tuple[str, ...] = ()

    def placed(self) -> Iterator[tuple[Event, Place]]:
        """Events with their places."""
        return zip(self.events, self.places, strict=True)

    @property
    def status(self) -> Status:
        """How the logged run ended."""
        if self.panic is not None:
            return Status.PANIC
        tests = [value for output in self.outputs if (value := output.fields.get("hardwareTest"))]
        if tests:
            return Status.PASS if set(tests) == {"PASS"} else Status.FAIL
        messages = {event.message for event in self.events}
        if PACKAGE_WRITTEN in messages and LOADING not in messages:
            return Status.BUILT
        return Status.CUT
