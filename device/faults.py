"""What a program can do wrong on a device, in words."""

from __future__ import annotations

from collections.abc import Mapping

from ipuopt.device import code, fabric

FAULTS: Mapping[int, tuple[str, str]] = {
    fabric.BAD_WORD: ("row", "found the word {0:#010x}, expected a row instruction"),
    fabric.ODD_PAIR: ("row", "found two words at {0:#x}, expected a multiple of 8"),
    fabric.OUTSIDE_CODE: ("row", "found the row at {0:#x}, expected executable memory"),
    fabric.WIDE: ("wide", "found items of 8 bytes, expected words: they are not simulated"),
    fabric.NO_MESSAGE: ("send", "found a message that goes on, expected one under way"),
    fabric.NO_DIRECTION: ("send", "found a message without a direction, expected 1, 2 or 3"),
    fabric.RESTART: ("send", "found a message that goes on at {0:#x}, expected it as it began"),
    fabric.BAD_SEND: ("memory", "found a send from {0:#x}, expected an address in memory"),
    fabric.ON_START: ("control", "found a control on the first event of a message, expected none"),
    fabric.BAD_SOURCE: ("mux", "found source {0} selected, expected another tile"),
    fabric.CUT: ("mux", "found the mux leaving tile {0} inside a message, expected its end"),
    fabric.LATE: ("mux", "found the mux entering a message of tile {0}, expected its first word"),
    fabric.SILENT: ("window", "found no word from tile {0} in its window, expected one an event"),
    fabric.OVERLAP: ("window", "found a second message of tile {0} in one window, expected one"),
    fabric.NO_POINTER: ("pointer", "found a word from tile {0}, expected a pointer before it"),
    fabric.MOVED: ("pointer", "found a pointer inside a message of tile {0}, expected it before"),
    fabric.BAD_POINTER: ("memory", "found a pointer to {0:#x}, expected an address in memory"),
    fabric.CLASH: ("element", "found a send and a receive in element {0}, expected one access"),
    fabric.FETCH_CLASH: ("element", "found data in element {0} of the row, expected others"),
    fabric.EARLY_END: ("end", "found the end of the row, expected it at event {0} or later"),
    fabric.SELECTED: ("end", "found the end of the row with tile {0} selected, expected none"),
}
"""Label and message of each fault of a phase; a field stands for its detail."""

STOPS: Mapping[int, tuple[str, str]] = {
    code.NO_INSTRUCTION: ("code", "found a word that is no instruction"),
    code.NO_MEMORY: ("memory", "found an access outside memory or off a word"),
    code.NO_CODE: ("code", "found the program counter outside executable memory"),
    code.FORBIDDEN: ("code", "found an instruction that has no place there"),
    code.ENDLESS: ("code", "found code without an end"),
    code.UNANSWERED: ("step", "found a second sans before the first is answered"),
    code.FULL: ("host", "found more words for the host than a batch has"),
}
"""Label and message of what stops the code of a tile."""
