"""Cycles of kernels and local copies, for whole arrays or single numbers.

One place for what one call costs on one tile; mapping prices and lowering both use it. The figures
are the estimates of the public compiler for this chip (cost-model.md 3.1-3.6), not measurements.
All arithmetic is exact in integers.
"""

from __future__ import annotations

from typing import TypeVar, overload

import numpy as np
import numpy.typing as npt

from ipuopt.layout import IntArray, OrderKind

BoolArray = npt.NDArray[np.bool_]

Amount = TypeVar("Amount", int, IntArray)
"""A number, or an int64 array of numbers; the result has the same kind and shape."""

LAUNCH_CYCLES = 11
"""Start of a kernel on the six workers (cost-model.md 3.1)."""
MATMUL_CALL_CYCLES = 294
"""Start of one matrix kernel call (cost-model.md 3.1)."""
MATMUL_LOAD_INTERLEAVED = 940
"""Cycles to load weights of 16 columns x 64 inner from interleaved memory (cost-model.md 3.1)."""
MATMUL_LOAD_STANDARD = 1063
"""The same from standard memory (cost-model.md 3.1)."""
MATMUL_LOAD_FLOAT32 = 2126
"""The same for float32 weights, always in standard memory (cost-model.md 3.3)."""
COPY_CALL_CYCLES = 288
"""Start of one local copy call of a rearrangement (cost-model.md 3.1)."""
STANDARD_BYTES_PER_CYCLE = 8
"""Load, store and copy rate of standard memory (cost-model.md 3.1)."""
PACED_BYTES_PER_CYCLE = 6
"""Copy rate of partial sums into results and of local staging (cost-model.md 3.1)."""
GELU_CYCLES_PER_ELEMENT = 10
"""cost-model.md 3.1."""
ADD_ELEMENTS_PER_CYCLE = 16
"""cost-model.md 3.1."""
INDEXED_CYCLES_PER_ELEMENT = 10
"""Indexed transform between two element orders (cost-model.md 3.1)."""
PACK_LEFT_CYCLES_PER_ELEMENT = 4
"""Row-major to AMP left or block-major (cost-model.md 3.5)."""
PACK_RIGHT_CYCLES_PER_ELEMENT = 3
"""Row-major to AMP transposed right (cost-model.md 3.5)."""
PACK_BLOCK_CYCLES = 4096
"""Fixed part of packing into block-major with an inner block of 64 (cost-model.md 3.5)."""
PACK_BLOCK_INNER = 64
"""The only inner block that has a packing kernel of its own (cost-model.md 3.5)."""


