"""Phases from lists, and random ones that crowd few tiles and few memory elements."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import strategies as st

from ipuopt.codegen.rows import decode_rows, encode_rows, rebuild
from ipuopt.models.exchange import Problem, Solution, check, horizon
from ipuopt.models.exchange.problem import IntArray
from ipuopt.models.exchange.widths import qualifying

Transfer = tuple[int, int | Sequence[int], int, Sequence[tuple[int, int]]]
"""Source tile, source address or one an iteration, words, receivers as (tile, address)."""
MakePhase = Callable[..., Problem]
Phases = Callable[..., st.SearchStrategy[Problem]]
Optimum = Callable[[Problem, Solution], int]

FIRST_BYTE = 0x64000


def phase_of(
    transfers: Sequence[Transfer], tiles: int = 64, paired: Sequence[bool] = ()
) -> Problem:
    counts = [len(receivers) for _, _, _, receivers in transfers]
    return Problem(
        name="phase",
        tiles=tiles,
        source=np.array([source for source, _, _, _ in transfers], np.int64),
        source_address=np.array([address for _, address, _, _ in transfers], np.int64),
        words=np.array([words for _, _, words, _ in transfers], np.int64),
        destination_start=np.cumsum([0, *counts]),
        destination_tile=np.array([t for *_, pairs in transfers for t, _ in pairs], np.int64),
        destination_address=np.array([a for *_, pairs in transfers for _, a in pairs], np.int64),
        paired=np.array(paired, np.bool_),
    )


@st.composite
def random_phases(
    draw: st.DrawFn,
    most: int = 12,
    words: int = 70,
    members: int = 6,
    receivers: int = 4,
    least: int = 1,
    wide: bool = False,
) -> Problem:
    """``least`` to ``most`` transfers among 2 to ``members`` tiles.

    Addresses come from a small pool: half of them share an element, spans overlap or touch. Where
    ``wide`` is set, tiles are whole pairs, about a third of the transfers qualify for Paired64 and
    most of these are given so, and up to three source addresses take turns. Only the counts
    shrink: drawing every number by itself takes longer than the tests.
    """
    count = draw(st.integers(least, most))
    tiles = draw(st.integers(2, members))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    pairs = random.choice(32, 1 + tiles // 2, replace=False)
    chosen = random.choice(64, tiles, replace=False)
    if wide:
        chosen = np.concatenate((2 * pairs, 2 * pairs + 1))
    iterations = int(random.integers(1, 4)) if wide else 1

    def address() -> int:
        word = random.choice((0, 10, 20, words, 4000))
        return int(FIRST_BYTE + 0x4000 * random.integers(0, 4) + 4 * word)

    def of_pairs(source: int) -> tuple[int, list[tuple[int, int]]]:
        """Words and receivers of a transfer that qualifies if addresses are multiples of 8."""
        others = pairs[pairs != source // 2]
        many = int(random.integers(1, min(2, len(others)) + 1))
        places = [(int(pair), address()) for pair in random.choice(others, many, replace=False)]
        targets = [(2 * pair + lane, place) for pair, place in places for lane in (0, 1)]
        return int(random.choice((128, 130, 140, 170))), targets

    transfers: list[Transfer] = []
    for _ in range(count):
        source = int(random.choice(chosen))
        others = chosen[chosen != source]
        many = int(random.integers(1, min(receivers, len(others)) + 1))
        size = int(random.choice((10, 52)) if random.random() < 0.3 else random.integers(1, words))
        targets = [(int(tile), address()) for tile in random.choice(others, many, replace=False)]
        if wide and random.random() < 0.4:
            size, targets = of_pairs(source)
        transfers.append((source, [address() for _ in range(iterations)], size, targets))
    problem = phase_of(transfers)
    may = qualifying(problem) & (random.random(count) < 0.7)
    return phase_of(transfers, paired=may.tolist()) if wide else problem


def transfers_of(problem: Problem) -> list[Transfer]:
    bounds = problem.destination_start.tolist()
    tile, address = problem.destination_tile.tolist(), problem.destination_address.tolist()
    pairs = [
        list(zip(tile[first:stop], address[first:stop], strict=True))
        for first, stop in itertools.pairwise(bounds)
    ]
    columns = (problem.source, problem.source_address, problem.words)
    return list(zip(*(column.tolist() for column in columns), pairs, strict=True))


def least_horizon(problem: Problem, known: Solution) -> int:
    """Exhaustive search below a known valid schedule and with its widths; only the checker judges.

    Rules between two transfers depend on the difference of their starts, so each pair is judged
    alone, but for pointer events, which a third transfer may save, and for rows (E7), which it may
    mend; whole schedules are judged again.
    """
    transfers = transfers_of(problem)
    count = len(transfers)
    paired = known.paired

    def at(which: list[int], start: Sequence[int] | IntArray) -> Solution:
        return Solution(np.array(start, np.int64), paired[which])

    alone = [phase_of([transfer], problem.tiles) for transfer in transfers]
    tail = [horizon(single, at([j], [0])) for j, single in enumerate(alone)]
    far = next(
        e for e in range(200) if not any(check(s, at([j], [e])) for j, s in enumerate(alone))
    )
    head = [
        next(e for e in range(far + 1) if not check(single, at([j], [e])))
        for j, single in enumerate(alone)
    ]
    assert not check(problem, known)
    best = horizon(problem, known)

    def allowed(one: int, other: int) -> list[int]:
        """By start of ``one``, the starts of ``other`` as bits; one start below the best, both."""
        pair = phase_of([transfers[one], transfers[other]], problem.tiles)
        lowest, highest = head[other] - best + tail[one], best - tail[other] - head[one]
        differences = 0
        for difference in range(lowest, highest + 1):
            start = np.array([0, difference]) + far + max(0, -difference)
            told = check(pair, at([one, other], start))
            if all(label == "E7" or "pointer event" in text for label, text in told):
                differences |= 1 << (difference - lowest)
        shifts = [start + lowest for start in range(best)]
        return [differences << s if s > 0 else differences >> -s for s in shifts]

    fits = {(i, j): allowed(i, j) for i, j in itertools.combinations(range(count), 2)}
    start = [0] * count

    def search(place: int, open_starts: list[int]) -> None:
        nonlocal best
        if place == count:
            found = Solution(np.array(start, np.int64), paired)
            if not check(problem, found):
                best = min(best, horizon(problem, found))
            return
        for event in range(head[place], best - tail[place]):
            if event + tail[place] >= best:
                break
            if not open_starts[place] >> event & 1:
                continue
            start[place] = event
            narrowed = open_starts.copy()
            for other in range(place + 1, count):
                narrowed[other] &= fits[place, other][event]
                last = best - tail[other]  # starts below it would improve
                if last <= 0 or not narrowed[other] & ((1 << last) - 1):
                    break
            else:
                search(place + 1, narrowed)

    search(0, [((1 << best) - 1) >> least << least for least in head])
    return best


def some_of(problem: Problem, transfers: Sequence[int]) -> Problem:
    listed = transfers_of(problem)
    return phase_of(
        [listed[j] for j in transfers], problem.tiles, problem.paired[list(transfers)].tolist()
    )


def assert_carried_out(problem: Problem, solution: Solution) -> None:
    """Equal transfers keep their order (E5), so the rows tell which is which."""
    assert not check(problem, solution)
    for iteration in range(problem.source_address.shape[1]):
        rows = encode_rows(problem, solution, iteration=iteration)
        assert rows.horizon == horizon(problem, solution)
        found = rebuild(problem, decode_rows(rows), iteration=iteration)
        np.testing.assert_array_equal(found.start, solution.start)
        np.testing.assert_array_equal(found.paired, solution.paired)


def few_transfers(seed: int) -> Problem:
    """Two to four transfers of few tiles that share elements, and often spans."""
    draw = np.random.default_rng(seed)
    tiles = draw.choice(64, int(draw.integers(2, 5)), replace=False).tolist()

    def address() -> int:
        return int(FIRST_BYTE + 0x4000 * draw.integers(0, 3) + 4 * draw.choice([0, 6, 12, 4000]))

    transfers: list[Transfer] = []
    for _ in range(int(draw.integers(2, 5))):
        source = int(draw.choice(tiles))
        others = [tile for tile in tiles if tile != source]
        targets = draw.choice(others, int(draw.integers(1, min(3, len(others)) + 1)), False)
        words = int(draw.choice([1, 2, 6, 6, 12, 20, 52]))
        transfers.append((source, address(), words, [(int(t), address()) for t in targets]))
    return phase_of(transfers)


def few_wide_transfers(seed: int) -> Problem:
    """Two or three transfers, most of which qualify for Paired64, among few pairs of tiles."""
    draw = np.random.default_rng(seed)
    pairs = draw.choice(32, 3, replace=False).tolist()

    def address() -> int:
        return int(FIRST_BYTE + 0x4000 * draw.integers(0, 3) + 8 * draw.choice([0, 3, 6, 2000]))

    transfers: list[Transfer] = []
    for _ in range(int(draw.integers(2, 4))):
        source, *others = draw.permutation(pairs).tolist()
        targets: list[tuple[int, int]] = []
        for pair in others[: int(draw.integers(1, 3))]:
            place = address()
            targets += [(2 * pair, place), (2 * pair + 1, place)]
        words = int(draw.choice([128, 128, 132, 160, 10, 52]))
        if draw.random() < 0.2:
            targets = targets[1:]
        transfers.append((2 * source + int(draw.integers(0, 2)), address(), words, targets))
    return phase_of(transfers)


@pytest.fixture(scope="session")
def wide_phase() -> Callable[[int], Problem]:
    """``wide_phase(seed)``: small enough for ``least_of`` in each choice of widths."""
    return few_wide_transfers


@pytest.fixture(scope="session")
def tiny_phase() -> Callable[[int], Problem]:
    """``tiny_phase(seed)``: small enough for ``least_of``."""
    return few_transfers


@pytest.fixture(scope="session")
def least_of() -> Optimum:
    """``least_of(problem, valid)``: the least horizon, by exhaustive search below ``valid``."""
    return least_horizon


@pytest.fixture(scope="session")
def make_phase() -> MakePhase:
    """``make_phase(transfers, tiles=64, paired=())``: from (source, address, words, pairs)."""
    return phase_of


@pytest.fixture(scope="session")
def phases() -> Phases:
    """``phases(most=12, words=70, members=6, receivers=4, least=1, wide=False)``: a strategy."""
    return random_phases


@pytest.fixture(scope="session")
def carry_out() -> Callable[[Problem, Solution], None]:
    """``carry_out(problem, solution)``: the checker accepts it, and rows give it back."""
    return assert_carried_out


@pytest.fixture(scope="session")
def part_of() -> Callable[[Problem, Sequence[int]], Problem]:
    """``part_of(problem, transfers)``: the phase of some transfers alone, in this order."""
    return some_of
