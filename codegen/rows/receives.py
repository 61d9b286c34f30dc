"""What each tile receives, from the events of its row (``ipu21.md`` 3.1, 3.2 read backwards)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.codegen.rows.decode import FORMAT, POINTER, SOURCE, SOURCE64, Events
from ipuopt.errors import InputError
from ipuopt.models.exchange.problem import BoolArray, IntArray
from ipuopt.target.fabric import LOGICAL, PARTNER, PHYSICAL, ROW, direction, time_to_mux
from ipuopt.target.registers import NEUTRAL

_EVENTS = 1 << 40
"""Above any event: tile and event in one number."""


@dataclass(frozen=True, slots=True)
class Receives:
    """One entry a receive.

    Attributes
    ----------
    tile, source
        Logical tiles.
    start
        Event at which its message leaves.
    items
        Words, or pairs of them.
    address
        Byte address.
    wide
        Whether it is a Paired64 receive.
    done
        Event at which its last word is written and the row may end.
    """

    tile: IntArray
    source: IntArray
    start: IntArray
    items: IntArray
    address: IntArray
    wide: BoolArray
    done: IntArray


@dataclass(frozen=True, slots=True)
class _Controls:
    """Control events of some kinds: tile, event and both in one sorted number, kind, value."""

    tile: IntArray
    event: IntArray
    key: IntArray
    kind: IntArray
    value: IntArray


def receives_of(events: Events) -> Receives:
    """All receives of all rows.

    Raises
    ------
    InputError
        With tile and event, where control events make no receive, or more than one.
    """
    narrow, wide = _narrow(events), _wide(events)
    tile, source, moment, items, pointer, opens, write = (
        np.concatenate(column) for column in zip(narrow, wide, strict=True)
    )
    pointers = _controls(events, POINTER)
    _used(pointers, tile * _EVENTS + write, "a receive that writes from this pointer event on")
    is_wide = np.arange(len(tile)) >= len(narrow[0])
    mux = time_to_mux()
    own, other = mux[source, tile], mux[source, PARTNER[tile]]
    start = moment - 1 - own
    if is_wide.any():
        late = np.maximum(own, other)
        # X - T2 is P + shift - P0 for all receivers of a message, and tells it from others.
        group_key = source * _EVENTS + (moment - late) + _EVENTS // 2
        _, group = np.unique(group_key[is_wide], return_inverse=True)
        least, least_pair = np.full((2, group.max() + 1), _EVENTS)
        np.minimum.at(least, group, own[is_wide])
        np.minimum.at(least_pair, group, late[is_wide])
        shift, head = np.maximum(0, 1 - least_pair), np.maximum(0, -least)
        start[is_wide] = (moment - late)[is_wide] + (head - shift)[group]
    address = _addresses(tile, opens, items, pointer, is_wide)
    done = opens + items + np.where(is_wide, 7, 57 + 2 * ROW[tile])
    return Receives(tile, source, start, items, address, is_wide, done)


def _controls(events: Events, *kinds: int) -> _Controls:
    tile = np.repeat(np.arange(len(events.bounds) - 1), np.diff(events.bounds))
    chosen = np.isin(events.kind, kinds)
    tile, event = tile[chosen], events.event[chosen]
    key = tile * _EVENTS + event
    return _Controls(tile, event, key, events.kind[chosen], events.value[chosen])


def _at(controls: _Controls, tile: IntArray, event: IntArray) -> IntArray:
    """Values of the controls at these events; -1 where there is none."""
    key = tile * _EVENTS + event
    if not len(controls.key):
        return np.full(len(key), -1)
    place = np.minimum(np.searchsorted(controls.key, key), len(controls.key) - 1)
    return np.where(controls.key[place] == key, controls.value[place], -1)


def _closed(controls: _Controls, opens: BoolArray, what: str) -> IntArray:
    """Events from each opening control to the next control of its tile, which has to be there."""
    following = np.zeros(len(opens), np.int64)
    following[:-1] = np.where(controls.tile[1:] == controls.tile[:-1], controls.event[1:], 0)
    demand(opens & (following <= controls.event), controls.tile, controls.event, what)
    return (following - controls.event)[opens]


def _logical(physical: IntArray, controls: _Controls) -> IntArray:
    found, bound = f"source {len(LOGICAL)} or more", len(LOGICAL)
    demand(physical >= bound, controls.tile, controls.event, f"a physical tile, found {found}")
    return LOGICAL[np.minimum(physical, bound - 1)]


def _used(controls: _Controls, keys: IntArray, right: str) -> None:
    """Every control is at one of ``keys``."""
    demand(~np.isin(controls.key, keys), controls.tile, controls.event, right)


def _narrow(events: Events) -> tuple[IntArray, ...]:
    """Word32 receives: tile, source, X, words, pointer or -1, start of their window, Y."""
    mux, pointers = _controls(events, SOURCE, SOURCE64), _controls(events, POINTER)
    opens = (mux.kind == SOURCE) & (mux.value != NEUTRAL)
    words = _closed(mux, opens, "a neutral event after this source")
    before = np.zeros(len(opens), np.bool_)
    before[1:] = opens[:-1] & (mux.tile[1:] == mux.tile[:-1])
    demand((mux.kind == SOURCE) & ~opens & ~before, mux.tile, mux.event, "a source that ends here")
    demand((mux.kind == SOURCE64) & before, mux.tile, mux.event, "a neutral event of selector 0")
    tile, moment = mux.tile[opens], mux.event[opens]
    source = _logical(np.where(opens, mux.value, 0), mux)[opens]
    write = moment + 52 + 2 * ROW[tile] - (words == 52)
    return tile, source, moment, words, _at(pointers, tile, write), moment, write


def _wide(events: Events) -> tuple[IntArray, ...]:
    """Paired64 receives, as :func:`_narrow`; their windows from "format on"."""
    mux, pointers = _controls(events, SOURCE64), _controls(events, POINTER)
    form = _controls(events, FORMAT)
    opens = form.value != 0
    items = _closed(form, opens, "a format event that ends this one")
    tile, on = form.tile[opens], form.event[opens]
    ends = np.concatenate((on, on + items)) + np.tile(tile, 2) * _EVENTS
    _used(form, ends, "a format event that begins here")
    moment = on - 51 - 2 * ROW[tile]
    own, other = _at(mux, tile, moment), _at(mux, PARTNER[tile], moment)
    early = np.where(own >= 0, tile, PARTNER[tile])
    value = np.where(own >= 0, own, other)
    demand(value < 0, tile, on, "a source event of the pair before this format event")
    pointer = _at(pointers, tile, on + 2)
    demand(pointer < 0, tile, on, "a pointer event two events after this format event")
    named = _Controls(tile, on, on, on, value)
    source = _logical(value ^ (PHYSICAL[early] & 2), named)
    time = time_to_mux()
    first = time[source, tile] < time[source, PARTNER[tile]]
    demand(first != (own >= 0), tile, on, "a source event of the early member alone")
    gone = (_at(mux, tile, moment + items) != NEUTRAL) & first
    demand(gone, tile, on, "a neutral event of selector 1 after all items")
    ends = np.concatenate((moment, moment + items)) + np.tile(tile, 2) * _EVENTS
    _used(mux, ends, "a receive of which this event of selector 1 is part")
    way = form.value[opens] != direction()[source, tile]
    demand(way, tile, on, "a format event with the direction of the source")
    return tile, source, moment, items, pointer, on, on + 2


def _addresses(
    tile: IntArray, opens: IntArray, items: IntArray, pointer: IntArray, wide: BoolArray
) -> IntArray:
    """Byte addresses; without a pointer a receive goes on where the one before ended (rule 2)."""
    order = np.lexsort((opens, tile))
    tile, size, pointer, wide = tile[order], 4 * items[order], pointer[order], wide[order]
    result = np.zeros(len(order), np.int64)
    if not len(order):
        return result
    given = pointer >= 0
    alone = ~given
    alone[1:] &= (tile[1:] != tile[:-1]) | wide[:-1]
    demand(alone, tile, opens[order], "a pointer event for the receive from here")
    anchor = np.maximum.accumulate(np.where(given, np.arange(len(order)), 0))
    before = np.cumsum(size) - size
    result[order] = 4 * pointer[anchor] + before - before[anchor]
    return result


def demand(bad: BoolArray, tile: IntArray, event: IntArray, right: str) -> None:
    """Refuse the first bad entry."""
    if bad.any():
        at = int(np.argmax(bad))
        raise InputError(f"tile {tile[at]}, event {event[at]}: expected {right}")
