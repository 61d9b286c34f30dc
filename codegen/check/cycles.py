"""(L4) Cycles of runs and copies, from the formulas of cost-model.md 3 written out again."""

from __future__ import annotations

import numpy as np

from ipuopt.codegen.check.reading import KINDS, Reading, Violations, first_of
from ipuopt.layout import IntArray, OrderKind
from ipuopt.plan import MatMulStep
from ipuopt.program import Kernel, Role


def _up(value: IntArray, divisor: int) -> IntArray:
    return (value + divisor - 1) // divisor


def check_cycles(reading: Reading) -> Violations:
    """Runs, then copies."""
    runs, copies = reading.program.runs, reading.program.copies
    expected = _run_cycles(reading)
    found = first_of(
        "L4",
        runs.cycles != expected,
        lambda i: (
            f"run {i} of {Kernel(runs.kernel[i]).name}: {runs.cycles[i]} cycles, "
            f"expected {expected[i]}"
        ),
    )
    group, wanted, charged = _copy_cycles(reading)
    return found + first_of(
        "L4",
        charged != wanted,
        lambda i: (
            f"copies of {reading.name(copies.source[group[i]])} in step "
            f"{copies.step[group[i]]}: {charged[i]} cycles, expected {wanted[i]}"
        ),
    )


def _run_cycles(reading: Reading) -> IntArray:
    runs, shards = reading.program.runs, reading.program.shards
    size = reading.element_bytes[runs.output]
    expected = np.zeros(len(runs), dtype=np.int64)
    for kernel in Kernel:
        at = np.flatnonzero(runs.kernel == kernel)
        rows, e = runs.rows[at], size[at]
        match kernel:
            case Kernel.MATMUL:
                # Interleaved weights load a group of 16 columns x 64 inner in 940 cycles,
                # standard ones in 1063, float32 in 2126 at a quarter of the row rate.
                load = np.where(shards.interleaved[runs.input1[at]] == 1, 940, 1063)
                load = np.where(e == 4, 2126, load)
                factor = np.where(e == 4, 4, 1)
                columns = runs.columns[at]
                step = _up(columns * rows * factor, 4) + _up(columns // 16 * load, 4)
                expected[at] = 294 + runs.inner[at] // 16 * step
            case Kernel.SUM:
                expected[at] = runs.inner[at] * rows * e + 11
            case Kernel.GELU:
                expected[at] = 10 * rows + 11
            case Kernel.ADD:
                expected[at] = _up(rows, 16) + 11
            case Kernel.CAST:
                expected[at] = _up(rows * (e + reading.element_bytes[runs.input0[at]]), 8) + 11
            case Kernel.CLEAR:
                expected[at] = _up(rows * e, 8) + 11
            case Kernel.UNPACK:
                expected[at] = 10 * rows + 11
            case Kernel.PACK:
                kind, block = shards.order[runs.output[at]], shards.order_block[runs.output[at]]
                expected[at] = 10 * rows + 11
                rates = {OrderKind.LEFT: 4, OrderKind.TRANSPOSED_RIGHT: 3}
                for order, rate in rates.items():
                    such = kind == KINDS.index(order)
                    expected[at[such]] = rate * rows[such] + 11
                such = (kind == KINDS.index(OrderKind.BLOCK_MAJOR)) & (block == 64)
                expected[at[such]] = 4 * rows[such] + 4096
    return expected


def _copy_cycles(reading: Reading) -> tuple[IntArray, IntArray, IntArray]:
    """First copy of each priced group, its expected cycles, and the cycles charged.

    In a product the seeds are free, since the sum's price counts reading them, and the sums of a
    root are copied into one result shard at the paced rate in all. Elsewhere every call counts.
    """
    program, copies = reading.program, reading.program.copies
    if not len(copies):
        return (np.zeros(0, dtype=np.int64),) * 3
    plan_step = np.array([step.plan_step for step in program.steps], dtype=np.int64)
    products = [isinstance(step, MatMulStep) for step in reading.plan.steps]
    in_product = np.array(products)[plan_step[copies.step]]
    role = program.shards.role
    seed = in_product & (role[copies.source] == Role.PARTIAL)
    paced = in_product & ~seed
    key = np.where(
        paced,
        copies.source * len(program.shards) + copies.destination,
        -1 - np.arange(len(copies)),
    )
    _, first, which = np.unique(
        np.stack((copies.step, key), axis=1), axis=0, return_index=True, return_inverse=True
    )
    which = which.reshape(-1)
    moved = copies.size_bytes * copies.count
    total, charged = np.zeros((2, len(first)), dtype=np.int64)
    np.add.at(total, which, moved)
    np.add.at(charged, which, copies.cycles)
    wanted = np.where(paced[first], _up(total, 6) + 11, 288 + _up(total, 8))
    return first, np.where(seed[first], 0, wanted), charged
