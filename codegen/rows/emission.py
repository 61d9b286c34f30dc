"""Words of rows from their steps: the canonical ones, or others where those meet an odd word.

Canonical rows are those of ``ipu21.md`` 4, at its end: what they pad, they pad in the gap before
a pair. With the states of :func:`reach`, a row is padded as late as possible.
"""

from __future__ import annotations

import numpy as np

from ipuopt.codegen.isa import WordArray
from ipuopt.codegen.rows.instructions import END_OF_ROW, SENDPIC_FORMS, TABLE
from ipuopt.codegen.rows.parity import ANY_STATE, BOTH, MaskArray, after, padding, state
from ipuopt.codegen.rows.steps import CONTROL, END, START
from ipuopt.compiled import kernel, small_kernel
from ipuopt.models.exchange.problem import BoolArray, IntArray

_DELAY, _LONG = TABLE["delay"].code, TABLE["delay"].longest
_DELAY_PIC, _LONG_PIC = TABLE["delaypic"].code, TABLE["delaypic"].longest
_DELAY_XPIC, _LONG_XPIC = TABLE["delayxpic"].code, TABLE["delayxpic"].longest
_SEND, _SEND_ON = TABLE["send"].code, TABLE["sendoff"].code
_SEND_CONTROL, _SEND_PAIR = TABLE["sendpic"].code, TABLE["sendpicp"].code
_LONG_ON = TABLE["sendoff"].longest
_SHORT = TABLE["send"].longest
"""Items of ``send``, ``sendpic`` and ``sendpicp`` alike."""
_PIC_N, _XPIC_N = TABLE["delaypic"].shift("n"), TABLE["delayxpic"].shift("n")
_ITEMS = TABLE["send"].shift("n")
"""Shift of n in ``send``, ``sendpic`` and ``sendpicp`` alike."""
_ADDRESS = TABLE["send"].shift("a")
_CONTROL_MASK = (1 << _ADDRESS) - 1
_ON_HIGH = TABLE["sendoff"].fields[0].parts[1][0]
_FORMAT = TABLE["delaypic"].shift("sel")
_PAIRED = TABLE["delayxpic"].shift("sel")
_FORM = TABLE["sendpic"].shift("sel")
_PAIR_FORMAT = TABLE["sendpicp"].shift("pic_sel")
_PAIR_XPIC = TABLE["sendpicp"].shift("xpic_v")


@kernel
def _wait(
    x: int, controls: int, longest: int, stretch: bool, extra: int
) -> tuple[int, int, int, int]:
    """How an idle gap is filled.

    Parameters
    ----------
    x, stretch
        As :func:`padding`.
    controls
        Control events of the step; a single one is carried by its delay.
    longest
        Longest delay that carries it.
    extra
        1 for one word more than needed.

    Returns
    -------
    tuple
        Events that the ``sendpicp`` before lasts longer; events of plain delays and their number;
        events of the delay that carries the control.
    """
    # The last event before a pair belongs to the pair's own instruction.
    gap = x - 1 if controls == 2 else x
    longer = min(_SHORT - 1, gap - 1 if controls == 1 else gap) if stretch else 0
    gap -= longer
    carried = min(gap, longest) if controls == 1 else 0
    pieces = (gap - carried + _LONG - 1) // _LONG + extra
    if stretch and extra == 1 and gap < 2:
        # Room for the word comes from the instruction before.
        longer, gap = longer - 1, gap + 1
    if controls == 1:
        carried = min(gap, longest) - extra
    return longer, gap - carried, pieces, carried


@kernel
def _message(
    words: WordArray, at: int, head: int, items: int, control: int, opens: bool, extra: int
) -> int:
    """Lengths of the pieces of a message up to its next control or its end.

    Parameters
    ----------
    head
        Word of the instruction under way, its length still 1.
    items
        From the start of that instruction on.
    control
        Of the message.
    opens
        Whether that instruction is the ``send`` that opens the message.
    extra
        1 to write one piece more than needed.
    """
    plain = max(0, items - _SHORT + _LONG_ON - 1) // _LONG_ON + extra
    first = min(_SHORT, items - plain)
    # The last piece of two items or more becomes (1, rest); a control's own piece (rest, 1).
    if extra == 1 and opens and items <= _SHORT + 1:
        first = 1
    words[head] += np.uint32((first - 1) << _ITEMS)
    rest = items - first
    for later in range(plain - 1, -1, -1):
        # As long as it may be, but each later piece gets an item.
        now = min(_LONG_ON, rest - later)
        if extra == 1 and later == 1 and items > _SHORT + 1:
            now = 1
        low, high = (now - 1) % _SHORT, (now - 1) // _SHORT
        words[at] = _SEND_ON + (low << _ITEMS) + (high << _ON_HIGH) + control
        at += 1
        rest -= now
    return at


