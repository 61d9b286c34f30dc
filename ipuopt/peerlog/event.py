"""Events of a log, with the spans around them; values as printed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ipuopt.peerlog.table import Cell

_INTEGER = re.compile(r"-?[0-9]{1,18}")


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

    def integers(self, keys: Iterable[str]) -> dict[str, Cell]:
        """Values of several such fields, by their names."""
        return {key: self.integer(key) for key in keys}

    def flag(self, key: str) -> bool | None:
        """Value of a field that is ``true`` or ``false``; None otherwise."""
        return {"true": True, "false": False}.get(self.fields.get(key, ""))


def integer(text: str | None) -> int | None:
    """Integer of a printed decimal; None for anything else."""
    return int(text) if text is not None and _INTEGER.fullmatch(text) else None
