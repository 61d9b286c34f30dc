"""Tables of build stages and of memory."""

from __future__ import annotations

from collections.abc import Iterator

from ipuopt.peerlog.cells import ranges, short_path
from ipuopt.peerlog.log import Log
from ipuopt.peerlog.messages import (
    FINISHED_STAGE,
    LOWERED_GRAPH,
    PADDING_CLEARS,
    PLACED_STORAGE,
    PLACING_PROGRAMS,
    PLANNER_PROFILE,
    SUPPORT_MEMORY,
    TABLE_GEOMETRY,
    TABLE_STORAGE,
)
from ipuopt.peerlog.table import Cell, Row, names

BUILD_COLUMNS = names(
    """
    seed build tiles operations round attempt proposal stage build_phase elapsed_ms success
    finished_at
    """
)


def _same(listed: str) -> dict[str, str]:
    """Fields that feed the columns of their own names."""
    return {name: name for name in names(listed)}


_FIELDS: dict[str, tuple[str, dict[str, str]]] = {
    SUPPORT_MEMORY: (
        "support_memory",
        _same(
            """
            linked_end profile_bytes exchange_table_bytes host_code_bytes host_data_bytes
            generated_code_bytes code_address
            """
        ),
    ),
    PLACING_PROGRAMS: (
        "placing_programs",
        _same(
            """
            linked_end exchange_table_bytes host_code_base host_code_bytes generated_code_bytes
            """
        ),
    ),
    TABLE_STORAGE: (
        "table_storage",
        _same(
            """
            exchange_table_bytes maximum_uncompressed_repeat_patch_bytes
            maximum_elided_arithmetic_patch_bytes
            """
        ),
    ),
    TABLE_GEOMETRY: (
        "table_geometry",
        _same(
            """
            expansion_ms expansion_and_footprint_ms estimated_row_bytes heuristic_row_bytes
            geometry_fragments_per_tile fragment_limit
            """
        ),
    ),
    PLANNER_PROFILE: (
        "planner_profile",
        {"peak_step": "peak_step", "effective_peak_bytes": "effective_peak_bytes"},
    ),
    PLACED_STORAGE: (
        "placed_storage",
        {"placed_tiles": "tiles", "shards": "shards", "elapsed_us": "elapsed_us"},
    ),
    PADDING_CLEARS: ("padding_clears", {"removed": "removed"}),
    LOWERED_GRAPH: (
        "lowered_graph",
        {"shards": "logical_shards", "exchange_phases": "exchange_phases"},
    ),
}
"""Record of a message, and its integer fields by the column that they feed."""

_RANGE_KINDS = ("standard_ranges", "available_ranges", "executable_ranges")

MEMORY_COLUMNS = names(
    """
    seed record build tiles operations stage round attempt proposal linked_end profile_bytes
    exchange_table_bytes host_code_base host_code_bytes host_data_bytes generated_code_bytes
    code_address range_kind ranges range_bytes maximum_uncompressed_repeat_patch_bytes
    maximum_elided_arithmetic_patch_bytes expansion_ms expansion_and_footprint_ms
    estimated_row_bytes heuristic_row_bytes geometry_fragments_per_tile fragment_limit scope
    peak_step effective_peak_bytes profile_file placed_tiles shards elapsed_us exchange_phases
    removed timestamp
    """
)


def build_phases(log: Log) -> Iterator[Row]:
    """Stages of the builds, at their end."""
    for event, place in log.placed():
        if event.message == FINISHED_STAGE:
            yield {
                **place.cells(),
                "build_phase": event.text("phase"),
                "elapsed_ms": event.integer("elapsed_ms"),
                "success": event.flag("success"),
                "finished_at": event.time,
            }


def memory_layout(log: Log) -> Iterator[Row]:
    """Every line about storage."""
    for event, place in log.placed():
        if event.message not in _FIELDS:
            continue
        record, fields = _FIELDS[event.message]
        row: dict[str, Cell] = {"record": record, **place.cells()}
        row |= {column: event.integer(name) for column, name in fields.items()}
        row |= {"timestamp": event.time}
        kind = next((kind for kind in _RANGE_KINDS if kind in event.fields), None)
        if kind is not None:
            row["range_kind"] = kind
            row["ranges"], row["range_bytes"] = ranges(event.text(kind))
        if event.message == PLANNER_PROFILE:
            row["scope"] = event.text("scope")
            row["profile_file"] = short_path(event.text("path"))
        yield row
