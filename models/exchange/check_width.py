"""(E8): what may travel as Paired64 (``ipu21.md`` 3.2)."""

from __future__ import annotations

import numpy as np

from ipuopt.models.exchange.check_times import MOST, Times, Violation, told
from ipuopt.models.exchange.problem import BoolArray, IntArray, Problem
from ipuopt.target.fabric import PARTNER, ROW

FEWEST_ITEMS = 64
"""Fewest items of a Paired64 transfer."""


def widths(problem: Problem, paired: BoolArray, times: Times) -> list[Violation]:
    """Transfers sent as Paired64 that cannot be, each with the first reason."""
    if not paired.any():
        return []
    index = np.flatnonzero(paired)
    words = problem.words[index]
    k = np.flatnonzero(times.wide)
    transfer, receiver = times.transfer[k], problem.destination_tile[k]
    source, address = problem.source[transfer], problem.destination_address[k]
    hidden = 51 + 2 * ROW[receiver]
    length = times.length[k]
    reasons = (
        (f"{FEWEST_ITEMS} or more pairs of words", index, words < 2 * FEWEST_ITEMS),
        ("an even number of words", index, words % 2 != 0),
        (
            "source addresses that are multiples of 8",
            index,
            np.any(problem.source_address[index] % 8 != 0, axis=1),
        ),
        ("a partner of its source", index, PARTNER[problem.source[index]] >= problem.tiles),
        ("receiving addresses that are multiples of 8", transfer, address % 8 != 0),
        ("receivers other than source and its partner", transfer, receiver // 2 == source // 2),
        (
            "complete pairs of receivers at one address",
            transfer,
            ~_complete(transfer, receiver, address),
        ),
        (
            "no early receiver whose control events coincide",
            transfer,
            times.early[k] & ((length == hidden) | (length == hidden + 2)),
        ),
    )
    expected: dict[int, str] = {}
    for reason, owner, bad in reasons:
        for j in np.unique(owner[bad]).tolist():
            expected.setdefault(j, reason)
    messages = [
        f"transfer {j} of tile {problem.source[j]}, {problem.words[j]} words, is sent as Paired64, "
        f"which needs {expected[j]}"
        for j in sorted(expected)[:MOST]
    ]
    return told("E8", messages, len(expected))


def _complete(transfer: IntArray, receiver: IntArray, address: IntArray) -> BoolArray:
    """Whether the partner receives the same transfer at the same address."""
    wide = len(PARTNER)
    key = transfer * wide + receiver
    order = np.argsort(key)
    wanted = transfer * wide + PARTNER[receiver]
    place = np.minimum(np.searchsorted(key[order], wanted), len(key) - 1)
    partner = order[place]
    same: BoolArray = (key[partner] == wanted) & (address[partner] == address)
    return same
