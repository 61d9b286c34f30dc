"""Columns of the program tables: whole numbers of one length."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt


def none() -> npt.NDArray[np.int64]:
    """A column that is not given, for :func:`settle`."""
    return np.zeros(0, dtype=np.int64)


def settle(table: Any) -> None:
    """Turn every column of a frozen table into contiguous int64; those not given become zeros.

    Only columns with a default may be left out; a table has as many rows as its first column.
    """
    rows = len(getattr(table, fields(table)[0].name))
    for column in fields(table):
        value = getattr(table, column.name)
        if column.default_factory is none and not len(value):
            value = np.zeros(rows, dtype=np.int64)
        object.__setattr__(table, column.name, np.ascontiguousarray(value, dtype=np.int64))


def same_length(table: Any, *names: str) -> None:
    """Raise ValueError unless these columns, or all, have one length."""
    chosen = names or tuple(column.name for column in fields(table))
    lengths = {name: len(getattr(table, name)) for name in chosen}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{type(table).__name__}: columns differ in length: {lengths}")
