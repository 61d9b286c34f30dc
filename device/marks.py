"""Numbers that the compiled parts of a phase share: faults, columns of a row's state, marks of words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Small = npt.NDArray[np.int16]
Flags = npt.NDArray[np.int8]

WRITE_LATENCY = 52
"""Events from the source window to the write window on row 0 (ipu21.md 3.1)."""
EARLY_POINTER_WORDS = 52
"""Words of a receive whose pointer is set an event earlier (ipu21.md 3.1)."""
FINE = 0
(
    BAD_WORD,
    ODD_PAIR,
    OUTSIDE_CODE,
    NO_MESSAGE,
    NO_DIRECTION,
    BAD_SEND,
    ON_START,
    BAD_SOURCE,
    CUT,
    LATE,
    SILENT,
    OVERLAP,
    NO_POINTER,
    STRAY,
    BAD_POINTER,
    CLASH,
    FETCH_CLASH,
    EARLY_END,
    SELECTED,
    RESTART,
    TOO_LONG,
    WIDTH,
    FORMAT_OFF,
    FORMAT_ALONE,
    FORMAT_WAY,
    BOTH_SELECT,
    LATE_MEMBER,
    PARTNER,
    PARTNER_END,
    ODD_POINTER,
    TWO_WRITES,
    HELD,
    STILL_ON,
) = range(1, 34)
"""What a phase can do wrong; :data:`ipuopt.device.faults.FAULTS` says it in words."""
MOST_EVENTS = 1 << 22
"""Longest phase that is followed; far above any schedule."""
RING = 256
"""Events that words stay on the fabric; more than any route takes."""
ENDS = 8
"""Messages of a tile that may ask its row to last longer than they do: those of the last events."""
QUEUE = 256
"""Selections of a tile that have not acted yet; more than events in their latency."""
FIRST, ITEMS, WAYS = 8, 4, 3
"""Marks of what leaves a tile: first of its message, 8 bytes, directions (as in ``send``)."""
(PC, LEFT, ADDRESS, CONTROL, SENDING, OPENS, READ, AT, POINTER, ACTIVE, HEAD, TAIL, LAST, DONE,
 PENDING, ROW, PAIR, BEFORE, SINCE, PAIR_HEAD, PAIR_TAIL, HOLDS, OPENED, AHEAD,
 WITH_WORD, FORMAT, LAST_OFF, HEARD,
 FORMAT_PLAN) = range(29)  # fmt: skip
FORMAT_LATENCY = 2
"""Events from "format on" to the first item that is written (ipu21.md 3.2)."""
FORMAT_SLOTS = FORMAT_LATENCY + 1
"""Columns from FORMAT_PLAN on: what the format becomes at the events to come; -1 for no change."""
FORMAT_TAIL = 7
"""Events from "format off" to the end of the row (ipu21.md 3.2)."""
COLUMNS = FORMAT_PLAN + FORMAT_SLOTS
XPIC, XPIC_VALUE, PIC, PIC_VALUE = range(4)
WORDS_OF, ITEMS_OF = range(2)
"""Queues of a tile: sources selected for words, and for items of 8 bytes."""
LANE = 2
"""Physical numbers of partners differ in this bit (ipu21.md 1)."""
