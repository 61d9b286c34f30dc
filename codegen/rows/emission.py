"""Words of rows from their steps: the canonical ones, or others where those meet an odd word.

Canonical rows are those of ``ipu21.md`` 4, at its end. A row is first tried without foresight:
what it pads, it pads in the gap before a pair. Only if a pair meets an odd word with no room is
the whole row searched (:func:`reach`), and then padded as late as possible.
"""

from __future__ import annotations

import numpy as np

from ipuopt.codegen.rows.instructions import END_OF_ROW, SENDPIC_FORMS, TABLE, WordArray
from ipuopt.codegen.rows.parity import ANY_STATE, MaskArray, after, padding, reach, state
from ipuopt.codegen.rows.steps import CONTROL, END, START
from ipuopt.compiled import kernel
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
_ON_HIGH = TABLE["sendoff"].fields[0].parts[1][0]
_FORMAT = TABLE["delaypic"].shift("sel")
_PAIRED = TABLE["delayxpic"].shift("sel")
_FORM = TABLE["sendpic"].shift("sel")
_PAIR_FORMAT = TABLE["sendpicp"].shift("pic_sel")
_PAIR_XPIC = TABLE["sendpicp"].shift("xpic_v")


@kernel
def _plain(words: WordArray, at: int, events: int, pieces: int) -> int:
    """Plain delays: as long as they may be, but each later piece gets an event."""
    for piece in range(pieces):
        now = min(_LONG, events - (pieces - 1 - piece))
        words[at] = _DELAY + now - 1
        at += 1
        events -= now
    return at


@kernel
def _idle(
    words: WordArray,
    at: int,
    x: int,
    kind: int,
    controls: int,
    longest: int,
    stretch: bool,
    extra: int,
    dry: bool,
) -> tuple[int, int]:
    """Plain delays of an idle gap, and the events left for the delay that carries a control.

    A ``sendpicp`` before it lasts longer, as far as it can. With ``dry`` nothing is written.

    Parameters
    ----------
    x, kind, stretch
        As :func:`padding`.
    controls
        Control events of the step.
    longest
        Longest delay that carries its control, if there is one.
    extra
        1 to write one word more than needed.

    Returns
    -------
    tuple
        Next word, and events of the carrying delay.
    """
    # Events of the gap; the last event before a pair belongs to the pair's own instruction.
    gap = x - 1 if controls == 2 else x
    reserve = 1 if controls == 1 else 0
    if stretch:
        most = min(_SHORT - 1, gap - reserve)
        if extra == 1 and gap - most < 2:
            most -= 1
        gap -= most
        if not dry:
            words[at - 2] += np.uint32(most << _ITEMS)
    carried = 0
    if controls == 1:
        carried = min(gap, longest)
        gap -= carried
        pieces = (gap + _LONG - 1) // _LONG
        gap, carried = gap + extra, carried - extra
    else:
        pieces = (gap + _LONG - 1) // _LONG
    if dry:
        return at + pieces + extra, carried
    return _plain(words, at, gap, pieces + extra), carried


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
    first = min(_SHORT, items)
    one_before = 0
    if extra == 1:
        # The last piece of two items or more becomes (1, rest); a control's own piece (rest, 1).
        if items > _SHORT + 1:
            one_before = 1
        elif opens:
            first = 1
        else:
            first = min(first, items - 1)
    words[head] += np.uint32((first - 1) << _ITEMS)
    rest = items - first
    while rest > 0:
        now = min(_LONG_ON, rest)
        if one_before == 1 and now == rest:
            now, one_before = 1, 0
        elif extra == 1 and items == _SHORT + 1 and now == rest and rest > 1:
            now = rest - 1
        low, high = (now - 1) % _SHORT, (now - 1) // _SHORT
        words[at] = _SEND_ON + (low << _ITEMS) + (high << _ON_HIGH) + control
        at += 1
        rest -= now
    return at


