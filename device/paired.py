"""Items of 8 bytes, which two tiles of a pair send and receive as one (``ipu21.md`` 3.2).

The earlier tile of the receiving pair selects the source for both; an item passes when it has reached
the later one. Each tile has its own format, on from two events before its first item is written, and
its own pointer. While a tile sends items, the path of its partner is taken.
"""

from __future__ import annotations

from ipuopt.compiled import inner_kernel
from ipuopt.device import marks as k
from ipuopt.layout import IntArray
from ipuopt.target.registers import NEUTRAL


@inner_kernel
def turn(state: IntArray, queue: IntArray, event: int) -> None:
    """Selections and formats that act from this event on."""
    head = state[k.PAIR_HEAD]
    if head < state[k.PAIR_TAIL] and queue[head % k.QUEUE, 0] == event:
        state[k.BEFORE], state[k.SINCE] = state[k.PAIR], event
        state[k.PAIR] = queue[head % k.QUEUE, 1]
        state[k.PAIR_HEAD] = head + 1
    slot = k.FORMAT_PLAN + event % k.FORMAT_SLOTS
    if state[slot] >= 0:
        state[k.FORMAT] = state[slot]
        state[slot] = -1


@inner_kernel
def hear(
    flag: k.Flags,
    t: int,
    state: IntArray,
    mate: IntArray,
    late: int,
    event: int,
    time: k.Small,
    way: k.Flags,
) -> tuple[int, int, int]:
    """The item that is written now: fault and its detail; else the mark, 0 for none, and source.

    Parameters
    ----------
    late
        Event at which it was to pass the mux, less one.
    """
    source = state[k.PAIR]
    switches = state[k.SINCE] == event
    if switches and state[k.BEFORE] != NEUTRAL:
        before = state[k.BEFORE]
        mark = _mark(flag, before, t, late, time, way)
        if mark > 0 and mark & k.FIRST == 0:
            return k.CUT, before, 0
    if source != NEUTRAL:
        if mate[k.PAIR] != NEUTRAL:
            return k.BOTH_SELECT, 0, 0
        if source >= len(time):
            return k.BAD_SOURCE, source, 0
        if time[source, t] > time[source, t ^ k.LANE]:
            return k.LATE_MEMBER, source, 0
    else:
        source, switches = mate[k.PAIR], mate[k.SINCE] == event
    if source == NEUTRAL:
        return k.FORMAT_ALONE if state[k.FORMAT] > 0 else k.FINE, 0, 0
    if source < 0 or source >= len(time):
        return k.BAD_SOURCE, source, 0
    if state[k.FORMAT] == 0:
        return k.FORMAT_OFF, source, 0
    if state[k.FORMAT] != way[source, t]:
        return k.FORMAT_WAY, source, 0
    mark = _mark(flag, source, t, late, time, way)
    if mark == 0:
        return k.SILENT, source, 0
    if mark & k.ITEMS == 0:
        return k.WIDTH, source, 0
    if switches and mark & k.FIRST == 0:
        return k.LATE, source, 0
    if mark & k.FIRST and not switches:
        return k.OVERLAP, source, 0
    return k.FINE, source, mark


@inner_kernel
def delay(source: int, t: int, time: k.Small) -> int:
    """Events that an item takes to the later tile of the pair."""
    return int(max(time[source, t], time[source, t ^ k.LANE]))


@inner_kernel
def _mark(flag: k.Flags, source: int, t: int, late: int, time: k.Small, way: k.Flags) -> int:
    event = late - delay(source, t, time)
    if event < 0:
        return 0
    mark = flag[source, event % k.RING]
    return mark if mark & way[source, t] else 0


@inner_kernel
def sharing(state: IntArray, mate: IntArray, listens: bool) -> int:
    """Fault of a tile whose partner sends items, or that sends items itself.

    Parameters
    ----------
    listens
        Whether a source is selected, or something is written.
    """
    if mate[k.SENDING] and mate[k.CONTROL] & k.ITEMS and (state[k.SENDING] or listens):
        return k.PARTNER
    if state[k.SENDING] and state[k.CONTROL] & k.ITEMS and mate[k.DONE] >= 0:
        return k.PARTNER_END
    return k.FINE
