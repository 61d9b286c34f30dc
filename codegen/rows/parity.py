"""Where a row can be padded so that every two-word instruction starts at an even word.

Rule 6 of ``ipu21.md`` 3.3. The words before a step depend on ``b``, the end of the last
instruction that could not have been elsewhere: a control or a message that starts when idle, and
the start of the last instruction within a message. With ``x`` events from b to a step:

=========  ========  =====================================================================
context    step      words that pad it, besides those that the step itself needs
=========  ========  =====================================================================
idle       control   0 .. x - 1: plain delays before the delay that carries the control
idle       pair      g = x - 1 events before ``sendpicp``: min(1, g) .. g; 0 .. g after an
                     idle ``sendpicp``, which can last longer
idle       start     likewise with g = x
message    control   0 .. x - 2 more pieces of what is sent before
message    end       0 .. x - 1
=========  ========  =====================================================================

From two events of room on both parities are within reach, so x is kept up to 3.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ipuopt.codegen.rows.steps import CONTROL, START
from ipuopt.compiled import kernel
from ipuopt.models.exchange.problem import BoolArray, IntArray

MaskArray = npt.NDArray[np.uint16]

EVEN, ODD, BOTH = 1, 2, 3
"""Sets of parities as bits."""
ANY_STATE = 0xFFFF


@kernel
def padding(inside: bool, kind: int, pair: bool, x: int, stretch: bool) -> int:
    """Parities that padding before a step can have, as bits; 0 where the step cannot be.

    Parameters
    ----------
    inside
        Whether a message is under way.
    kind, pair
        Of the step; a pair has a PIC and an XPIC control.
    x
        Events from b to the step.
    stretch
        Whether the instruction before is an idle ``sendpicp``.
    """
    if inside:
        room = x - 2 if kind == CONTROL else x - 1
    elif kind == CONTROL and not pair:
        room = x - 1
    else:
        room = x if kind == START else x - 1
        if room == 1 and not stretch:
            return ODD
    if room < 0:
        return 0
    return EVEN if room == 0 else BOTH


@kernel
def state(x: int, stretch: bool, words: int) -> int:
    """Number 0..15 of what decides the rest of a row."""
    return 4 * min(max(x, 0), 3) + 2 * int(stretch) + (words & 1)


@kernel
def after(inside: bool, kind: int) -> int:
    """Events from b to a step once it is done: a control in a message starts one earlier."""
    return 1 if inside and kind == CONTROL else 0


@kernel
def reach(
    event: IntArray,
    kind: IntArray,
    inside: BoolArray,
    xpic: IntArray,
    pic: IntArray,
    optional: BoolArray,
    flexible: bool,
    mask: MaskArray,
) -> None:
    """States before each step from which the rest of the row can be encoded, as bits.

    Parameters
    ----------
    event, kind, xpic, pic, optional
        One row's part of the columns of :class:`Steps`.
    inside
        Whether a message is under way just before a step.
    flexible
        Whether an optional pointer may be kept; dropped otherwise.
    mask
        Result, shape ``(steps,)``.
    """
    stop = len(event)
    for step in range(stop - 1, -1, -1):
        last = step + 1 == stop
        rest = ANY_STATE if last else int(mask[step + 1])
        gap = 3 if last else event[step + 1] - event[step]
        found = 0
        for before in range(16):
            x, stretch, words = before >> 2, (before & 2) != 0, before & 1
            for keep in range(2 if flexible and optional[step] else 1):
                with_pic = pic[step] >= 0 and (keep == 1 or not optional[step])
                pair = with_pic and xpic[step] >= 0
                if kind[step] == CONTROL and not with_pic and xpic[step] < 0:
                    if rest >> state(x + gap, stretch, words) & 1:
                        found |= 1 << before
                    continue
                ways = padding(inside[step], kind[step], pair, x, stretch)
                idle_pair = pair and not inside[step]
                for odd in range(2):
                    count = words + odd
                    if not ways >> odd & 1 or (pair and count & 1):
                        continue
                    # One word for the step itself, two for a pair, none for an end.
                    count += 1 if not pair and (kind[step] == CONTROL or kind[step] == START) else 0
                    x_next = after(inside[step], kind[step]) + gap
                    if rest >> state(x_next, idle_pair, count) & 1:
                        found |= 1 << before
        mask[step] = found
