"""Order of spans and shared elements, and cliques of them, against sets and enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from ipuopt.models.exchange import Problem
from ipuopt.models.exchange.bounds_cliques import heaviest
from ipuopt.models.exchange.conflicts import hot_elements, precedence
from ipuopt.target.memory import element_of

MakePhase = Callable[..., Problem]
FIRST_BYTE = 0x64000


def crowded(make_phase: MakePhase, seed: int) -> Problem:
    """Few tiles and elements, one to three source addresses."""
    draw = np.random.default_rng(seed)
    tiles, iterations = int(draw.integers(2, 5)), int(draw.integers(1, 4))

    def address() -> int:
        return int(FIRST_BYTE + 0x4000 * draw.integers(0, 9) + 4 * draw.choice([0, 3, 4090]))

    transfers = []
    for _ in range(int(draw.integers(1, 9))):
        source = int(draw.integers(tiles))
        others = [tile for tile in range(tiles) if tile != source]
        chosen = draw.choice(others, int(draw.integers(1, len(others) + 1)), replace=False)
        words = int(draw.choice([1, 10, 4097, 4148]))
        addresses = [address() for _ in range(iterations)]
        transfers.append((source, addresses, words, [(int(t), address()) for t in chosen]))
    return make_phase(transfers, tiles=tiles)


def spans(problem: Problem) -> tuple[list[set[tuple[int, int]]], list[set[tuple[int, int]]]]:
    """Words (tile, address) read by each transfer, and written by each receiver."""
    read = [
        {(int(tile), int(first) + 4 * k) for first in row for k in range(words)}
        for tile, row, words in zip(
            problem.source, problem.source_address, problem.words, strict=True
        )
    ]
    transfer = np.repeat(np.arange(len(problem)), np.diff(problem.destination_start))
    written = [
        {(int(tile), int(first) + 4 * k) for k in range(problem.words[j])}
        for tile, first, j in zip(
            problem.destination_tile, problem.destination_address, transfer, strict=True
        )
    ]
    return read, written


def elements(words: set[tuple[int, int]]) -> set[tuple[int, int]]:
    pairs = np.array(sorted(words))
    return set(zip(pairs[:, 0].tolist(), element_of(pairs[:, 1]).tolist(), strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_hot_elements(make_phase: MakePhase, seed: int) -> None:
    problem = crowded(make_phase, seed)
    read, written = ([elements(words) for words in side] for side in spans(problem))
    shared = sorted(set().union(*read) & set().union(*written))
    number = {element: place for place, element in enumerate(shared)}
    hot = hot_elements(problem)
    assert hot.elements == len(shared)
    for start, element, side in (
        (hot.send_start, hot.send_element, read),
        (hot.receive_start, hot.receive_element, written),
    ):
        found = [element[i:k].tolist() for i, k in itertools.pairwise(start)]
        assert found == [sorted(number[e] for e in each if e in number) for each in side]


@pytest.mark.parametrize("seed", range(20))
def test_precedence_has_the_same_chains(make_phase: MakePhase, seed: int) -> None:
    problem = crowded(make_phase, seed)
    read, written = spans(problem)
    bounds = problem.destination_start
    wrote = [set().union(*written[i:k]) for i, k in itertools.pairwise(bounds)]
    count = len(problem)
    every = np.zeros((count, count), np.bool_)
    for before, after in itertools.combinations(range(count), 2):
        late, early = read[after] | wrote[after], read[before] | wrote[before]
        every[before, after] = bool(wrote[before] & late or early & wrote[after])
    pairs = precedence(problem)
    found = np.zeros_like(every)
    found[pairs.before, pairs.after] = True
    assert not np.any(found & ~every)
    for _ in range(count):
        every |= every @ every
        found |= found @ found
    assert np.array_equal(every, found)


@pytest.mark.parametrize("seed", range(20))
def test_heaviest_clique(make_phase: MakePhase, seed: int) -> None:
    """On each tile the heaviest of all cliques, unless it is only sends or only receives."""
    problem = crowded(make_phase, seed)
    hot = hot_elements(problem)
    transfer = np.repeat(np.arange(len(problem)), np.diff(problem.destination_start))
    send, receive = problem.words, problem.words[transfer]
    chosen = heaviest(problem, hot, send, receive)
    read, written = ([elements(words) for words in side] for side in spans(problem))
    for tile in range(problem.tiles):
        sends = np.flatnonzero(problem.source == tile).tolist()
        receives = np.flatnonzero(problem.destination_tile == tile).tolist()
        best = 0
        for size in range(len(sends) + 1):
            for some in itertools.combinations(sends, size):
                beside = [k for k in receives if all(read[j] & written[k] for j in some)]
                best = max(best, int(send[list(some)].sum() + receive[beside].sum()))
        mine = [j for j in chosen[0].tolist() if problem.source[j] == tile]
        theirs = [k for k in chosen[1].tolist() if problem.destination_tile[k] == tile]
        assert all(read[j] & written[k] for j in mine for k in theirs)
        weight = int(send[mine].sum() + receive[theirs].sum())
        alone = max(int(send[sends].sum()), int(receive[receives].sum()))
        assert max(weight, alone) == best
