"""Compiled filter of dominated rows, used to thin labels and beam states."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ipuopt.compiled import kernel
from ipuopt.models.mapping.problem import IntArray

BoolArray = npt.NDArray[np.bool_]


@kernel
def _filter_sorted(key: IntArray, rows: IntArray, kept: BoolArray, frontier: IntArray) -> None:
    """Mark rows that no earlier kept row of the same key dominates; rows are sorted.

    ``frontier`` is scratch, as long as ``key``: to allocate is slow to compile.
    """
    size = 0
    for row in range(len(key)):
        if row and key[row] != key[row - 1]:
            size = 0
        dominated = False
        for position in range(size):
            other = frontier[position]
            dominated = True
            for column in range(rows.shape[1]):
                if rows[other, column] > rows[row, column]:
                    dominated = False
                    break
            if dominated:
                break
        if not dominated:
            frontier[size] = row
            size += 1
            kept[row] = True


def nondominated(key: IntArray, rows: IntArray) -> BoolArray:
    """Rows that no other row of the same key undercuts or equals in every column.

    Parameters
    ----------
    key
        Class of each row, shape ``(rows,)``.
    rows
        Figures of which less is better, shape ``(rows, columns)``. Of equal rows the first stays.
    """
    order = np.lexsort((*rows.T[::-1], key))
    kept = np.zeros(len(key), dtype=np.bool_)
    # In lexicographic order a row can only be dominated by one before it.
    _filter_sorted(key[order], np.ascontiguousarray(rows[order]), kept, np.empty_like(order))
    result = np.zeros_like(kept)
    result[order] = kept
    return result


def row_classes(columns: list[IntArray], count: int) -> IntArray:
    """Number the distinct rows of ``columns``, shape ``(count,)``; zeros without columns."""
    classes = np.zeros(count, dtype=np.int64)
    for column in columns:
        _, classes = np.unique(
            classes * (int(column.max(initial=0)) + 1) + column, return_inverse=True
        )
    return classes
