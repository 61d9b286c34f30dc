"""Starts of a component when transfers follow one another in given orders."""

from __future__ import annotations

import numpy as np

from ipuopt.compiled import small_kernel
from ipuopt.models.exchange.instance import Instance
from ipuopt.models.exchange.orders import ranks
from ipuopt.models.exchange.pairs import Pairs
from ipuopt.models.exchange.problem import IntArray
from ipuopt.models.exchange.sequence import Sequence


def sequence_keys(sequences: list[Sequence], start: IntArray) -> IntArray:
    """Starts of transfers in the orders of the machines that the bound names first.

    Parameters
    ----------
    sequences
        Orders of machines; one with transfers that an earlier one orders is left out.
    start
        Starts of the transfers that none of them orders.
    """
    key = start.copy()
    free = np.ones(len(start), np.bool_)
    for sequence in sorted(sequences, key=lambda one: -one.bound):
        jobs = sequence.order
        if free[jobs].all():
            free[jobs] = False
            key[jobs] = sequence.start
    return key


def starts_in_order(phase: Instance, pairs: Pairs, order: IntArray) -> IntArray:
    """Earliest starts when of each pair that shares anything the one earlier in ``order`` is first.

    All rules but (E4) and (E7) hold.
    """
    rank = ranks(order)
    forward = rank[pairs.one] < rank[pairs.other]
    after = np.repeat(np.arange(len(order)), np.diff(phase.before_bounds))
    first = np.concatenate((np.where(forward, pairs.one, pairs.other), phase.before))
    second = np.concatenate((np.where(forward, pairs.other, pairs.one), after))
    lag = np.concatenate((np.where(forward, pairs.high, -pairs.low), phase.lag))
    sort = np.argsort(rank[second], kind="stable")
    return _longest_paths(phase.head, first[sort], second[sort], lag[sort])


@small_kernel
def _longest_paths(head: IntArray, first: IntArray, second: IntArray, lag: IntArray) -> IntArray:
    """Earliest starts; arcs are sorted so that those into a transfer come before those out of it."""
    start = head.copy()
    for arc in range(len(first)):
        start[second[arc]] = max(start[second[arc]], start[first[arc]] + lag[arc])
    return start
