"""Events in the text form of a log, flattened to one line or not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ipuopt.peerlog.event import Event, Span
from ipuopt.peerlog.values import CutError, read_fields

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
"""What a terminal capture adds; removed before anything is split."""

HEAD = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z) +(TRACE|DEBUG|INFO|WARN|ERROR) ", re.ASCII
)
PANIC = re.compile(r"thread '[^']*' (?:\(\d+\) )?panicked at ")
_SPAN = re.compile(r"([A-Za-z_][\w.]*)\{")
_FIRST_KEY = re.compile(r"(?:^| )(?=[A-Za-z_][A-Za-z0-9_]*=)")


@dataclass(frozen=True, slots=True)
class Gap:
    """Text between events; ``cut`` where it is an event that does not end."""

    text: str
    cut: bool = False


def parts(text: str) -> Iterator[Event | Gap]:
    """Events and the text between them, in order.

    Split on the timestamps, never on line ends: three of the five known files have none.
    """
    heads = list(HEAD.finditer(text))
    first = heads[0].start() if heads else len(text)
    if text[:first].strip():
        yield Gap(text[:first])
    for index, head in enumerate(heads):
        end = heads[index + 1].start() if index + 1 < len(heads) else len(text)
        segment = text[head.end() : end]
        line, _, rest = segment.partition("\n")
        panic = PANIC.search(line)
        if panic is not None:
            line, rest = line[: panic.start()], f"{line[panic.start() :]}\n{rest}"
        try:
            event, glued = _event(head[1], head[2], line.rstrip())
        except CutError:
            yield Gap(head[0] + line, cut=True)
        else:
            yield event
            if glued:
                yield Gap(glued)
        if rest.strip():
            yield Gap(rest)


def _event(time: str, level: str, line: str) -> tuple[Event, str]:
    """Event of a line, and what sticks to its end."""
    spans, start = _context(line)
    key = _FIRST_KEY.search(line, start)
    message_end = len(line) if key is None else key.start()
    fields, end = read_fields(line, message_end)
    return Event(time, level, spans, line[start:message_end].strip(), fields), line[end:].strip()


def _context(line: str) -> tuple[tuple[Span, ...], int]:
    """Spans before the message: ``name{fields}:`` each. A message may have a colon itself."""
    spans: list[Span] = []
    position = 0
    while (name := _SPAN.match(line, position)) is not None:
        fields, end = read_fields(line, name.end())
        if end == len(line):
            raise CutError
        if not line.startswith("}:", end):
            break
        spans.append(Span(name[1], fields))
        position = end + 2
    return tuple(spans), position
