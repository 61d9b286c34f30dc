"""Layouts in the files that :mod:`ipuopt.models.mapping.peer.read` reads."""

from __future__ import annotations

from ipuopt.layout import (
    COLUMNS,
    LINEAR,
    ROWS,
    AxisTiling,
    Layout,
    MemoryClass,
    Order,
    OrderKind,
)
from ipuopt.models.mapping.peer.document import Entry

_AMP = {
    "left": OrderKind.LEFT,
    "output": OrderKind.OUTPUT,
    "transposed_left": OrderKind.TRANSPOSED_LEFT,
    "transposed_output": OrderKind.TRANSPOSED_OUTPUT,
    "transposed_right": OrderKind.TRANSPOSED_RIGHT,
}
_BLOCK_MAJOR = {
    "matrix": OrderKind.BLOCK_MAJOR,
    "transposed_matrix": OrderKind.TRANSPOSED_BLOCK_MAJOR,
}


def read_layout(entry: Entry, tiles: int) -> Layout:
    """The layout of an operand, an output or a side of a conversion, on at most ``tiles`` tiles."""
    return Layout(
        order=_order(entry["order"]),
        tiles=entry["tile_count"].integer(1, tiles),
        replicas=entry["replicas"].integer(),
        axes=tuple(_axis(axis) for axis in entry["axes"]),
        memory_class=entry["memory_class"].choice({c.value: c for c in MemoryClass}),
    )


def _order(entry: Entry) -> Order:
    match entry["kind"].choice({word: word for word in ("row_major", "amp", "block_major")}):
        case "row_major":
            return Order(OrderKind.ROW_MAJOR)
        case "amp":
            return Order(entry["operand"].choice(_AMP))
        case _:
            entry["column_block"].integer(16, 16)
            return Order(entry["form"].choice(_BLOCK_MAJOR), entry["row_block"].integer(16))


def _axis(entry: Entry) -> AxisTiling:
    return AxisTiling(
        axis=entry["axis"].choice({"from_end_1": COLUMNS, "from_end_2": ROWS, "linear": LINEAR}),
        partitions=entry["partitions"].integer(),
        block=entry["block_size"].integer(),
        padding_multiple=entry["padding_multiple"].integer(),
        pads=entry["padding"].choice({"zero": True, "reject": False}),
        stride=entry["tile_stride"].optional_integer(1),
        groups=entry["padding_groups"].integer(),
        shard_multiple=entry["shard_padding_multiple"].integer(),
    )
