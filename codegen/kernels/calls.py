"""From runs and copies of a program to kernel calls: a symbol and its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from ipuopt.codegen.kernels.names import (
    IN_RUNTIME,
    PREFIX,
    TYPES,
    gemm_name,
    row_pairs,
    transform_code,
    transform_name,
)
from ipuopt.layout import IntArray, Order, OrderKind
from ipuopt.plan import Plan
from ipuopt.program import Kernel, Program
from ipuopt.target.constants import WORD_BYTES, WORKERS

MOST_ARGUMENTS = 8
"""Output, and up to seven inputs and scalars: $m2 to $m9 (package.md 3.3)."""
ITEM_BYTES = 8
"""Items of the copying and filling kernels (package.md 4.2)."""
LEAST_ITEM_COPY = 48
"""Bytes from which a copy uses all workers (lowering.md 2.4)."""
_KINDS = tuple(OrderKind)


@dataclass(frozen=True, slots=True)
class Calls:
    """Kernel calls, shape ``(calls,)`` each, sorted by step and in order of execution on each tile.

    Attributes
    ----------
    step, tile
        Program step, logical tile.
    names
        Symbols, each once.
    symbol
        Index into ``names``.
    arguments
        Values for $m2, $m3 and so on, shape ``(calls, 8)``; 0 from ``count`` on.
    count
        Arguments of each call.
    root, advance
        Of operands that move in a repeat: address of their shard, and bytes an iteration; shape as
        ``arguments``, which say where they are in the first iteration. Without any, no rows.
    """

    step: IntArray
    tile: IntArray
    names: tuple[str, ...]
    symbol: IntArray
    arguments: IntArray
    count: IntArray
    root: IntArray = field(default_factory=lambda: np.zeros((0, MOST_ARGUMENTS), np.int64))
    advance: IntArray = field(default_factory=lambda: np.zeros((0, MOST_ARGUMENTS), np.int64))

    def of_step(self, step: int) -> slice:
        """Calls of a step of the program."""
        return slice(*np.searchsorted(self.step, [step, step + 1]).tolist())


Group = tuple[IntArray, str, tuple[IntArray | int, ...]]
"""Positions of calls of one symbol, the symbol, and their arguments."""


def _collect(step: IntArray, tile: IntArray, groups: Iterator[Group]) -> Calls:
    symbol, count = np.zeros((2, len(step)), np.int64)
    arguments = np.zeros((len(step), MOST_ARGUMENTS), np.int64)
    names: dict[str, int] = {}
    for at, name, columns in groups:
        symbol[at] = names.setdefault(name, len(names))
        count[at] = len(columns)
        for place, column in enumerate(columns):
            arguments[at, place] = column
    return Calls(step, tile, tuple(names), symbol, arguments, count)


def _moving(calls: Calls, address: IntArray, *operands: tuple[IntArray, IntArray]) -> Calls:
    """The calls with shards and advances of their first arguments."""
    if not any(moved.any() for _, moved in operands):
        return calls
    root, advance = np.zeros((2, *calls.arguments.shape), np.int64)
    for place, (shard, moved) in enumerate(operands):
        at = np.flatnonzero(moved)
        root[at, place], advance[at, place] = address[shard[at]], moved[at]
    return replace(calls, root=root, advance=advance)


def _alike(at: IntArray, *columns: IntArray) -> Iterator[tuple[IntArray, list[int]]]:
    """Positions with equal values, and these values."""
    if not len(at):
        return
    key = np.stack([column[at] for column in columns], axis=1)
    values, which = np.unique(key, axis=0, return_inverse=True)
    order = np.argsort(which.reshape(-1), kind="stable")
    stops = np.cumsum(np.bincount(which.reshape(-1), minlength=len(values)))
    for row, part in zip(values.tolist(), np.split(order, stops[:-1]), strict=True):
        yield at[part], row


@dataclass(frozen=True, slots=True)
class _Operands:
    """Columns of the runs that the symbols and arguments are made of."""

    program: Program
    element_bytes: IntArray
    output: IntArray
    input0: IntArray
    input1: IntArray


def run_calls(plan: Plan, program: Program, address: IntArray) -> Calls:
    """One call a kernel run.

    Parameters
    ----------
    address
        Byte address of every shard.
    """
    runs, sizes = program.runs, np.array([value.element_bytes for value in plan.values], np.int64)
    operands = _Operands(
        program,
        sizes[program.shards.value],
        address[runs.output] + runs.output_offset,
        address[runs.input0] + runs.input0_offset,
        address[runs.input1] + runs.input1_offset,
    )
    makers: dict[Kernel, Callable[[_Operands, IntArray], Iterator[Group]]] = {
        Kernel.MATMUL: _matmul,
        Kernel.SUM: _sum,
        Kernel.GELU: _gelu,
        Kernel.ADD: _add,
        Kernel.CAST: _cast,
        Kernel.PACK: _pack,
        Kernel.UNPACK: _unpack,
        Kernel.CLEAR: _clear,
    }

    def groups() -> Iterator[Group]:
        for kernel, maker in makers.items():
            yield from maker(operands, np.flatnonzero(runs.kernel == kernel))

    return _moving(
        _collect(runs.step, runs.tile, groups()),
        address,
        (runs.output, runs.output_advance),
        (runs.input0, runs.input0_advance),
        (runs.input1, runs.input1_advance),
    )


def _matmul(of: _Operands, at: IntArray) -> Iterator[Group]:
    runs, shards = of.program.runs, of.program.shards
    size = of.element_bytes[runs.output]
    interleaved = shards.interleaved[runs.input1]
    for same, (element, region, inner, columns) in _alike(
        at, size, interleaved, runs.inner, runs.columns
    ):
        pairs = row_pairs(runs.rows[same].tolist())
        for part, (rows, accumulate) in _alike(same, runs.rows, runs.accumulate):
            name = gemm_name(
                element, bool(accumulate), bool(region), inner, columns, rows, pairs[rows]
            )
            yield part, name, (of.output[part], of.input0[part], of.input1[part])


def _sum(of: _Operands, at: IntArray) -> Iterator[Group]:
    runs = of.program.runs
    for part, (element,) in _alike(at, of.element_bytes[runs.output]):
        others, elements = runs.inner[part] - 1, runs.rows[part]
        operands = (of.output[part], of.input0[part], of.input1[part], others, elements)
        yield part, f"{PREFIX}reduce_sum_{TYPES[element]}", operands


def _gelu(of: _Operands, at: IntArray) -> Iterator[Group]:
    runs = of.program.runs
    for part, (element,) in _alike(at, of.element_bytes[runs.output]):
        operands = (of.output[part], of.input0[part], runs.rows[part])
        yield part, f"{PREFIX}gelu_tanh_approx_{TYPES[element]}", operands


def _add(of: _Operands, at: IntArray) -> Iterator[Group]:
    runs = of.program.runs
    for part, (element,) in _alike(at, of.element_bytes[runs.output]):
        operands = (of.output[part], of.input0[part], of.input1[part], runs.rows[part], 1, 1)
        yield part, f"{PREFIX}add_{TYPES[element]}", operands


def _cast(of: _Operands, at: IntArray) -> Iterator[Group]:
    runs = of.program.runs
    sizes = of.element_bytes[runs.input0], of.element_bytes[runs.output]
    for part, (before, after) in _alike(at, *sizes):
        operands = (of.output[part], of.input0[part], runs.rows[part])
        yield part, f"{PREFIX}cast_{TYPES[before]}_{TYPES[after]}", operands


def _transforms(of: _Operands, at: IntArray, *, pack: bool) -> Iterator[Group]:
    """Between row-major and another order, that of ``packed``; the logical part counts."""
    runs, shards = of.program.runs, of.program.shards
    packed, plain = (runs.output, runs.input0) if pack else (runs.input0, runs.output)
    keys = (
        shards.order[packed],
        shards.order_block[packed],
        of.element_bytes[packed],
        shards.row_end[plain] - shards.row_start[plain],
        shards.row_stop[packed] - shards.row_start[packed],
        shards.column_end[plain] - shards.column_start[plain],
        shards.column_stop[packed] - shards.column_start[packed],
    )
    for part, (kind, block, element, *extents) in _alike(at, *keys):
        order = Order(_KINDS[kind], block)
        rows, physical_rows, columns, physical_columns = extents
        name = transform_name(
            order, element, (rows, physical_rows, columns, physical_columns), pack=pack
        )
        code = transform_code(order, element, pack=pack) or 0
        if pack:
            scalars = (rows, physical_rows, code, columns, physical_columns)
        else:
            scalars = (1, rows, physical_rows, columns, physical_columns)
        yield part, name, (of.output[part], of.input0[part], *scalars)


def _pack(of: _Operands, at: IntArray) -> Iterator[Group]:
    return _transforms(of, at, pack=True)


def _unpack(of: _Operands, at: IntArray) -> Iterator[Group]:
    return _transforms(of, at, pack=False)


def _clear(of: _Operands, at: IntArray) -> Iterator[Group]:
    runs = of.program.runs
    size = runs.rows[at] * of.element_bytes[runs.output[at]]
    # Shards are aligned to items, so the rest of the last item belongs to no other one.
    items = -(-size // ITEM_BYTES)
    if len(at):
        yield at, f"{PREFIX}fill_zero_u64", (of.output[at], items // WORKERS, items % WORKERS)


def copy_calls(program: Program, address: IntArray) -> Calls:
    """Calls of the local copies: one a copy, or one a row where a row is no multiple of 8 bytes.

    Parameters
    ----------
    address
        Byte address of every shard.
    """
    copies = program.copies
    source = address[copies.source] + copies.source_offset
    destination = address[copies.destination] + copies.destination_offset
    strided = copies.count > 1
    odd = (source | destination | copies.size_bytes) % ITEM_BYTES > 0
    odd |= strided & ((copies.source_stride | copies.destination_stride) % ITEM_BYTES > 0)
    odd |= (copies.source_advance | copies.destination_advance) % ITEM_BYTES > 0
    rows = np.where(odd, copies.count, 1)
    of = np.repeat(np.arange(len(copies)), rows)
    row = np.arange(len(of)) - np.repeat(np.cumsum(rows) - rows, rows)
    source = source[of] + row * copies.source_stride[of]
    destination = destination[of] + row * copies.destination_stride[of]
    size, strided, odd = copies.size_bytes[of], (strided & ~odd)[of], odd[of]
    words = ~strided & (odd | (size < LEAST_ITEM_COPY))
    items = size // ITEM_BYTES

    def groups() -> Iterator[Group]:
        for chosen, name, scalars in (
            (words, IN_RUNTIME, (size // WORD_BYTES,)),
            (~words & ~strided, f"{PREFIX}copy_u64", (items // WORKERS, items % WORKERS)),
            (
                strided,
                f"{PREFIX}copy_strided_u64",
                (
                    items,
                    copies.count[of],
                    copies.source_stride[of],
                    copies.destination_stride[of],
                ),
            ),
        ):
            at = np.flatnonzero(chosen)
            if len(at):
                columns = (destination, source, *scalars)
                yield at, name, tuple(column[at] for column in columns)

    return _moving(
        _collect(copies.step[of], copies.tile[of], groups()),
        address,
        (copies.destination[of], copies.destination_advance[of]),
        (copies.source[of], copies.source_advance[of]),
    )
