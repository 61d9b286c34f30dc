"""Rows of a schedule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.codegen.isa import WordArray
from ipuopt.codegen.rows.emission import write_row
from ipuopt.codegen.rows.instructions import END_OF_ROW, TABLE
from ipuopt.codegen.rows.parity import ANY_STATE, reach
from ipuopt.codegen.rows.steps import END, START, Steps, steps_of
from ipuopt.errors import CheckError, InputError
from ipuopt.models.exchange.problem import BoolArray, IntArray, Problem, Solution

_ADDRESSES = 4 << 18
"""Bytes that word addresses of 18 bits reach (ipu21.md 2)."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one phase, one after another.

    Attributes
    ----------
    words
        32-bit words of all rows, shape ``(words,)``.
    bounds
        First word of each tile's row, shape ``(tiles + 1,)``.
    done
        Event at which each row ends, shape ``(tiles,)``.
    """

    words: WordArray
    bounds: IntArray
    done: IntArray

    @property
    def horizon(self) -> int:
        """Largest end of a row in events."""
        return int(self.done.max(initial=0))

    def row(self, tile: int) -> WordArray:
        """Words of one tile."""
        return self.words[self.bounds[tile] : self.bounds[tile + 1]]


def encode_rows(problem: Problem, solution: Solution, *, iteration: int = 0) -> Rows:
    """Encode a schedule exactly; canonical rows where those can be (``ipu21.md`` 4).

    A pointer that continues the address of the receive before is left out, unless only keeping
    it makes the row encodable.

    Parameters
    ----------
    problem, solution
        The phase and a schedule that the checker of the model accepts.
    iteration
        Which of the source addresses of a repeat the rows send from.

    Raises
    ------
    InputError
        An address does not fit into 18 bits of words.
    CheckError
        E1: a message starts before event 0. E7, with every tile and event: two controls of one
        kind coincide, one falls on the first two events of a message, messages overlap, or a
        two-word instruction can start at no even word.
    """
    if len(problem) and int(solution.start.min()) < 0:
        at = int(solution.start.argmin())
        found = f"a message that starts at event {solution.start[at]}, expected 0 or later"
        raise CheckError(f"rows of {problem.name}", (("E1", f"transfer {at}: {found}"),))
    addresses = (problem.source_address, problem.destination_address)
    largest = max(int(column.max(initial=0)) for column in addresses)
    if largest >= _ADDRESSES:
        found = f"found address {largest:#x}, expected below {_ADDRESSES:#x}"
        raise InputError(f"rows of {problem.name}: {found}")
    return rows_of(problem.name, steps_of(problem, solution, iteration))


def rows_of(name: str, steps: Steps) -> Rows:
    """Rows of given steps, ``name`` for messages; raises as :func:`encode_rows`."""
    inside, overlap = _inside(steps)
    _refuse(name, steps, np.flatnonzero(steps.clash | overlap), "controls or messages collide")
    counts = np.ones(len(steps.done), np.int64)
    # Five words a step at most (two delays and one more, a pair), and what long waits take.
    room = 5 * np.diff(steps.bounds) + steps.done // TABLE["delay"].longest + 3
    room[steps.done == 0] = 1
    words = np.full(room.sum(), END_OF_ROW, np.uint32)
    at = 0
    failed = []
    for tile, (size, done) in enumerate(zip(room.tolist(), steps.done.tolist(), strict=True)):
        if done:
            counts[tile], step = _row(steps, inside, tile, words[at : at + size])
            if step >= 0:
                failed.append(step)
        at += int(counts[tile])
    wrong = np.array(failed, np.int64)
    _refuse(name, steps, wrong, "no even word for a two-word instruction")
    return Rows(words[:at].copy(), np.concatenate(([0], np.cumsum(counts))), steps.done)


def _row(steps: Steps, inside: BoolArray, tile: int, words: WordArray) -> tuple[int, int]:
    """Write a row: words and -1, or the step where the canonical row meets an odd word.

    The canonical one is tried first; then padding anywhere; then pointers that could be dropped.
    """
    first, stop = steps.bounds[tile], steps.bounds[tile + 1]
    row = slice(first, stop)
    columns = (
        steps.event[row],
        steps.kind[row],
        inside[row],
        steps.xpic[row],
        steps.pic[row],
        steps.optional[row],
    )
    mask = np.full(stop - first, ANY_STATE, np.uint16)
    message, done = steps.message[row], steps.done[tile]
    count, failing = write_row(done, *columns, message, mask, False, words)
    if failing < 0:
        return count, -1
    for flexible in (False, True):
        reach(*columns, flexible, mask)
        count, step = write_row(done, *columns, message, mask, flexible, words)
        if step < 0:
            return count, -1
    return 0, first + failing


def _inside(steps: Steps) -> tuple[BoolArray, BoolArray]:
    """Whether a message is under way before each step, and steps where messages overlap."""
    change = np.where(steps.kind == START, 1, 0) - np.where(steps.kind == END, 1, 0)
    under_way = np.cumsum(change) - change
    overlap = (under_way + change < 0) | (under_way + change > 1)
    return under_way > 0, overlap


def _refuse(name: str, steps: Steps, bad: IntArray, found: str) -> None:
    if not len(bad):
        return
    tiles = np.searchsorted(steps.bounds, bad, side="right") - 1
    violations = tuple(
        ("E7", f"tile {tile}, event {event}: {found}")
        for tile, event in zip(tiles.tolist(), steps.event[bad].tolist(), strict=True)
    )
    raise CheckError(f"rows of {name}", violations)
