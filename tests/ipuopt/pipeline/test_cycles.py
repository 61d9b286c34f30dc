"""Cycles of model, program and device, side by side."""

from __future__ import annotations

import pytest

from ipuopt.device.ledger import Ledger
from ipuopt.errors import CheckError
from ipuopt.pipeline.cycles import KernelCycles, StepCycles, compare_cycles
from ipuopt.result import Result

GELU = "ipu_stack_gelu_tanh_approx_f16"


def ledger(*entries: tuple[int, int]) -> Ledger:
    """Calls of Gelu: physical tile and elements."""
    result = Ledger()
    for tile, elements in entries:
        result.enter(tile, GELU, (0x50020, 0x50010, elements))
    return result


def test_the_longest_tile_and_all_tiles(tiny_result: Result) -> None:
    """4 elements take 51 cycles by the formula; the tables of this result say 30."""
    steps, kernels = compare_cycles(tiny_result.built, [171], ledger((2, 4), (0, 5)))
    assert steps == (StepCycles("x for a", 670, 770, 771), StepCycles("a", 30, 30, 61))
    assert kernels == (KernelCycles("gelu", 2, 60, 112),)
    assert not kernels[0].agrees
    assert KernelCycles("copy", 2, 60, 112).agrees


def test_calls_that_are_not_there(tiny_result: Result) -> None:
    """Logical tile 1 is physical tile 2; tile 64 has no part."""
    for entries in ([(0, 4)], [(0, 4), (2, 4), (2, 4)], [(0, 4), (2, 4), (64, 4)]):
        with pytest.raises(CheckError, match=r"kernel: logical tile [12]: found . kernel calls"):
            compare_cycles(tiny_result.built, [170], ledger(*entries))