@kernel
def _row(
    first: int,
    stop: int,
    done: int,
    event: IntArray,
    kind: IntArray,
    inside: BoolArray,
    xpic: IntArray,
    pic: IntArray,
    optional: BoolArray,
    message: IntArray,
    mask: MaskArray,
    searched: bool,
    flexible: bool,
    words: WordArray,
    begin: int,
) -> tuple[int, int]:
    """Write one row; next word and -1, or the step that cannot be encoded."""
    at, head, base = begin, begin, 0
    stretch, opens = False, False
    b, started, sending = 0, 0, 0
    control_mask = (1 << _ADDRESS) - 1
    for step in range(first, stop):
        x = event[step] - b
        has_xpic = xpic[step] >= 0
        rest = int(mask[step + 1]) if searched and step + 1 < stop else ANY_STATE
        gap = event[step + 1] - event[step] if step + 1 < stop else 3
        found = False
        for keep in range(2 if flexible and optional[step] else 1):
            has_pic = pic[step] >= 0 and (keep == 1 or not optional[step])
            controls = int(has_xpic) + int(has_pic)
            pair = controls == 2
            if kind[step] == CONTROL and controls == 0:
                if rest >> state(x + gap, stretch, at - begin) & 1:
                    found = True
                    break
                continue
            ways = padding(inside[step], kind[step], pair, x, stretch)
            longest = _LONG_PIC if has_pic else _LONG_XPIC
            idle_pair = pair and not inside[step]
            items = x - 1 if kind[step] == CONTROL else x
            for extra in range(2):
                if inside[step]:
                    pad = max(0, items - _SHORT + _LONG_ON - 1) // _LONG_ON + extra
                else:
                    pad = _idle(words, 0, x, kind[step], controls, longest, stretch, extra, True)[0]
                if not ways >> (pad & 1) & 1 or (ways != 3 and extra == 1):
                    continue
                count = at - begin + pad
                if pair and count & 1:
                    continue
                count += controls if kind[step] == CONTROL else int(kind[step] == START)
                if not rest >> state(after(inside[step], kind[step]) + gap, idle_pair, count) & 1:
                    continue
                found = True
                if inside[step]:
                    at = _message(words, at, head, items, sending, opens, extra)
                    carried = 0
                else:
                    at, carried = _idle(
                        words, at, x, kind[step], controls, longest, stretch, extra, False
                    )
                break
            if found:
                break
        if not found:
            return at, step
        if kind[step] == CONTROL and controls == 0:
            continue
        b = event[step] - after(inside[step], kind[step])
        opens, stretch, head = False, idle_pair, at
        if kind[step] == START:
            base, sending = message[step] >> _ADDRESS, message[step] & control_mask
            started, opens = event[step], True
            words[at] = _SEND + message[step]
            at += 1
        elif kind[step] == CONTROL and controls == 2:
            sent = _SEND_PAIR + (pic[step] >> _FORMAT << _PAIR_FORMAT)
            if inside[step]:
                sent += (base + b - started << _ADDRESS) + sending
            words[at] = sent
            words[at + 1] = (xpic[step] << _PAIR_XPIC) + (pic[step] & ((1 << _FORMAT) - 1))
            at += 2
        elif kind[step] == CONTROL and inside[step]:
            value = pic[step] + (SENDPIC_FORMS << _FORM)
            if has_xpic:
                selector, plain = xpic[step] >> _PAIRED, xpic[step] & ((1 << _PAIRED) - 1)
                value = (selector << _FORM) + plain
            words[at] = _SEND_CONTROL + value
            at += 1
        elif kind[step] == CONTROL:
            if has_xpic:
                words[at] = _DELAY_XPIC + (carried - 1 << _XPIC_N) + xpic[step]
            else:
                words[at] = _DELAY_PIC + (carried - 1 << _PIC_N) + pic[step]
            at += 1
    if done > b:
        at = _idle(words, at, done - b, END, 0, 0, stretch, 0, False)[0]
    words[at] = END_OF_ROW
    return at + 1, -1


@kernel
def write_rows(
    bounds: IntArray,
    done: IntArray,
    event: IntArray,
    kind: IntArray,
    inside: BoolArray,
    xpic: IntArray,
    pic: IntArray,
    optional: BoolArray,
    message: IntArray,
    words: WordArray,
    ends: IntArray,
    failed: IntArray,
) -> None:
    """Write all rows one after another.

    Parameters
    ----------
    bounds, done, event, kind, xpic, pic, optional, message
        As in :class:`Steps`.
    inside
        Whether a message is under way just before a step.
    words
        Result, long enough.
    ends
        Result, the end of each row in ``words``, shape ``(tiles,)``.
    failed
        Result, the step of each tile that cannot be encoded, or -1; shape ``(tiles,)``.
    """
    mask = np.zeros(len(event) + 1, np.uint16)
    at = 0
    for tile in range(len(done)):
        first, stop = bounds[tile], bounds[tile + 1]
        failing = -1
        for attempt in range(3):
            # In order: no search, dropped pointers stay dropped, pointers may be kept.
            flexible = attempt == 2
            if attempt > 0:
                reach(first, stop, event, kind, inside, xpic, pic, optional, flexible, mask)
            end, step = _row(
                first, stop, done[tile], event, kind, inside, xpic, pic, optional, message,
                mask, attempt > 0, flexible, words, at,
            )  # fmt: skip
            if step < 0:
                failing = -1
                at = end
                break
            if attempt == 0:
                failing = step
        failed[tile] = failing
        ends[tile] = at
