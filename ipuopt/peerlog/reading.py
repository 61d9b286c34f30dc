"""Read a log file of either form."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from ipuopt.errors import InputError
from ipuopt.peerlog import json_lines, text
from ipuopt.peerlog.event import Event
from ipuopt.peerlog.log import Log
from ipuopt.peerlog.messages import KNOWN
from ipuopt.peerlog.places import places
from ipuopt.peerlog.plain import Plain

STANDARD_INPUT = "-"


def read_log(path: Path) -> Log:
    """Read a log; whatever of it cannot be understood is kept in ``unread``.

    Raises
    ------
    InputError
        If the file cannot be read, or nothing in it is of a log of the public compiler.
    """
    content = _content(path)
    form = "text" if text.HEAD.search(content) or '"timestamp"' not in content else "json"
    events: list[Event] = []
    plain = Plain()
    for part in text.parts(content) if form == "text" else json_lines.parts(content):
        if isinstance(part, Event):
            events.append(part)
        else:
            plain.add(part, len(events))
    known = any(event.message in KNOWN for event in events)
    if not (known or plain.outputs or plain.cargo or plain.panic):
        found = f"{len(events)} foreign events" if events else "no event"
        raise InputError(f"{path}: found {found}, expected a log of the public compiler")
    return Log(
        name=_name(path),
        form=form,
        events=tuple(events),
        places=places(events),
        outputs=tuple(plain.outputs),
        command=plain.command,
        panic=plain.panic,
        unread=tuple(plain.unread),
    )


def _content(path: Path) -> str:
    """Text of the file without colours and carriage returns; bytes that are no text stand out."""
    try:
        data = sys.stdin.buffer.read() if str(path) == STANDARD_INPUT else path.read_bytes()
    except OSError as error:
        found = error.strerror or str(error)
        raise InputError(f"{path}: found {found}, expected a log of the public compiler") from None
    content = data.decode("utf-8", errors="replace").replace("\r\n", "\n")
    return text.COLOURS.sub("", content)


def _name(path: Path) -> str:
    """Leading digits of the file's name, else its stem; ``stdin`` for standard input."""
    if str(path) == STANDARD_INPUT:
        return "stdin"
    digits = re.match(r"\d+(?=_)", path.name)
    return digits[0] if digits else path.stem
