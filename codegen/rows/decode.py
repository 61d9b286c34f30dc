"""What rows do, event by event."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.codegen.isa import WordArray
from ipuopt.codegen.rows.encode import Rows
from ipuopt.codegen.rows.instructions import (
    END_OF_ROW,
    NAMES,
    SENDPIC_FORMS,
    matches,
    operand,
)
from ipuopt.errors import InputError
from ipuopt.models.exchange.problem import BoolArray, IntArray

SEND, SEND_ON, SOURCE, SOURCE64, POINTER, FORMAT = range(6)
"""Kinds of events: a message that starts, one that goes on, XPIC of selector 0 and 1, PIC of
selector 0 and 1."""
_INDEX = {name: number for number, name in enumerate(NAMES)}
_SEND, _SEND_OFF, _SEND_PIC, _SEND_PICP = (
    _INDEX[name] for name in ("send", "sendoff", "sendpic", "sendpicp")
)
_MOST_WORDS = 1 << 24
"""Most words of a row: more than a tile's memory, and few enough for events of 64 bits."""


@dataclass(frozen=True, slots=True)
class Events:
    """Events of all rows, sorted by tile and event.

    Attributes
    ----------
    bounds
        First event of each tile, shape ``(tiles + 1,)``.
    done
        Event at which each row ends, shape ``(tiles,)``.
    event, kind
        When and which, shape ``(events,)`` as all that follow.
    value
        Of a control, without its selector.
    items, address, control
        Of a send: items, item address or -1, control or -1; 0, -1, -1 for others.
    """

    bounds: IntArray
    done: IntArray
    event: IntArray
    kind: IntArray
    value: IntArray
    items: IntArray
    address: IntArray
    control: IntArray


@dataclass(frozen=True, slots=True)
class _Code:
    """Instructions of all rows: first and second word, place in the row, name's index, start."""

    word: WordArray
    second: WordArray
    tile: IntArray
    place: IntArray
    name: IntArray
    items: IntArray
    start: IntArray


def decode_row(words: WordArray) -> Events:
    """Events of a single row, as those of tile 0; see :func:`decode_rows`."""
    bounds = np.array([0, len(words)])
    return decode_rows(Rows(words, bounds, np.zeros(1, np.int64)))


def decode_rows(rows: Rows) -> Events:
    """Events of rows, from their words alone.

    Raises
    ------
    InputError
        With tile and word: no row instruction, a two-word instruction at an odd word or cut
        short, a message that goes on where none is under way or otherwise than it began, a
        second end or none.
    """
    code = _split(rows)
    parts = [_sends(code), *_controls(code)]
    tile, event, kind, value, items, address, control = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    order = np.lexsort((kind, event, tile))
    tiles = len(rows.bounds) - 1
    ends = np.cumsum(np.bincount(code.tile, minlength=tiles)) - 1
    return Events(
        np.searchsorted(tile[order], np.arange(tiles + 1)),
        code.start[ends],
        *(column[order] for column in (event, kind, value, items, address, control)),
    )


def _split(rows: Rows) -> _Code:
    words = np.asarray(rows.words, np.uint32)
    lengths = np.diff(rows.bounds)
    if rows.bounds[0] != 0 or rows.bounds[-1] != len(words):
        found = f"bounds from {rows.bounds[0]} to {rows.bounds[-1]}"
        raise InputError(f"rows: found {found}, expected 0 to {len(words)}")
    wrong = np.flatnonzero((lengths < 1) | (lengths > _MOST_WORDS))
    if len(wrong):
        found = f"tile {wrong[0]}: found {lengths[wrong[0]]} words"
        raise InputError(f"{found}, expected 1..{_MOST_WORDS}")
    tile = np.repeat(np.arange(len(lengths)), lengths)
    place = np.arange(len(words)) - rows.bounds[tile]
    name = np.full(len(words), -1)
    for index, text in enumerate(NAMES):
        name[matches(words, text)] = index
    # A two-word instruction starts at an even word: whatever follows one there is its second word.
    long = name == _SEND_PICP
    opens = long & (place % 2 == 0)
    data = np.zeros(len(words), np.bool_)
    data[1:] = opens[:-1] & (place[1:] > 0)
    last = place == lengths[tile] - 1
    _demand(~data & long & ~opens, tile, place, words, "two-word instructions at even words")
    _demand(~data & (name < 0), tile, place, words, "a row instruction")
    _demand(opens & last, tile, place, words, "its second word")
    ends = ~data & (name == _INDEX["br"])
    _demand(ends & (words != END_OF_ROW), tile, place, words, f"0x{END_OF_ROW:08x} (br $m10)")
    _demand(ends & ~last, tile, place, words, "br $m10 at the end only")
    _demand(last & ~ends, tile, place, words, f"0x{END_OF_ROW:08x} (br $m10) at the end")
    chosen = np.flatnonzero(~data)
    second = np.append(words, np.uint32(0))[chosen + 1]
    word, tile, place, name = words[chosen], tile[chosen], place[chosen], name[chosen]
    items = np.zeros(len(word), np.int64)
    for index, text in enumerate(NAMES):
        if text != "br":
            mine = name == index
            items[mine] = operand(word[mine], second[mine], text, "n") + 1
    before = np.cumsum(items) - items
    first = np.searchsorted(tile, np.arange(len(lengths)))
    return _Code(word, second, tile, place, name, items, before - before[first][tile])


