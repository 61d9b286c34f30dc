"""Claims against the checker, pair by pair; time that runs backwards; parts of a phase."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ipuopt.compiled import kernel
from ipuopt.models.exchange import Problem, Solution, check
from ipuopt.models.exchange import orders as order_module
from ipuopt.models.exchange.claims import FILL_FIRST, FILL_LENGTH, FILL_ROW, Row
from ipuopt.models.exchange.components import component_of, restrict
from ipuopt.models.exchange.fit import earliest
from ipuopt.models.exchange.instance import Instance, instance, mirrored
from ipuopt.models.exchange.problem import BoolArray, IntArray
from ipuopt.models.exchange.search import run
from ipuopt.models.exchange.state import State, empty_state, place

Phases = Callable[..., st.SearchStrategy[Problem]]
PartOf = Callable[[Problem, Sequence[int]], Problem]

FAR = 5000


@kernel
def open_starts(p: Instance, s: State, placed: int, at: int, other: int, stop: int) -> BoolArray:
    """By start from the head on, whether ``other`` may start there beside ``placed``."""
    place(p, s, placed, at)
    first = p.head[other]
    free = np.zeros(stop - first, np.bool_)
    for start in range(first, stop):
        free[start - first] = earliest(p, s, other, start, start) == start
    return free


def refused(problem: Problem, start: Sequence[int]) -> bool:
    """Whether two transfers meet; the order of (E5) and odd words (E7) are not theirs alone."""
    return any(
        label not in ("E5", "E7") or "one XPIC and one PIC" in text
        for label, text in check(problem, Solution(np.array(start), problem.paired))
    )


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_two_transfers_are_kept_apart_as_the_checker_does(
    phases: Phases, part_of: PartOf, data: st.DataObject
) -> None:
    """Never less, and with Paired64 up to three events more, of neutral events and format.

    Judged where the claims change their mind, and here and there. Pointers are never dropped, so
    addresses that continue others are left out.
    """
    problem = data.draw(phases(most=2, least=2, members=4, wide=data.draw(st.booleans())))
    part = part_of(problem, data.draw(st.permutations(range(2))))
    ends = part.destination_address + 4 * np.repeat(part.words, np.diff(part.destination_start))
    assume(not np.isin(part.destination_address, ends).any())
    phase, at = instance(part), 300
    free = open_starts(phase, empty_state(phase, FAR), 0, at, 1, 2 * at)
    first = int(phase.head[1])
    judged = np.random.default_rng(0).random(len(free)) < 0.03
    changes = np.flatnonzero(free[1:] != free[:-1])
    judged[[*changes, *(changes + 1)]] = True
    for start in (np.flatnonzero(judged) + first).tolist():
        bad = refused(part, [at, start])
        if free[start - first]:
            assert not bad
        elif not bad:
            assert part.paired.any()
            assert any(refused(part, [at, start + off]) for off in range(-3, 4))


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_mirrored_twice_is_the_same(phases: Phases, data: st.DataObject) -> None:
    phase = instance(data.draw(phases(wide=data.draw(st.booleans()))))
    again = mirrored(mirrored(phase))
    pairs = {"before_bounds", "before", "lag"}
    for name in set(Instance._fields) - pairs:
        assert np.array_equal(getattr(phase, name), getattr(again, name)), name
    assert edges(phase) == edges(again)
    assert edges(mirrored(phase)) == {
        (b, a, int(lag + phase.words[b] - phase.words[a])) for a, b, lag in edges(phase)
    }


def edges(phase: Instance) -> set[tuple[int, int, int]]:
    after = np.repeat(np.arange(len(phase.words)), np.diff(phase.before_bounds))
    return set(zip(phase.before.tolist(), after.tolist(), phase.lag.tolist(), strict=True))


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_claims_of_a_mirrored_phase_are_the_same_events(
    phases: Phases, data: st.DataObject
) -> None:
    """Event e of forward time is event H - 1 - e of a horizon H."""
    phase = instance(data.draw(phases(most=5, wide=data.draw(st.booleans()))))
    backward = mirrored(phase)
    far = 2000
    for j, words in enumerate(phase.words.tolist()):
        at = 500 + 7 * j
        forward_events, backward_events = taken(phase, j, at), taken(backward, j, far - at - words)
        assert forward_events == {(row, far - 1 - event) for row, event in backward_events}
        assert phase.head[j] + phase.tail[j] == backward.head[j] + backward.tail[j]


def taken(phase: Instance, transfer: int, start: int) -> set[tuple[int, int]]:
    claims = phase.claims[phase.claim_start[transfer] : phase.claim_start[transfer + 1]].tolist()
    return {
        (claim[FILL_ROW], start + claim[FILL_FIRST] + event)
        for claim in claims
        for event in range(claim[FILL_LENGTH])
    }


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_components_are_the_tiles_that_transfers_join(phases: Phases, data: st.DataObject) -> None:
    """The partner that a Paired64 transfer reserves is one of them."""
    wide = data.draw(st.booleans())
    problem = data.draw(phases(most=10, members=14, receivers=2, wide=wide))
    count, component = component_of(instance(problem))
    group = {tile: {tile} for tile in range(problem.tiles)}
    for j, source in enumerate(problem.source.tolist()):
        first, stop = problem.destination_start[j : j + 2].tolist()
        tiles = problem.destination_tile[first:stop].tolist()
        for tile in [*tiles, source ^ 1] if problem.paired[j] else tiles:
            joined = group[source] | group[tile]
            for member in joined:
                group[member] = joined
    for one in range(len(problem)):
        for other in range(len(problem)):
            together = int(problem.source[other]) in group[int(problem.source[one])]
            assert together == (component[one] == component[other])
    assert sorted(set(component.tolist())) == list(range(count))


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_components_alone_are_inserted_as_in_the_whole(phases: Phases, data: st.DataObject) -> None:
    wide = data.draw(st.booleans())
    phase = instance(data.draw(phases(members=14, receivers=2, wide=wide)))
    if data.draw(st.booleans()):
        phase = mirrored(phase)
    whole = inserted(phase)
    count, component = component_of(phase)
    for number in range(count):
        transfers = np.flatnonzero(component == number)
        part = restrict(phase, transfers)
        assert inserted(part).tolist() == whole[transfers].tolist()
        assert part.rows >= part.claims[:, FILL_ROW].max() + 1
        assert part.tiles * Row.HOT <= part.rows
        again, other = mirrored(part), restrict(mirrored(phase), transfers)
        for name in Instance._fields:
            assert np.array_equal(getattr(again, name), getattr(other, name)), name


def inserted(phase: Instance) -> IntArray:
    found = run(phase, order_module.listed(phase), FAR)
    assert found is not None
    return found
