"""Lower bounds on the horizon of a phase, for widths as given or for every choice of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.compiled import small_kernel
from ipuopt.models.exchange.bounds_cliques import heaviest
from ipuopt.models.exchange.bounds_machines import Jobs, joined, one_machine
from ipuopt.models.exchange.bounds_widths import least_over_widths
from ipuopt.models.exchange.conflicts import Hot, hot_elements, precedence
from ipuopt.models.exchange.problem import BoolArray, IntArray, Problem
from ipuopt.models.exchange.timing import Timing, timing
from ipuopt.models.exchange.widths import qualifying
from ipuopt.target.fabric import PARTNER

SIMPLE = "head + words + tail"
PREEMPTIVE = "preemptive one-machine"
CHAIN = "chain of dependent transfers"
CLIQUE = "clique of shared elements"
PAIR = "buses of a pair of tiles"
WIDTHS = "linear choice of widths"


def lower_bound(problem: Problem, *, free: bool = False) -> tuple[int, str]:
    """Least horizon that heads, words and tails of a phase allow, and the argument.

    Parameters
    ----------
    problem
        The phase.
    free
        Whether any transfer that qualifies may be Paired64; else the widths are those given.

    Returns
    -------
    tuple
        Events, 0 for an empty phase, and the weakest argument that proves them.

    Notes
    -----
    Every send bus, every mux, every write port and every memory element that sends and receives
    share is a machine that takes one job at a time (E2, E3, E6); so is a clique of sends and
    receives of which every two share an element. A job is a transfer's interval there: it is
    released at its head, takes its items, and at least its tail lies between its end and the
    horizon; a Paired64 transfer is a job of its partner's bus and windows as well.
    ``head + words + tail`` is least head + sum + least tail; the preemptive schedule in order of
    tails is stronger. Heads and tails run through the chains of (E5).

    Where widths are free, heads, lengths and tails are the least over both widths. Two things
    remain of the choice. A transfer of w words takes w of one bus, or w / 2 of it and of all that
    belongs to the partner: two machines of half the length, for both buses of a pair and for a bus
    and the partner's mux. And a linear relaxation weighs what each transfer takes on all machines
    in either width (:mod:`ipuopt.models.exchange.bounds_widths`).
    """
    if not len(problem):
        return 0, SIMPLE
    wide = qualifying(problem) if free else problem.paired
    choice = bool(free and wide.any())
    options = [timing(problem, wide)]
    if choice:
        options.append(timing(problem, np.zeros(len(problem), np.bool_)))
    spans = _spans(problem, options)
    machines = _machines(problem, spans, wide, choice)
    hot = hot_elements(problem)
    simple, preemptive = one_machine(joined(*machines, *_elements(problem, spans, hot)))
    found = [(simple, SIMPLE), (preemptive, PREEMPTIVE), (spans.chain, CHAIN)]
    found.append((max(one_machine(joined(*_clique(problem, spans, hot)))), CLIQUE))
    if choice:
        found.append((_halves(problem, spans), PAIR))
        both = options[0], options[1]
        found.append((least_over_widths(problem, wide, both, machines), WIDTHS))
    best = max(bound for bound, _ in found)
    return next((bound, source) for bound, source in found if bound == best)


@dataclass(frozen=True, slots=True)
class _Spans:
    """Intervals by transfer or receiver, without machines, and the longest chain of (E5)."""

    sends: Jobs
    windows: Jobs
    writes: Jobs
    chain: int


def _spans(problem: Problem, options: list[Timing]) -> _Spans:
    pairs = precedence(problem)
    bounds = np.searchsorted(pairs.after, np.arange(len(problem) + 1))
    payload = np.stack([option.payload for option in options])
    tails = np.stack([option.tail for option in options])
    head = options[0].head.copy()
    _chained(bounds, pairs.before, payload, payload.min(axis=0), head, tails)
    transfer = np.repeat(np.arange(len(problem)), np.diff(problem.destination_start))

    def least(which: IntArray, offsets: list[IntArray], lengths: list[IntArray]) -> Jobs:
        offset, length = np.stack(offsets), np.stack(lengths)
        return Jobs(
            which,
            head[which] + offset.min(axis=0),
            length.min(axis=0),
            (tails[:, which] - offset - length).min(axis=0),
        )

    everyone = np.arange(len(problem))
    return _Spans(
        least(everyone, [0 * o.items for o in options], [o.items for o in options]),
        least(transfer, [o.window for o in options], [o.window_length for o in options]),
        least(transfer, [o.write for o in options], [o.write_length for o in options]),
        int((head + tails.min(axis=0)).max()),
    )


@small_kernel
def _chained(
    bounds: IntArray,
    before: IntArray,
    payload: IntArray,
    shortest: IntArray,
    head: IntArray,
    tails: IntArray,
) -> None:
    """Heads and tails through predecessors (E5), in place; listed order is a topological one.

    ``payload`` and ``tails`` have a row for each width that a transfer may take, ``shortest`` is
    the least payload.
    """
    for after in range(len(head)):
        for pair in range(bounds[after], bounds[after + 1]):
            first = before[pair]
            head[after] = max(head[after], head[first] + shortest[first])
    for after in range(len(head) - 1, -1, -1):
        rest = tails[0, after]
        for width in range(1, len(tails)):
            rest = min(rest, tails[width, after])
        for pair in range(bounds[after], bounds[after + 1]):
            first = before[pair]
            for width in range(len(tails)):
                tails[width, first] = max(tails[width, first], payload[width, first] + rest)


def _machines(problem: Problem, spans: _Spans, wide: BoolArray, choice: bool) -> list[Jobs]:
    """Buses, muxes, and write ports where they differ; reservations unless they are a choice."""
    tiles = problem.tiles
    everyone = np.arange(len(spans.windows.machine))
    parts = [
        spans.sends._replace(machine=problem.source),
        spans.windows.take(everyone, tiles + problem.destination_tile),
    ]
    if wide.any():
        parts.append(spans.writes.take(everyone, 2 * tiles + problem.destination_tile))
    if not choice:
        reserved = np.flatnonzero(wide)
        partner = PARTNER[problem.source[reserved]]
        parts += [spans.sends.take(reserved, kind * tiles + partner) for kind in range(3)]
    return parts


def _elements(problem: Problem, spans: _Spans, hot: Hot) -> list[Jobs]:
    """Elements that sends and receives of a tile share."""
    sends = np.repeat(np.arange(len(problem)), np.diff(hot.send_start))
    receives = np.repeat(np.arange(len(spans.writes.machine)), np.diff(hot.receive_start))
    first = 3 * problem.tiles
    return [
        spans.sends.take(sends, first + hot.send_element),
        spans.writes.take(receives, first + hot.receive_element),
    ]


def _clique(problem: Problem, spans: _Spans, hot: Hot) -> list[Jobs]:
    """Heaviest clique of each tile, as a machine."""
    sends, receives = heaviest(problem, hot, spans.sends.length, spans.writes.length)
    return [
        spans.sends.take(sends, problem.source[sends]),
        spans.writes.take(receives, problem.destination_tile[receives]),
    ]


def _halves(problem: Problem, spans: _Spans) -> int:
    """Two machines as one of twice the speed: all times doubled, a job counts words."""
    tiles = problem.tiles
    windows = spans.windows
    sends = Jobs(problem.source // 2, 2 * spans.sends.release, problem.words, 2 * spans.sends.rest)
    receives = Jobs(
        tiles + problem.destination_tile, 2 * windows.release, windows.length, 2 * windows.rest
    )
    crossed = sends._replace(machine=tiles + PARTNER[problem.source])
    return (max(one_machine(joined(sends, crossed, receives))) + 1) // 2
