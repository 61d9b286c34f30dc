"""Cycles of a kernel call, by the formulas of :mod:`ipuopt.target.kernels`, from symbol and arguments.

What the arguments say counts: a call that passes other extents than its run has is charged otherwise.
The extents of a matrix product are in its symbol alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ipuopt.codegen.kernels.calls import ITEM_BYTES
from ipuopt.codegen.kernels.names import order_of
from ipuopt.target import kernels
from ipuopt.target.constants import WORD_BYTES, WORKERS

Arguments = Sequence[int]
Charge = Callable[[re.Match[str], Arguments], int]

_BYTES = {"f16": 2, "f32": 4}


def gemm(match: re.Match[str], x: Arguments) -> int:
    """One block product."""
    number, _, size, region, *extents = match.groups()
    inner, columns, small, large = map(int, extents)
    rows = small if size == "small" else large
    return kernels.matmul_cycles(rows, columns, inner, region is not None, _BYTES[number])


def reduce_sum(match: re.Match[str], x: Arguments) -> int:
    """First partial and the others."""
    return kernels.sum_cycles(x[4] * _BYTES[match[1]], x[3] + 1)


def gelu(_: re.Match[str], x: Arguments) -> int:
    """By elements."""
    return kernels.gelu_cycles(x[2])


def add(_: re.Match[str], x: Arguments) -> int:
    """By elements."""
    return kernels.add_cycles(x[3])


def cast(match: re.Match[str], x: Arguments) -> int:
    """By bytes read and written."""
    before, after = match.groups()
    return kernels.cast_cycles(x[2] * _BYTES[before], x[2] * _BYTES[after])


def pack(match: re.Match[str], x: Arguments) -> int:
    """By elements of the physical extents."""
    order = order_of(match, pack=True)
    return kernels.pack_cycles(order.kind, x[3] * x[6], order.block)


def unpack(match: re.Match[str], x: Arguments) -> int:
    """By elements of the physical extents of all matrices."""
    return kernels.unpack_cycles(order_of(match, pack=False).kind, x[2] * x[4] * x[6])


def clear(_: re.Match[str], x: Arguments) -> int:
    """By items."""
    return kernels.clear_cycles(ITEM_BYTES * (WORKERS * x[1] + x[2]))


def copy(_: re.Match[str], x: Arguments) -> int:
    """By items."""
    return kernels.copy_cycles(ITEM_BYTES * (WORKERS * x[2] + x[3]))


def copy_strided(_: re.Match[str], x: Arguments) -> int:
    """By items of all rows."""
    return kernels.copy_cycles(ITEM_BYTES * x[2] * x[3])


def copy_words(_: re.Match[str], x: Arguments) -> int:
    """By words."""
    return kernels.copy_cycles(WORD_BYTES * x[2])
