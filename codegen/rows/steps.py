"""From a schedule to what each tile's row must do, in order of time (``ipu21.md`` 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.codegen.rows.instructions import TABLE
from ipuopt.models.exchange.problem import BoolArray, IntArray, Problem, Solution
from ipuopt.models.exchange.timing import Timing, timing
from ipuopt.models.exchange.widths import early
from ipuopt.target.fabric import PARTNER, PHYSICAL, direction
from ipuopt.target.registers import NEUTRAL

CONTROL, END, START = 0, 2, 3
"""Kinds of steps: controls of one event, end of a message, start of one. In this order at equal
events: a control there rides on the last item, and the next message starts last."""
_XPIC, _PIC = 0, 1
_FORMAT = 1 << TABLE["delaypic"].shift("sel")
_PAIRED = 1 << TABLE["delayxpic"].shift("sel")
_WIDE = 4
"""Added to the control of a send of 8-byte items (ipu21.md 4)."""
_TIME = 1 << 38
"""Above any event, times the four kinds; a tile times this fits 63 bits with room."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps of all rows, sorted by tile, event and kind.

    Attributes
    ----------
    bounds
        First step of each tile, shape ``(tiles + 1,)``.
    done
        Last event of each row, shape ``(tiles,)``; 0 for a tile that takes no part.
    event, kind
        When and which, shape ``(steps,)`` as all that follow.
    xpic, pic
        Controls with their selector above the value; -1 for none.
    optional
        Whether the PIC control may be left out (rule 2).
    message
        Address and control of a message that starts, as in the low bits of ``send``.
    clash
        Two controls of one kind at this event, or one on P or P + 1 (rules 3, 4).
    """

    bounds: IntArray
    done: IntArray
    event: IntArray
    kind: IntArray
    xpic: IntArray
    pic: IntArray
    optional: BoolArray
    message: IntArray
    clash: BoolArray


@dataclass(frozen=True, slots=True)
class _Tokens:
    """Single events: ``key`` is (tile, event, kind) in one number, which sorts them."""

    key: IntArray
    operand: IntArray
    optional: BoolArray


def steps_of(problem: Problem, solution: Solution, iteration: int) -> Steps:
    """Steps of every tile's row.

    Parameters
    ----------
    problem, solution
        The phase and its schedule, one that the checker of the model accepts.
    iteration
        Which of the source addresses of a repeat.
    """
    times = timing(problem, solution.paired)
    tokens = _tokens(problem, solution, times, iteration)
    return _merged(tokens, problem.tiles, _done(problem, solution, times))


def _done(problem: Problem, solution: Solution, times: Timing) -> IntArray:
    result = np.zeros(problem.tiles, np.int64)
    sent = solution.start + times.send_done
    np.maximum.at(result, problem.source, sent)
    wide = solution.paired
    np.maximum.at(result, PARTNER[problem.source[wide]], sent[wide])
    start = np.repeat(solution.start, np.diff(problem.destination_start))
    np.maximum.at(result, problem.destination_tile, start + times.done)
    return result


def _tokens(problem: Problem, solution: Solution, times: Timing, iteration: int) -> _Tokens:
    parts: list[tuple[IntArray, IntArray, IntArray | int, IntArray | int, BoolArray | bool]] = []
    start = solution.start.astype(np.int64)
    parts.append((problem.source, start, START, _messages(problem, solution, iteration), False))
    parts.append((problem.source, start + times.items, END, 0, False))
    receivers = np.diff(problem.destination_start)
    tile, transfer = problem.destination_tile, np.repeat(np.arange(len(problem)), receivers)
    wide, begin = solution.paired[transfer], start[transfer]
    window, write = begin + times.window, begin + times.write
    length = times.write_length
    follows, ends = _chains(problem, tile, window, length, wide)
    source = PHYSICAL[problem.source[transfer]]
    pointer = problem.destination_address // 4
    parts.append((tile, write, _PIC, pointer, follows))
    narrow = ~wide
    parts.append((tile[narrow], window[narrow], _XPIC, source[narrow], False))
    ends &= narrow
    parts.append((tile[ends], (window + length)[ends], _XPIC, NEUTRAL, False))
    if wide.any():
        on = write[wide] - 2
        way = direction(problem.tiles)[problem.source[transfer[wide]], tile[wide]]
        parts.append((tile[wide], on, _PIC, _FORMAT + way.astype(np.int64), False))
        parts.append((tile[wide], on + length[wide], _PIC, _FORMAT, False))
        first = wide & early(problem)
        from_lane = source[first] ^ (PHYSICAL[tile[first]] & 2)
        parts.append((tile[first], window[first], _XPIC, _PAIRED + from_lane, False))
        gone = window[first] + length[first]
        parts.append((tile[first], gone, _XPIC, _PAIRED + NEUTRAL, False))
    key = [(place * _TIME + event) * 4 + kind for place, event, kind, _, _ in parts]
    sizes = [len(column) for column in key]
    return _Tokens(
        np.concatenate(key),
        np.concatenate([np.broadcast_to(p[3], n) for p, n in zip(parts, sizes, strict=True)]),
        np.concatenate([np.broadcast_to(p[4], n) for p, n in zip(parts, sizes, strict=True)]),
    )


def _messages(problem: Problem, solution: Solution, iteration: int) -> IntArray:
    """Item address and control of each transfer, as in the low bits of ``send``."""
    wide = solution.paired
    items = problem.source_address[:, iteration] // np.where(wide, 8, 4)
    receivers = np.diff(problem.destination_start)
    first = problem.destination_tile[problem.destination_start[:-1]]
    single = receivers <= np.where(wide, 2, 1)
    way = np.where(single, direction(problem.tiles)[problem.source, first], 3)
    return (items << TABLE["send"].shift("a")) + way + np.where(wide, _WIDE, 0)


def _chains(
    problem: Problem, tile: IntArray, window: IntArray, length: IntArray, wide: BoolArray
) -> tuple[BoolArray, BoolArray]:
    """Receives that continue the address of the one before, and those that end in a neutral.

    Rules 2 and 1 of ``ipu21.md`` 3.3; both sides are Word32.
    """
    order = np.argsort(tile * _TIME + window, kind="stable")
    one, other = order[:-1], order[1:]
    near = (tile[one] == tile[other]) & ~wide[one] & ~wide[other]
    address = problem.destination_address
    follows = np.zeros(len(tile), np.bool_)
    follows[other] = near & (address[one] + 4 * length[one] == address[other])
    ends = np.ones(len(tile), np.bool_)
    ends[one] = ~(near & (window[one] + length[one] == window[other]))
    return follows, ends


def _merged(tokens: _Tokens, tiles: int, done: IntArray) -> Steps:
    order = np.argsort(tokens.key, kind="stable")
    key, optional = tokens.key[order], tokens.optional[order]
    blocked = _on_start(key)
    # A pointer that may be dropped gives way (rule 2).
    kept = ~(optional & (blocked | _doubled(key)))
    key, operand = key[kept], tokens.operand[order][kept]
    optional, blocked = optional[kept], blocked[kept]
    kind, moment = key & 3, key >> 2
    blocked |= _doubled(key)
    group = np.where(kind == _PIC, CONTROL, kind)
    opens = np.ones(len(key), np.bool_)
    opens[1:] = (moment[1:] != moment[:-1]) | (group[1:] != group[:-1])
    step = np.cumsum(opens) - 1
    first = np.flatnonzero(opens)
    columns = np.full((3, len(first)), -1, np.int64)
    for row, which in enumerate((_XPIC, _PIC, START)):
        chosen = kind == which
        columns[row, step[chosen]] = operand[chosen]
    flags = np.zeros((2, len(first)), np.bool_)
    flags[0, step[optional]] = True
    flags[1, step[blocked]] = True
    tile, event = np.divmod(moment[first], _TIME)
    return Steps(
        bounds=np.searchsorted(tile, np.arange(tiles + 1)),
        done=done,
        event=event,
        kind=group[first],
        xpic=columns[0],
        pic=columns[1],
        optional=flags[0],
        message=columns[2],
        clash=flags[1],
    )


def _doubled(key: IntArray) -> BoolArray:
    twice = key[1:] == key[:-1]
    result = np.zeros(len(key), np.bool_)
    result[1:] = twice
    result[:-1] |= twice
    return result


def _on_start(key: IntArray) -> BoolArray:
    """Controls on the first event of a message of their tile, or on the next one (rule 4)."""
    moment, kind = key >> 2, key & 3
    starts = moment[kind == START]
    result = np.zeros(len(key), np.bool_)
    if len(starts):
        last = starts[np.searchsorted(starts, moment, side="right") - 1]
        result = (kind <= _PIC) & (last <= moment) & (moment - last <= 1)
    return result
