"""Kernel calls: symbols of package.md 4.2, and arguments from tables and addresses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ipuopt.codegen.kernels import copy_calls, run_calls
from ipuopt.codegen.kernels.names import gemm_name, row_pairs, transform_name
from ipuopt.layout import LEFT, ROW_MAJOR, TRANSPOSED_LEFT, Order, OrderKind
from ipuopt.program import CopyTable
from ipuopt.result import Result


def test_pairs_of_row_counts() -> None:
    assert row_pairs([366, 364, 364]) == {364: (364, 366), 366: (364, 366)}
    assert row_pairs([5]) == {5: (5, 5)}
    assert row_pairs([3, 1, 2]) == {1: (1, 2), 2: (1, 2), 3: (3, 3)}


def test_names() -> None:
    large = gemm_name(2, False, True, 240, 32, 366, (364, 366))
    assert large == "ipu_stack_gemm_f16_init_large_rows_interleaved_k240_c32_r364_r366"
    small = gemm_name(4, True, False, 8, 16, 5, (5, 5))
    assert small == "ipu_stack_gemm_f32_accumulate_small_rows_k8_c16_r5_r5"


@pytest.mark.parametrize(
    ("order", "pack", "name"),
    [
        (LEFT, True, "rearrange_row_major_to_amp_f16_o0_r3_p4_c5_p16"),
        (Order(OrderKind.BLOCK_MAJOR, 64), True, "rearrange_row_major_to_amp_f16_o2_r3_p4_c5_p16"),
        (
            Order(OrderKind.BLOCK_MAJOR, 32),
            True,
            "rearrange_row_major_to_block_major_32_f16_r3_p4_c5_p16",
        ),
        (TRANSPOSED_LEFT, False, "unpack_amp_to_row_major_f16_o1_r3_p4_c5_p16"),
        (LEFT, False, "unpack_amp_left_to_row_major_f16_r3_p4_c5_p16"),
    ],
)
def test_names_of_transforms(order: Order, pack: bool, name: str) -> None:
    assert order is not ROW_MAJOR
    assert transform_name(order, 2, (3, 4, 5, 16), pack=pack) == f"ipu_stack_{name}"


def test_runs(tiny_result: Result) -> None:
    built = tiny_result.built
    calls = run_calls(built.plan, built.program, built.address)
    assert calls.names == ("ipu_stack_gelu_tanh_approx_f16",)
    assert calls.tile.tolist() == built.program.runs.tile.tolist()
    assert calls.count.tolist() == [3, 3]
    assert calls.arguments[:, :4].tolist() == [[0x50020, 0x50010, 4, 0]] * 2


def test_copies(tiny_result: Result) -> None:
    """Contiguous copies by words or items, strided ones, and rows of words one by one."""
    built = tiny_result.built
    rows = [
        # step, tile, shards and offsets, bytes, rows, strides, cycles
        (0, 0, 0, 0, 1, 0, 40, 1, 40, 40, 0),
        (0, 0, 0, 0, 1, 0, 96, 1, 96, 96, 0),
        (0, 0, 0, 0, 1, 4, 96, 1, 96, 96, 0),
        (1, 1, 0, 8, 1, 0, 16, 3, 32, 64, 0),
        (1, 1, 0, 0, 1, 0, 12, 2, 16, 12, 0),
    ]
    program = replace(built.program, copies=CopyTable(*np.array(rows).T))
    address = np.array([0x64000, 0x68000, 0, 0, 0, 0])
    calls = copy_calls(program, address)
    words, items, strided = (
        f"ipu_stack_{name}" for name in ("static_copy_u32", "copy_u64", "copy_strided_u64")
    )
    listed = [
        (int(step), calls.names[symbol], arguments[:count].tolist())
        for step, symbol, arguments, count in zip(
            calls.step, calls.symbol.tolist(), calls.arguments, calls.count.tolist(), strict=True
        )
    ]
    assert listed == [
        (0, words, [0x68000, 0x64000, 10]),
        (0, items, [0x68000, 0x64000, 2, 0]),
        (0, words, [0x68004, 0x64000, 24]),
        (1, strided, [0x68000, 0x64008, 2, 3, 32, 64]),
        (1, words, [0x68000, 0x64000, 3]),
        (1, words, [0x6800C, 0x64010, 3]),
    ]
