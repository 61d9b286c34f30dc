"""Table of the kernels that were compiled, with what their names say."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ipuopt.peerlog.cells import milliseconds, short_path
from ipuopt.peerlog.event import Event, integer
from ipuopt.peerlog.log import Log
from ipuopt.peerlog.messages import COMPILING_KERNEL, KERNEL_CREATED
from ipuopt.peerlog.places import Place
from ipuopt.peerlog.table import Cell, Row, names

_NUMBERS = names(
    """
    k c r_small r_large order_index logical_rows physical_rows logical_columns physical_columns
    row_block column_block head_dimension key_block value_dimension padded_value_dimension
    output_bits
    """
)
KERNEL_COLUMNS = names(
    """
    seed build tiles operations stage round attempt proposal name source target family precision
    interleaved k c r_small r_large part order_index order logical_rows physical_rows
    logical_columns physical_columns row_block column_block head_dimension key_block
    value_dimension padded_value_dimension output_bits artifact_sha256 compile_ms timestamp
    created_at
    """
)
_ORDERS = {0: "amp_left", 1: "amp_transposed_right", 2: "block_major"}
_FORMS = (
    r"""(?P<family>gemm)_(?P<precision>f\d+)(?P<interleaved>_interleaved)?
    _k(?P<k>\d+)_c(?P<c>\d+)_r(?P<r_small>\d+)_r(?P<r_large>\d+)""",
    r"(?P<family>gemm)_(?P<precision>f\d+)_dispatch",
    r"""(?P<family>rearrange)(?:_row_major_to_amp)?_(?P<precision>f\d+)(?:_(?P<part>codelet))?
    _o(?P<order_index>\d+)_r(?P<logical_rows>\d+)_p(?P<physical_rows>\d+)
    _c(?P<logical_columns>\d+)_p(?P<physical_columns>\d+)
    (?:_b(?P<row_block>\d+)x(?P<column_block>\d+))?(?:_(?P<last_part>codelet|wrapper))?""",
    r"""(?P<family>attention_softmax)_d(?P<head_dimension>\d+)_p(?P<key_block>\d+)
    _(?P<part>tail|full)""",
    r"""(?P<family>attention_merge)_v(?P<value_dimension>\d+)_p(?P<padded_value_dimension>\d+)
    _k(?P<key_block>\d+)_out(?P<output_bits>\d+)""",
    r"(?P<family>cast)_(?P<from_precision>f\d+)_(?P<to_precision>f\d+)_(?P<part>\w+)",
)
_NAMES = tuple(re.compile(form, re.VERBOSE) for form in _FORMS)
"""Forms of names; the letters mean what they mean in the compiler's public source."""

_PRECISION = re.compile(r"_(f\d+)\.\w+$")
"""In the name of a source file; kernels of attention do not say it in their own."""


def kernels(log: Log) -> Iterator[Row]:
    """One row for each kernel that was compiled; those found in the cache have no line."""
    started: tuple[Event, Place] | None = None
    for event, place in log.placed():
        if event.message == COMPILING_KERNEL:
            if started is not None:
                yield _row(*started, None)
            started = event, place
        elif event.message == KERNEL_CREATED and started is not None:
            yield _row(*started, event)
            started = None
    if started is not None:
        yield _row(*started, None)


def _row(start: Event, place: Place, end: Event | None) -> Row:
    name = start.text("name") or ""
    row: dict[str, Cell] = {**place.cells(), "name": name, **decoded(name)}
    source = start.text("source")
    row |= {"source": short_path(source), "target": start.text("target"), "timestamp": start.time}
    in_source = _PRECISION.search(source or "")
    if row.get("family") and row["precision"] is None and in_source is not None:
        row["precision"] = in_source[1]
    if end is not None:
        folders = (end.text("object") or "").split("/")
        row["artifact_sha256"] = folders[-2] if len(folders) > 1 else None
        row["compile_ms"] = milliseconds(start.time, end.time)
        row["created_at"] = end.time
    return row


def decoded(name: str) -> dict[str, Cell]:
    """What the name of a kernel says; nothing for a name of another form."""
    match = next((found for form in _NAMES if (found := form.fullmatch(name))), None)
    if match is None:
        return {}
    groups = match.groupdict()
    cells: dict[str, Cell] = {key: integer(groups.get(key)) for key in _NUMBERS}
    cells |= {key: groups.get(key) for key in ("family", "precision")}
    cells["part"] = groups.get("part") or groups.get("last_part")
    if cells["family"] == "gemm" and cells["k"] is None:
        cells["family"] = "gemm_dispatch"
    elif cells["family"] == "gemm":
        cells["interleaved"] = groups["interleaved"] is not None
    elif cells["family"] == "rearrange":
        cells["order"] = _ORDERS.get(int(groups["order_index"]))
    elif cells["family"] == "cast":
        cells["precision"] = f"{groups['from_precision']}->{groups['to_precision']}"
    return cells
