"""Plain lines of a log: standard output of the program, cargo, and a panic."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from ipuopt.peerlog.log import Output, Panic
from ipuopt.peerlog.text import PANIC, Gap

_FIRST_KEYS = (
    "referencePrecision",
    "profile",
    "referenceMinimumCosineSimilarity",
    "referenceInference",
    "referenceMaximumAbsoluteError",
    "package",
    "snapshot",
    "phase",
    "totalMs",
    "workload",
    "exchangeSchedule",
)
"""First keys of the records that the program prints; they part records that lost their lines."""

_CARGO = re.compile(r"(?:Compiling \S+ v\S+|Finished `|Running `)")
_START = re.compile(
    rf"(?:^|(?<=\s))(?=(?:{'|'.join(_FIRST_KEYS)})=|{_CARGO.pattern})", re.MULTILINE
)
_RECORD = re.compile(r"[A-Za-z_]\w*=\S*(?: [A-Za-z_]\w*=\S*)*")
_COMMAND = re.compile(r"Running `([^`]*)`")
_NOTE = "note: run with `RUST_BACKTRACE=1`"


@dataclass(slots=True)
class Plain:
    """Collects what lies between the events."""

    outputs: list[Output] = field(default_factory=list)
    command: str | None = None
    panic: Panic | None = None
    cargo: int = 0
    unread: list[str] = field(default_factory=list)

    def add(self, gap: Gap, events: int) -> None:
        """Read the text of ``gap``, which stands behind the first ``events`` events."""
        if gap.cut:
            self.unread.append(gap.text)
            return
        text = gap.text
        panic = PANIC.search(text)
        if panic is not None:
            self._panic(text[panic.start() :])
            text = text[: panic.start()]
        for piece in _pieces(text):
            if _RECORD.fullmatch(piece) and piece.partition("=")[0] in _FIRST_KEYS:
                pairs = (pair.partition("=") for pair in piece.split(" "))
                self.outputs.append(Output(events, {key: value for key, _, value in pairs}))
            elif _CARGO.match(piece):
                self.cargo += 1
                command = _COMMAND.match(piece)
                self.command = command[1] if command else self.command
            else:
                self.unread.append(piece)

    def _panic(self, text: str) -> None:
        """``thread NAME (NUMBER) panicked at FILE:LINE:COLUMN: MESSAGE``, then a note."""
        said = " ".join(PANIC.sub("", text, count=1).partition(_NOTE)[0].split())
        place, _, message = said.partition(": ")
        self.panic = Panic(place.rstrip(":"), message)


def _pieces(text: str) -> Iterator[str]:
    """Records and lines of a text whose line ends may have been lost."""
    for line in text.splitlines():
        starts = [match.start() for match in _START.finditer(line)]
        bounds = [0, *(start for start in starts if start), len(line)]
        for begin, end in pairwise(bounds):
            if piece := line[begin:end].strip():
                yield piece