def _demand(bad: BoolArray, tile: IntArray, place: IntArray, words: WordArray, right: str) -> None:
    """Refuse the first bad word."""
    if bad.any():
        at = int(np.argmax(bad))
        where = f"tile {tile[at]}: word {place[at]}"
        raise InputError(f"{where}: found 0x{int(words[at]):08x}, expected {right}")


def _field(code: _Code, mine: BoolArray, name: str, field: str) -> IntArray:
    """A field of some instructions, all of one name."""
    return operand(code.word[mine], code.second[mine], name, field)


def _sends(code: _Code) -> tuple[IntArray, ...]:
    """Pieces of messages; every message is checked to go on as it began."""
    name = code.name
    control, address = np.full((2, len(name)), -1)
    for text in ("send", "sendoff", "sendpicp"):
        mine = name == _INDEX[text]
        control[mine] = _field(code, mine, text, "c")
        address[mine] = _field(code, mine, text, "a")
    opens = name == _SEND
    sends = opens | (name == _SEND_OFF) | (name == _SEND_PIC)
    sends |= (name == _SEND_PICP) & (control > 0)  # with control 0 it only waits (ipu21.md 4)
    broken = sends & ~opens
    broken[1:] &= ~sends[:-1] | (code.tile[1:] != code.tile[:-1])
    where = code.tile, code.place, code.word
    _demand(broken, *where, "a message under way")
    _demand(opens & (control & 3 == 0), *where, "a message with a direction")
    heads = np.flatnonzero(opens)
    if len(heads):
        head = heads[np.maximum(np.cumsum(opens) - 1, 0)]
        went_on = sends & ~opens & (control >= 0)
        _demand(went_on & (control != control[head]), *where, "the control of the message")
        back = sends & (name == _SEND_PICP)
        reached = address[head] + code.start - code.start[head]
        _demand(back & (address != reached), *where, "the address the message has reached")
    _demand((name == _SEND_OFF) & (address != 0), *where, "an address field of 0")
    address[name == _SEND_OFF] = -1
    kind = np.where(opens, SEND, SEND_ON)
    none = np.zeros(len(name), np.int64)
    columns = (code.tile, code.start, kind, none, code.items, address, control)
    return tuple(column[sends] for column in columns)


def _controls(code: _Code) -> list[tuple[IntArray, ...]]:
    """Control events: at the end of a delay, or one event after the start of a send."""
    name, finish, within = code.name, code.start + code.items, code.start + 1
    result: list[tuple[IntArray, ...]] = []

    def add(mine: BoolArray, event: IntArray, kind: IntArray, value: IntArray) -> None:
        none = np.full(len(value), -1)
        columns = (code.tile[mine], event[mine], kind, value, np.zeros_like(none), none, none)
        result.append(columns)

    for text, event, kind, selector, value in (
        ("delayxpic", finish, SOURCE, "sel", "v"),
        ("delaypic", finish, POINTER, "sel", "v"),
        ("sendpicp", within, SOURCE, "xpic_sel", "xpic_v"),
        ("sendpicp", within, POINTER, "pic_sel", "pic_v"),
    ):
        mine = name == _INDEX[text]
        # Selector 1 makes source64 of source, and format of pointer.
        add(mine, event, kind + _field(code, mine, text, selector), _field(code, mine, text, value))
    mine = name == _SEND_PIC
    form = _field(code, mine, "sendpic", "sel")
    kinds = np.where(form < SENDPIC_FORMS, SOURCE, POINTER) + form % SENDPIC_FORMS
    add(mine, within, kinds, _field(code, mine, "sendpic", "v"))
    return result
