"""Cycle formulas: the worked examples of cost-model.md, and equality of arrays and numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipuopt.layout import OrderKind
from ipuopt.target import kernels

SINGLE: tuple[Callable[..., object], ...] = (
    kernels.gelu_cycles,
    kernels.add_cycles,
    kernels.copy_cycles,
    kernels.paced_copy_cycles,
    kernels.clear_cycles,
)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        # GEMM 1 and 2 of seed 004 (cost-model.md 3.3): 15*(2920+470), 18*(2196+705)
        (kernels.matmul_cycles(365, 32, 240, True), 294 + 15 * (2920 + 470)),
        (kernels.matmul_cycles(183, 48, 288, True), 294 + 18 * (2196 + 705)),
        # the built kernel has 366 rows (lowering.md 7)
        (kernels.matmul_cycles(366, 32, 240, True), 51264),
        (kernels.matmul_cycles(1, 16, 16, False), 294 + 4 + 266),
        (kernels.matmul_cycles(3, 16, 16, False, 4), 294 + 48 + 532),
        (kernels.sum_cycles(4736, 5), 23691),
        (kernels.sum_cycles(1344, 15), 20171),
        (kernels.paced_copy_cycles(4736), 801),
        (kernels.paced_copy_cycles(1344), 235),
        (kernels.gelu_cycles(2144), 21451),
        (kernels.add_cycles(17), 13),
        (kernels.cast_cycles(9, 8), 14),
        (kernels.copy_cycles(64), 296),
        (kernels.copy_cycles(576), 360),
        (kernels.clear_cycles(9), 13),
        (kernels.pack_cycles(OrderKind.ROW_MAJOR, 100), 0),
        (kernels.pack_cycles(OrderKind.LEFT, 100), 411),
        (kernels.pack_cycles(OrderKind.TRANSPOSED_RIGHT, 100), 311),
        (kernels.pack_cycles(OrderKind.BLOCK_MAJOR, 100), 4496),
        (kernels.pack_cycles(OrderKind.BLOCK_MAJOR, 100, 240), 1011),
        (kernels.pack_cycles(OrderKind.OUTPUT, 100), 1011),
        (kernels.unpack_cycles(OrderKind.TRANSPOSED_LEFT, 100), 1011),
        (kernels.unpack_cycles(OrderKind.ROW_MAJOR, 100), 0),
    ],
)
def test_known_figures(found: int, expected: int) -> None:
    assert found == expected


@given(st.integers(0, 10**6), st.integers(2, 40))
def test_streamed_and_complete_sums_follow_one_formula(size: int, partials: int) -> None:
    """(k-1+epochs)*b + 11*epochs, complete with one epoch and streamed with k-1."""
    complete = kernels.sum_cycles(size, partials)
    streamed = (partials - 1) * kernels.sum_cycles(size, 2)
    assert complete == (partials - 1 + 1) * size + 11
    assert streamed == (partials - 1 + partials - 1) * size + 11 * (partials - 1)


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=8))
def test_arrays_equal_numbers(amounts: list[int]) -> None:
    array = np.array(amounts, dtype=np.int64)
    for formula in SINGLE:
        found = formula(array)
        assert isinstance(found, np.ndarray) and found.dtype == np.int64
        assert found.tolist() == [formula(amount) for amount in amounts]
    for kind in OrderKind:
        packed = kernels.pack_cycles(kind, array)
        assert packed.tolist() == [kernels.pack_cycles(kind, amount) for amount in amounts]
        unpacked = kernels.unpack_cycles(kind, array)
        assert unpacked.tolist() == [kernels.unpack_cycles(kind, amount) for amount in amounts]


def test_matmul_arrays_take_a_flag_each() -> None:
    rows, columns, inner = (np.array(v, dtype=np.int64) for v in ([5, 7], [16, 48], [64, 240]))
    flags = np.array([True, False])
    found = kernels.matmul_cycles(rows, columns, inner, flags)
    assert found.dtype == np.int64
    assert found.tolist() == [
        kernels.matmul_cycles(5, 16, 64, True),
        kernels.matmul_cycles(7, 48, 240, False),
    ]
