"""Words of rows that differ from iteration to iteration of a repeat (``package.md`` 3.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.codegen.isa import WordArray
from ipuopt.codegen.rows.encode import Rows, encode_rows
from ipuopt.models.exchange.problem import IntArray, Problem, Solution


@dataclass(frozen=True, slots=True)
class Patches:
    """Patched words of the rows of one phase, by tile and place.

    Attributes
    ----------
    tile, word
        Logical tile, and place in its row, shape ``(patches,)``.
    values
        The word in each iteration, shape ``(patches, iterations)``.
    """

    tile: IntArray
    word: IntArray
    values: WordArray

    def of_tile(self, tile: int) -> slice:
        """Those of a tile."""
        return slice(*np.searchsorted(self.tile, [tile, tile + 1]).tolist())


def patches_of(problem: Problem, solution: Solution, rows: Rows) -> Patches:
    """Words that hold source addresses of several iterations; none in a phase with one address.

    Parameters
    ----------
    problem, solution
        The phase and its schedule.
    rows
        Of the first iteration.

    Raises
    ------
    ValueError
        If addresses do not advance by one stride.

    Notes
    -----
    The words of a row depend on an address in its own field alone, and a field that holds all
    addresses carries nothing over: what a word grows by in one iteration, it grows by in each.
    """
    iterations = problem.source_address.shape[1]
    if iterations == 1:
        none = np.zeros(0, np.int64)
        return Patches(none, none, np.zeros((0, 1), np.uint32))
    if np.diff(problem.source_address, 2, axis=1).any():
        raise ValueError(f"{problem.name}: found source addresses at several strides, expected one")
    second = encode_rows(problem, solution, iteration=1)
    at = np.flatnonzero(rows.words != second.words)
    first = rows.words[at].astype(np.int64)
    growth = second.words[at].astype(np.int64) - first
    tile = np.searchsorted(rows.bounds, at, side="right") - 1
    values = first[:, None] + growth[:, None] * np.arange(iterations)
    return Patches(tile, at - rows.bounds[tile], values.astype(np.uint32))
