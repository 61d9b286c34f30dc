"""What a kernel call does to the memory of a tile: from symbol and arguments to bytes.

Numbers are those of the chip where a source says how it rounds (``package.md`` 4.2):

* ``gemm_f16``: see :mod:`~ipuopt.codegen.kernels.gemm`; ``gemm_f32`` adds blocks of 8 of the inner
  axis in float32, in their order.
* ``reduce_sum_f16``: first partial, then the others in order, each addition rounded to float16;
  ``f32`` likewise.
* ``gelu_tanh_approx_f16``: x/2 (1 + tanh(a (x + b x x x))) with a = 0x3a62 and b = 0x29b9, every
  operation rounded to float16; the rounding of the chip's own tanh is in no source, here it is the
  nearest number. ``f32`` the same in float32.
* ``add``, ``cast``: rounded to nearest, ties to even.
* Rearrangements put zeros where the physical extents exceed the logical ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ipuopt.codegen.kernels.gemm import PANEL, accumulate
from ipuopt.codegen.kernels.names import order_of
from ipuopt.errors import InputError
from ipuopt.layout import Order, OrderKind
from ipuopt.orders import element_index, micro_elements
from ipuopt.target.constants import WORD_BYTES, WORKERS

Bytes = npt.NDArray[np.uint8]
Arguments = Sequence[int]
Array = npt.NDArray[Any]

_DTYPES: Mapping[str, npt.DTypeLike] = {"f16": np.float16, "f32": np.float32}
_GELU_A, _GELU_B = np.array([0x3A62, 0x29B9], np.uint16).view(np.float16)


class Operands:
    """Memory of a tile as arrays of numbers.

    Parameters
    ----------
    memory
        Bytes of the tile, changed by the call.
    base
        Address of the first one.
    name
        Of the kernel, for messages.

    Attributes
    ----------
    spans
        Bytes that were asked for, by address.
    """

    def __init__(self, memory: Bytes, base: int, name: str) -> None:
        self._memory, self._base, self._name = memory, base, name
        self.spans: dict[int, int] = {}

    def at(self, address: int, dtype: npt.DTypeLike, *shape: int) -> Array:
        """View of numbers from an address on.

        Raises
        ------
        InputError
            If they are not whole inside the memory.
        """
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        start = address - self._base
        if start < 0 or start + size > len(self._memory):
            stop = self._base + len(self._memory)
            found = f"{self._name}: found an operand of {size} bytes at {address:#x}"
            raise InputError(f"{found}, expected one inside {self._base:#x}..{stop:#x}")
        self.spans[address] = max(size, self.spans.get(address, 0))
        return self._memory[start : start + size].view(dtype).reshape(shape)


def gemm(match: re.Match[str], x: Arguments, of: Operands) -> None:
    """Block product, added to what is there or not."""
    dtype, adds, size, _, *extents = match.groups()
    inner, columns, small, large = map(int, extents)
    rows = small if size == "small" else large
    number = np.dtype(_DTYPES[dtype])
    micro = micro_elements(number.itemsize)
    left = of.at(x[1], number, inner // micro, rows, micro)
    weights = of.at(x[2], number, columns // PANEL, inner // micro, PANEL, micro)
    result = of.at(x[0], number, columns // PANEL, rows, PANEL)
    wide = left.astype(np.float32), weights.swapaxes(2, 3).astype(np.float32, order="C")
    before = (
        result.astype(np.float32) if adds == "accumulate" else np.zeros_like(result, np.float32)
    )
    if number.itemsize == np.float16().itemsize:
        result[:] = accumulate(*wide, before, x[0] ^ x[1] << 7 ^ x[2] << 13).view(np.float16)
        return
    places = _output_places()
    before = before[:, :, places]
    for block in range(inner // micro):
        before += np.matmul(wide[0][block], wide[1][:, block])
    result[:, :, places] = before


def _output_places() -> Array:
    """Places of a panel's columns in the order of float32 results (cost-model.md 1.6)."""
    zero = np.zeros(1, np.int64)
    return element_index(Order(OrderKind.OUTPUT), zero, np.arange(PANEL), 1, PANEL, 4)


def reduce_sum(match: re.Match[str], x: Arguments, of: Operands) -> None:
    """First partial, then the others in order."""
    dtype = _DTYPES[match[1]]
    total = of.at(x[1], dtype, x[4]).copy()
    for other in of.at(x[2], dtype, x[3], x[4]):
        total += other
    of.at(x[0], dtype, x[4])[:] = total


def gelu(match: re.Match[str], x: Arguments, of: Operands) -> None:
    """Tanh form, every operation rounded."""
    dtype = np.dtype(_DTYPES[match[1]])
    value = of.at(x[1], dtype, x[2]).copy()
    a, b, one, half = np.array([_GELU_A, _GELU_B, 1, 0.5], dtype)
    with np.errstate(over="ignore"):  # a large cube is infinite, and its tanh 1
        inner = a * (value + b * (value * value * value))
    of.at(x[0], dtype, x[2])[:] = (half * value) * (one + np.tanh(inner))


def add(match: re.Match[str], x: Arguments, of: Operands) -> None:
    """Element by element."""
    dtype = _DTYPES[match[1]]
    left, right = of.at(x[1], dtype, x[3]), of.at(x[2], dtype, x[3])
    of.at(x[0], dtype, x[3])[:] = left + right


def cast(match: re.Match[str], x: Arguments, of: Operands) -> None:
    """Nearest numbers of the other type."""
    before, after = match.groups()
    value = of.at(x[1], _DTYPES[before], x[2]).astype(_DTYPES[after])
    of.at(x[0], _DTYPES[after], x[2])[:] = value


def _transform(match: re.Match[str], x: Arguments, of: Operands, *, pack: bool) -> None:
    """Between rows that start at words and another order."""
    _, _, dtype, _, *texts = match.groups()
    order = order_of(match, pack=pack)
    rows, physical_rows, columns, physical_columns = map(int, texts)
    number = np.dtype(_DTYPES[dtype])
    width = -(-columns * number.itemsize // WORD_BYTES) * WORD_BYTES // number.itemsize
    plain = of.at(x[1] if pack else x[0], number, rows, width)
    packed = of.at(x[0] if pack else x[1], number, physical_rows * physical_columns)
    row, column = np.arange(rows)[:, None], np.arange(columns)[None, :]
    extents = physical_rows, physical_columns
    places = element_index(order, row, column, *extents, number.itemsize)
    if pack:
        values = plain[:, :columns].copy()
        packed[:] = 0
        packed[places] = values
    else:
        plain[:, :columns] = packed[places]


def pack(match: re.Match[str], x: Arguments, of: Operands) -> None:
    """Row-major to another order."""
    _transform(match, x, of, pack=True)


def unpack(match: re.Match[str], x: Arguments, of: Operands) -> None:
    """Another order to row-major."""
    _transform(match, x, of, pack=False)


def clear(_: re.Match[str], x: Arguments, of: Operands) -> None:
    """Zeros."""
    of.at(x[0], np.uint64, WORKERS * x[1] + x[2])[:] = 0


def copy(_: re.Match[str], x: Arguments, of: Operands) -> None:
    """Contiguous items."""
    items = WORKERS * x[2] + x[3]
    of.at(x[0], np.uint64, items)[:] = of.at(x[1], np.uint64, items)


def copy_strided(_: re.Match[str], x: Arguments, of: Operands) -> None:
    """Rows of items, in order."""
    for row in range(x[3]):
        source = of.at(x[1] + row * x[4], np.uint64, x[2])
        of.at(x[0] + row * x[5], np.uint64, x[2])[:] = source
