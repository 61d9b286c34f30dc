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
    WIDE,
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
    MOVED,
    BAD_POINTER,
    CLASH,
    FETCH_CLASH,
    EARLY_END,
    SELECTED,
    RESTART,
    TOO_LONG,
) = range(1, 23)
"""What a phase can do wrong; :data:`ipuopt.device.faults.FAULTS` says it in words."""
MOST_EVENTS = 1 << 22
"""Longest phase that is followed; far above any schedule."""
RING = 256
"""Events that words stay on the fabric; more than any route takes."""
QUEUE = 256
"""Selections of a tile that have not acted yet; more than events in their latency."""
FIRST = 8
WAYS = 3
(PC, LEFT, ADDRESS, CONTROL, SENDING, OPENS, AT, POINTER, ACTIVE, HEAD, TAIL, LAST, DONE,
 PENDING, ROW) = range(15)  # fmt: skip
COLUMNS = ROW + 1
XPIC, XPIC_VALUE, PIC, PIC_VALUE = range(4)
