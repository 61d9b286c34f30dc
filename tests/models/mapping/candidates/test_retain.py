"""Dominance and the cap."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ipuopt.models.mapping.candidates.retain import capped, front, undominated

ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)),
    min_size=1,
    max_size=25,
)


@settings(deadline=None)
@given(ROWS)
def test_dominance_keeps_one_label_at_least_as_good_as_each(
    rows: list[tuple[int, int, int, int]],
) -> None:
    """Every label dropped is matched by a kept one of its group; no kept one is matched."""
    table = np.array(rows, dtype=np.int64)
    groups, vectors = table[:, 0], table[:, 1:]
    kept = undominated(groups, vectors)
    for label in range(len(table)):
        matching = [
            other
            for other in kept
            if other != label
            and groups[other] == groups[label]
            and (vectors[other] <= vectors[label]).all()
        ]
        assert bool(matching) is (label not in kept)


@settings(deadline=None)
@given(ROWS)
def test_front_is_the_trade_off(rows: list[tuple[int, int, int, int]]) -> None:
    table = np.array(rows, dtype=np.int64)
    score, other = table[:, 1], table[:, 2]
    found = front(score, other)
    for label in range(len(table)):
        assert any(score[i] <= score[label] and other[i] <= other[label] for i in found)


def test_the_cap_keeps_the_smallest_and_the_cheapest() -> None:
    score = np.arange(100, dtype=np.int64)
    memory = np.column_stack((100 - score, np.full(100, 7)))
    memory[50, 1] = 0
    kept = capped("op", score, np.concatenate((memory[:, 1:], memory[:, 1:]), axis=1), 10)
    assert 50 in kept
    assert set(range(9)) <= set(kept.tolist())
    assert len(kept) == 10