@small_kernel
def write_row(
    done: int,
    event: IntArray,
    kind: IntArray,
    inside: BoolArray,
    xpic: IntArray,
    pic: IntArray,
    optional: BoolArray,
    message: IntArray,
    mask: MaskArray,
    flexible: bool,
    words: WordArray,
) -> tuple[int, int]:
    """Write one row.

    Parameters
    ----------
    done
        Last event of the row.
    event, kind, xpic, pic, optional, message
        Its part of the columns of :class:`Steps`.
    inside
        Whether a message is under way just before a step.
    mask
        States from which the rest of the row can be encoded (:func:`reach`), or all of them.
    flexible
        Whether an optional pointer may be kept; dropped otherwise.
    words
        Result, long enough.

    Returns
    -------
    tuple
        Words of the row and -1, or the step that cannot be encoded.
    """
    # Literal zeros have types of their own, for which each helper would be compiled again.
    zero, no = min(done, 0), done < 0
    at, head, b, base, started, sending = zero, zero, zero, zero, zero, zero
    stretch, opens, reached = no, no, no
    stop = len(event)
    for step in range(stop + 1):
        # Past the last step the row waits for its end.
        last = step == stop
        now, what = (done, END) if last else (event[step], kind[step])
        within, dropping = not last and inside[step], not last and optional[step]
        has_xpic = not last and xpic[step] >= 0
        rest = ANY_STATE if step + 1 >= stop else int(mask[step + 1])
        gap = 3 if step + 1 >= stop else event[step + 1] - now
        x = now - b
        items = x - 1 if what == CONTROL else x
        reached, pair, has_pic = False, False, False
        controls, extra = 0, 0
        for choice in range(4 if flexible and dropping else 2):
            extra = choice & 1
            has_pic = not last and pic[step] >= 0 and (choice >= 2 or not dropping)
            controls = int(has_xpic) + int(has_pic)
            pair = controls == 2
            if what == CONTROL and controls == 0:
                reached = rest >> state(x + gap, stretch, at) & 1 == 1
            else:
                longest = _LONG_PIC if has_pic else _LONG_XPIC
                ways = BOTH if last else padding(within, what, pair, x, stretch)
                if within:
                    pad = max(0, items - _SHORT + _LONG_ON - 1) // _LONG_ON + extra
                else:
                    pad = _wait(x, controls, longest, stretch, extra)[2]
                count = at + pad
                reached = ways >> (pad & 1) & 1 == 1 and (extra == 0 or ways == BOTH)
                reached = reached and not (pair and count & 1)
                count += controls if what == CONTROL else int(what == START)
                x_next = after(within, what) + gap
                reached = reached and rest >> state(x_next, pair and not within, count) & 1 == 1
            if reached:
                break
        if not reached:
            return at, step
        if what == CONTROL and controls == 0:
            continue
        carried = 0
        if within:
            at = _message(words, at, head, items, sending, opens, extra)
        else:
            longest = _LONG_PIC if has_pic else _LONG_XPIC
            longer, idle, pieces, carried = _wait(x, controls, longest, stretch, extra)
            if stretch:
                words[head] += np.uint32(longer << _ITEMS)
            for later in range(pieces - 1, -1, -1):
                # As long as it may be, but each later piece gets an event.
                part = min(_LONG, idle - later)
                words[at] = _DELAY + part - 1
                at += 1
                idle -= part
        b = now - after(within, what)
        opens, stretch, head = what == START, pair and not within, at
        if what == START:
            base, sending = message[step] >> _ADDRESS, message[step] & _CONTROL_MASK
            started = now
            words[at] = _SEND + message[step]
            at += 1
        elif what == CONTROL:
            value = pic[step]
            if pair:
                sent = _SEND_PAIR + (value >> _FORMAT << _PAIR_FORMAT)
                if within:
                    sent += (base + b - started << _ADDRESS) + sending
                words[at] = sent
                at += 1
                value = (xpic[step] << _PAIR_XPIC) + (value & ((1 << _FORMAT) - 1))
            elif within:
                value += _SEND_CONTROL + (SENDPIC_FORMS << _FORM)
                if has_xpic:
                    selector, plain = xpic[step] >> _PAIRED, xpic[step] & ((1 << _PAIRED) - 1)
                    value = _SEND_CONTROL + (selector << _FORM) + plain
            elif has_xpic:
                value = _DELAY_XPIC + (carried - 1 << _XPIC_N) + xpic[step]
            else:
                value += _DELAY_PIC + (carried - 1 << _PIC_N)
            words[at] = value
            at += 1
    words[at] = END_OF_ROW
    return at + 1, -1
