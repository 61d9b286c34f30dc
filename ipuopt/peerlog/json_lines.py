"""Events in the JSON form of a log: one object an event, other output between them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ipuopt.peerlog.event import Event, Span
from ipuopt.peerlog.text import Gap

_OBJECT = re.compile(r'\{\s*"')
_DECODER = json.JSONDecoder()
_OWN = frozenset({"timestamp", "level", "target", "span", "spans", "fields", "message"})
"""Keys of the object that are no fields where the writer was told to flatten them."""
_DECORATION = frozenset({"threadName", "threadId", "filename", "line_number"})


def parts(text: str) -> Iterator[Event | Gap]:
    """Events and the text between them, in order; lost line ends do not matter."""
    position = kept = 0
    while (start := _OBJECT.search(text, position)) is not None:
        try:
            data, end = _DECODER.raw_decode(text, start.start())
        except (json.JSONDecodeError, RecursionError):
            line_end = text.find("\n", start.start())
            end = len(text) if line_end < 0 else line_end
            yield from _between(text[kept : start.start()])
            yield Gap(text[start.start() : end], cut=True)
        else:
            event = _event(data)
            if event is None:
                position = end
                continue
            yield from _between(text[kept : start.start()])
            yield event
        position = kept = end
    yield from _between(text[kept:])


def _between(text: str) -> Iterator[Gap]:
    if text.strip():
        yield Gap(text)


def _event(data: Mapping[str, Any]) -> Event | None:
    """Event of an object; None if it is none."""
    time, level = data.get("timestamp"), data.get("level")
    fields = data.get("fields")
    if not isinstance(fields, Mapping):
        fields = {k: v for k, v in data.items() if k not in _OWN | _DECORATION}
        fields["message"] = data.get("message", "")
    if not isinstance(time, str) or not isinstance(level, str):
        return None
    spans = data.get("spans") or ([data["span"]] if data.get("span") else [])
    context = tuple(
        Span(_text(span.get("name", "")), {k: _text(v) for k, v in span.items() if k != "name"})
        for span in spans
        if isinstance(span, Mapping)
    )
    texts = {key: _text(value) for key, value in fields.items() if key != "message"}
    return Event(time, level, context, _text(fields.get("message", "")), texts)


def _text(value: Any) -> str:
    """The text that the other form prints."""
    return value if isinstance(value, str) else json.dumps(value)