def ceil_div(value: Amount, divisor: int) -> Amount:
    """``value / divisor`` rounded up, exact for any sign of ``value``."""
    return -(-value // divisor)


@overload
def matmul_cycles(
    rows: int, columns: int, inner: int, interleaved: bool, element_bytes: int = 2
) -> int: ...
@overload
def matmul_cycles(
    rows: IntArray,
    columns: IntArray | int,
    inner: IntArray | int,
    interleaved: bool | BoolArray,
    element_bytes: int = 2,
) -> IntArray: ...
def matmul_cycles(
    rows: IntArray | int,
    columns: IntArray | int,
    inner: IntArray | int,
    interleaved: bool | BoolArray,
    element_bytes: int = 2,
) -> IntArray | int:
    """One call of the matrix kernel: ``rows x inner`` times ``inner x columns``.

    ``294 + inner/16 * (ceil(columns*rows/4) + ceil(columns/16 * g/4))`` with g = 940 where the
    weights are read from interleaved memory, else 1063; float32 takes four times the rows and
    g = 2126 (cost-model.md 3.3).

    Parameters
    ----------
    rows, columns, inner
        Physical extents of the block; columns and inner are multiples of 16 in every legal plan
        and are rounded up to it otherwise. Arrays must broadcast.
    interleaved
        Whether the weights are read from interleaved memory; for arrays, one flag each or one for
        all. Ignored for float32.
    element_bytes
        2 or 4.

    Returns
    -------
    int or array
        Cycles.
    """
    groups = -(-columns // 16)
    if element_bytes == 4:
        stream, load = groups * 16 * rows, -(-groups * MATMUL_LOAD_FLOAT32 // 4)
    else:
        saved = (MATMUL_LOAD_STANDARD - MATMUL_LOAD_INTERLEAVED) * interleaved
        stream, load = groups * 4 * rows, -(-groups * (MATMUL_LOAD_STANDARD - saved) // 4)
    return MATMUL_CALL_CYCLES + -(-inner // 16) * (stream + load)


@overload
def sum_cycles(size_bytes: int, contributors: int) -> int: ...
@overload
def sum_cycles(size_bytes: IntArray, contributors: IntArray | int) -> IntArray: ...
def sum_cycles(size_bytes: IntArray | int, contributors: IntArray | int) -> IntArray | int:
    """One call of the sum kernel of a reduction: one output byte a cycle and contributor.

    A reduction over k partials costs ``(k-1+epochs)*b + 11*epochs`` in all (cost-model.md 3.3):
    one call with k contributors where all arrive in one phase, k-1 calls with two contributors
    (the running sum and the newcomer) where they arrive one by one.

    Parameters
    ----------
    size_bytes
        Bytes of the output.
    contributors
        Partials that the call adds up, the accumulator included.
    """
    return contributors * size_bytes + LAUNCH_CYCLES


def gelu_cycles(elements: Amount) -> Amount:
    """GeLU of ``elements`` elements (cost-model.md 3.4)."""
    return GELU_CYCLES_PER_ELEMENT * elements + LAUNCH_CYCLES


def add_cycles(elements: Amount) -> Amount:
    """Sum of two tensors, ``elements`` output elements (cost-model.md 3.4)."""
    return ceil_div(elements, ADD_ELEMENTS_PER_CYCLE) + LAUNCH_CYCLES


def cast_cycles(input_bytes: Amount, output_bytes: Amount) -> Amount:
    """Change of precision; bytes read and bytes written (cost-model.md 3.4)."""
    return ceil_div(input_bytes + output_bytes, STANDARD_BYTES_PER_CYCLE) + LAUNCH_CYCLES


def copy_cycles(size_bytes: Amount) -> Amount:
    """One local copy call of a rearrangement (cost-model.md 3.6)."""
    return COPY_CALL_CYCLES + ceil_div(size_bytes, STANDARD_BYTES_PER_CYCLE)


def paced_copy_cycles(size_bytes: Amount) -> Amount:
    """Copy of sums into the result, or of local weights into staging (cost-model.md 3.3)."""
    return ceil_div(size_bytes, PACED_BYTES_PER_CYCLE) + LAUNCH_CYCLES


def pack_cycles(kind: OrderKind, elements: Amount, block: int = PACK_BLOCK_INNER) -> Amount:
    """Turn row-major elements into another order on the same tile (cost-model.md 3.5).

    Parameters
    ----------
    kind
        Order of the result; row-major costs nothing.
    elements
        Elements of the shard, padding included.
    block
        Inner block of a block-major result. Other blocks than 64 have no kernel of their own and
        go at the rate of an indexed transform.
    """
    match kind:
        case OrderKind.ROW_MAJOR:
            return 0 * elements
        case OrderKind.TRANSPOSED_RIGHT:
            return PACK_RIGHT_CYCLES_PER_ELEMENT * elements + LAUNCH_CYCLES
        case OrderKind.LEFT:
            return PACK_LEFT_CYCLES_PER_ELEMENT * elements + LAUNCH_CYCLES
        case OrderKind.BLOCK_MAJOR if block == PACK_BLOCK_INNER:
            return PACK_LEFT_CYCLES_PER_ELEMENT * elements + PACK_BLOCK_CYCLES
        case _:
            return INDEXED_CYCLES_PER_ELEMENT * elements + LAUNCH_CYCLES


def unpack_cycles(kind: OrderKind, elements: Amount) -> Amount:
    """Turn elements of another order into row-major on the same tile.

    AMP output and transposed left: an indexed transform (cost-model.md 3.5). The source gives no
    figure for the other orders; the same rate is assumed for them.
    """
    if kind is OrderKind.ROW_MAJOR:
        return 0 * elements
    return INDEXED_CYCLES_PER_ELEMENT * elements + LAUNCH_CYCLES


def clear_cycles(size_bytes: Amount) -> Amount:
    """Fill with zeros.

    The source names the kernel (lowering.md 2.1) but not its cost; assumed here: the standard store
    rate of 8 bytes a cycle and one launch.
    """
    return ceil_div(size_bytes, STANDARD_BYTES_PER_CYCLE) + LAUNCH_CYCLES
