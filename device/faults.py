"""What a program can do wrong on a device, in words."""

from __future__ import annotations

from collections.abc import Mapping

from ipuopt.device import code, marks

FAULTS: Mapping[int, tuple[str, str]] = {
    marks.BAD_WORD: ("row", "found the word {0:#010x}, expected a row instruction"),
    marks.ODD_PAIR: ("row", "found two words at {0:#x}, expected a multiple of 8"),
    marks.OUTSIDE_CODE: ("row", "found the row at {0:#x}, expected executable memory"),
    marks.NO_MESSAGE: ("send", "found a message that goes on, expected one under way"),
    marks.NO_DIRECTION: ("send", "found a message without a direction, expected 1, 2 or 3"),
    marks.RESTART: ("send", "found a message that goes on at {0:#x}, expected it as it began"),
    marks.BAD_SEND: ("memory", "found a send from {0:#x}, expected an address in memory"),
    marks.ON_START: ("control", "found a control on the first event of a message, expected none"),
    marks.BAD_SOURCE: ("mux", "found source {0} selected, expected another tile"),
    marks.CUT: ("mux", "found the mux leaving tile {0} inside a message, expected its end"),
    marks.LATE: ("mux", "found the mux entering a message of tile {0}, expected its first word"),
    marks.SILENT: ("window", "found no word from tile {0} in its window, expected one an event"),
    marks.OVERLAP: ("window", "found a second message of tile {0} in one window, expected one"),
    marks.NO_POINTER: ("pointer", "found a word from tile {0}, expected a pointer before it"),
    marks.STRAY: (
        "pointer",
        "found a pointer at an event at which no message is due to be written",
    ),
    marks.BAD_POINTER: ("memory", "found a pointer to {0:#x}, expected an address in memory"),
    marks.CLASH: ("element", "found a send and a receive in element {0}, expected one access"),
    marks.FETCH_CLASH: ("element", "found data in element {0} of the row, expected others"),
    marks.EARLY_END: ("end", "found the end of the row, expected it at event {0} or later"),
    marks.TOO_LONG: ("end", "found no end of the row, expected it at event {0} at most"),
    marks.STILL_ON: ("end", "found the end of the row in a receive of items, expected it after"),
    marks.WIDTH: ("width", "found the other width from tile {0}, expected the one selected"),
    marks.FORMAT_OFF: ("format", "found items of tile {0} and the format off, expected it on"),
    marks.FORMAT_ALONE: ("format", "found the format on and no source of the pair, expected both"),
    marks.FORMAT_WAY: ("format", "found another direction than that of tile {0}, expected it"),
    marks.BOTH_SELECT: ("mux", "found sources at both tiles of the pair, expected one"),
    marks.LATE_MEMBER: (
        "mux",
        "found source {0} at the later tile of the pair, expected the other",
    ),
    marks.PARTNER: ("partner", "found a send or receive while the partner sends items of 8 bytes"),
    marks.PARTNER_END: ("partner", "found the partner's row at its end, expected it to last"),
    marks.ODD_POINTER: ("pointer", "found a pointer to {0:#x} for items, expected a multiple of 8"),
    marks.TWO_WRITES: ("window", "found a word and an item from tile {0} at once, expected one"),
    marks.HELD: ("window", "found source {0} selected in a receive of items, expected it after"),
    marks.SELECTED: ("end", "found the end of the row with tile {0} selected, expected none"),
}
"""Label and message of each fault of a phase; a field stands for its detail."""

STOPS: Mapping[int, tuple[str, str]] = {
    code.NO_INSTRUCTION: ("code", "found a word that is no instruction"),
    code.NO_MEMORY: ("memory", "found an access outside memory or off a word"),
    code.NO_CODE: ("code", "found the program counter outside executable memory"),
    code.FORBIDDEN: ("code", "found an instruction that has no place there"),
    code.ENDLESS: ("code", "found code without an end"),
    code.UNKNOWN: ("code", "found a special register that no source names"),
    code.UNANSWERED: ("step", "found a second sans before the first is answered"),
    code.FULL: ("host", "found more words for the host than a batch has"),
}
"""Label and message of what stops the code of a tile."""
