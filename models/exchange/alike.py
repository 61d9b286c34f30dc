"""Phases that every schedule serves alike, although their addresses differ."""

from __future__ import annotations

import numpy as np

from ipuopt.models.exchange.instance import Instance, instance
from ipuopt.models.exchange.problem import IntArray, Problem
from ipuopt.models.exchange.widths import qualifying


def alike(one: Problem, other: Problem) -> bool:
    """Whether the schedules of one phase are those of the other.

    The same words go between the same tiles in the same order. Addresses matter in that spans of a
    tile overlap or touch (E5, and pointers that may be dropped), share an element (E6), or are
    aligned for pairs (E8): where all that is the same, a shift of addresses changes nothing.
    """
    columns = ("source", "words", "destination_start", "destination_tile", "paired")
    if one.tiles != other.tiles or one.source_address.shape != other.source_address.shape:
        return False
    if not all(np.array_equal(getattr(one, name), getattr(other, name)) for name in columns):
        return False
    if same_addresses(one, other):
        return True
    if not np.array_equal(_ranks(one), _ranks(other)):
        return False
    if not np.array_equal(qualifying(one), qualifying(other)):
        return False
    of_one, of_other = instance(one), instance(other)
    return all(
        np.array_equal(getattr(of_one, name), getattr(of_other, name)) for name in Instance._fields
    )


def same_addresses(one: Problem, other: Problem) -> bool:
    """Whether two phases of the same shape read and write the same addresses."""
    return np.array_equal(one.source_address, other.source_address) and np.array_equal(
        one.destination_address, other.destination_address
    )


def _ranks(problem: Problem) -> IntArray:
    """Ends of all spans, numbered in the order in which they lie on each tile."""
    iterations = problem.source_address.shape[1]
    begin = np.concatenate((problem.source_address.ravel(), problem.destination_address))
    tile = np.concatenate((np.repeat(problem.source, iterations), problem.destination_tile))
    receivers = np.diff(problem.destination_start)
    words = np.concatenate(
        (np.repeat(problem.words, iterations), np.repeat(problem.words, receivers))
    )
    ends = np.concatenate((begin, begin + 4 * words)) + (np.tile(tile, 2) << 32)
    ranks: IntArray = np.unique(ends, return_inverse=True)[1]
    return ranks
