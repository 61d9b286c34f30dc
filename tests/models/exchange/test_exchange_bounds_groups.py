"""Machines over widths: by hand, and each of them below every schedule that the checker accepts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from ipuopt.models.exchange import Problem, check, horizon, insert_in_order, lower_bound
from ipuopt.models.exchange.bounds_groups import Machines, group_machines
from ipuopt.models.exchange.bounds_machines import Jobs
from ipuopt.models.exchange.bounds_widths import loads_over_widths
from ipuopt.models.exchange.problem import BoolArray, IntArray
from ipuopt.models.exchange.timing import timing
from ipuopt.models.exchange.widths import early, qualifying
from ipuopt.target.constants import TILES
from ipuopt.target.fabric import ROW, time_to_mux

Transfer = tuple[int, int, int, Sequence[tuple[int, int]]]
MakePhase = Callable[..., Problem]

A, B, C, D = 0x64000, 0x68000, 0x6C000, 0x70000
ORDERS = 40


def test_times_to_the_tiles_of_a_pair_differ_by_one_event() -> None:
    """What :mod:`ipuopt.models.exchange.bounds_widths` says of Word32 windows rests on it."""
    mux = time_to_mux(TILES).astype(int)
    assert np.all(abs(mux[:, 0::2] - mux[:, 1::2]) == 1)


def group_sends(make_phase: MakePhase, source: int) -> Problem:
    """Tiles 20 to 23 receive two transfers together, and one of them sends to another group."""
    one, other = ([(tile, address) for tile in range(20, 24)] for address in (B, C))
    away = [(tile, B) for tile in range(40, 44)]
    return make_phase([(0, A, 400, one), (2, A, 400, other), (source, D, 400, away)])


@pytest.mark.parametrize("source", [20, 21, 22, 23])
def test_a_group_waits_for_its_own_pairs(make_phase: MakePhase, source: int) -> None:
    """Row 10 and 11: a Paired64 receive takes 50 + 22 events and its items; so does the send.

    Where the reserved partner is late, the send gives up 50 + 22 events, or the receives do.
    """
    phase = group_sends(make_phase, source)
    wide = qualifying(phase)
    assert wide.all() and ROW[22] == 11 and ROW[20] == 10
    found = group_machines(phase, wide, (timing(phase, wide), timing(phase, ~wide)))
    late = not early(phase)[(source ^ 1) - 20]
    expected = [(-128, -128, 200 - 72), (-200, -200, 200)] if late else [(-128, -128, 200)]
    assert len(found.fixed) == len(expected)
    for machine, (one, other, send) in enumerate(expected):
        change = found.change[found.machine == machine]
        assert change[:2].tolist() == [one, other]
        assert send - 2 <= change[2] <= send  # tiles of two rows: windows shift by 2 events


def grid(seed: int) -> Problem:
    """Transfers among three groups of two pairs anywhere on the chip, and some to single tiles."""
    draw = np.random.default_rng(seed)
    pairs = draw.choice(TILES // 2, (3, 2), replace=False)
    groups = np.sort(np.concatenate((2 * pairs, 2 * pairs + 1), axis=1), axis=1)
    transfers = []
    for number in range(int(draw.integers(4, 7))):
        source = int(draw.choice(groups[0] if draw.random() < 0.5 else groups.ravel()))
        target = groups[0] if draw.random() < 0.6 else groups[int(draw.integers(1, 3))]
        tiles = [t for t in target.tolist() if t != source]
        if draw.random() < 0.2:
            tiles = tiles[:1]
        words = int(draw.choice([20, 128, 160, 300, 500]))
        transfers.append((source, words, tiles, A + 0x1000 * number))
    return Problem.from_arrays(
        tiles=TILES,
        source=[source for source, *_ in transfers],
        source_address=[address for *_, address in transfers],
        words=[words for _, words, *_ in transfers],
        destination_tile=[tiles for _, _, tiles, _ in transfers],
        destination_address=[[D + address - A] * len(tiles) for _, _, tiles, address in transfers],
    )


def some_widths(may: BoolArray, seed: int) -> list[BoolArray]:
    """All, none, and two choices by chance."""
    draw = np.random.default_rng(seed)
    return [may, np.zeros_like(may), *(may & (draw.random((2, len(may))) < 0.6))]


def loads_of(problem: Problem) -> Machines:
    """Machines of a phase without orders of memory (E5)."""
    may = qualifying(problem)
    options = timing(problem, may), timing(problem, np.zeros_like(may))
    transfer = np.repeat(np.arange(len(problem)), np.diff(problem.destination_start))

    def least(which: IntArray, machine: IntArray, offset: str, length: str) -> Jobs:
        spans = [(o.head[which], getattr(o, offset), getattr(o, length), o.tail) for o in options]
        return Jobs(
            machine,
            np.min([head + first for head, first, *_ in spans], axis=0),
            np.min([words for *_, words, _ in spans], axis=0),
            np.min([tail[which] - first - words for _, first, words, tail in spans], axis=0),
        )

    window = least(transfer, problem.tiles + problem.destination_tile, "window", "window_length")
    tails = np.min([o.tail - o.items for o in options], axis=0)
    items = np.min([o.items for o in options], axis=0)
    bus = Jobs(problem.source, options[0].head, items, tails)
    return loads_over_widths(problem, may, options, [bus, window])


@pytest.mark.parametrize(
    "seed", [*range(12), *(pytest.param(s, marks=pytest.mark.slow) for s in range(12, 150))]
)
def test_no_machine_is_busy_after_the_end_of_a_schedule(seed: int) -> None:
    phase = grid(seed)
    may = qualifying(phase)
    if not may.any():
        return
    loads = loads_of(phase)
    bound = lower_bound(phase, free=True)[0]
    for paired in some_widths(may, seed):
        least = shortest(replace(phase, paired=paired), seed)
        assert busy(loads, paired).max() <= least
        assert bound <= least


def busy(loads: Machines, paired: BoolArray) -> IntArray:
    """Events that each machine needs under a choice of widths."""
    result = loads.fixed.copy()
    taken = paired[loads.transfer]
    np.add.at(result, loads.machine[taken], loads.change[taken])
    return result


def shortest(problem: Problem, seed: int) -> int:
    """Least horizon of valid schedules in orders by chance."""
    draw = np.random.default_rng(seed)
    found = [insert_in_order(problem, draw.permutation(len(problem))) for _ in range(ORDERS)]
    best = min(found, key=lambda solution: horizon(problem, solution))
    assert not check(problem, best)
    return horizon(problem, best)


def test_group_machines_are_nearly_met(make_phase: MakePhase) -> None:
    """Or the test above could not fail."""
    phase = group_sends(make_phase, 21)
    paired = qualifying(phase)
    group = group_machines(phase, paired, (timing(phase, paired), timing(phase, ~paired)))
    least = shortest(replace(phase, paired=paired), 0)
    assert least - 30 <= busy(group, paired).max() <= least
