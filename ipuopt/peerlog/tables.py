"""All tables of a log, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ipuopt.peerlog import exchange, kernels, planning, runs, search, storage
from ipuopt.peerlog.log import Log
from ipuopt.peerlog.table import Row, Table

_BUILDERS: dict[str, tuple[tuple[str, ...], Callable[[Log], Iterator[Row]]]] = {
    "exchange_phases": (exchange.PHASE_COLUMNS, exchange.exchange_phases),
    "paired_comparisons": (exchange.PAIRED_COLUMNS, exchange.paired_comparisons),
    "reused_phases": (exchange.REUSED_COLUMNS, exchange.reused_phases),
    "finalists": (planning.FINALIST_COLUMNS, planning.finalists),
    "mapping_screens": (planning.SCREEN_COLUMNS, planning.mapping_screens),
    "final_costs": (search.COST_COLUMNS, search.final_costs),
    "local_search": (search.SEARCH_COLUMNS, search.local_search),
    "beam": (planning.BEAM_COLUMNS, planning.beam),
    "build_phases": (storage.BUILD_COLUMNS, storage.build_phases),
    "memory_layout": (storage.MEMORY_COLUMNS, storage.memory_layout),
    "kernels": (kernels.KERNEL_COLUMNS, kernels.kernels),
    "device_runs": (runs.RUN_COLUMNS, runs.device_runs),
}
"""Columns and rows of each table; the column ``seed``, the log's name, is filled for all alike."""

TABLES = tuple(_BUILDERS)
"""Names of all tables."""


def tables(log: Log) -> dict[str, Table]:
    """Every table of ``log`` by name; those that it says nothing about have no rows."""
    return {
        name: Table(name, columns, tuple({"seed": log.name, **row} for row in build(log)))
        for name, (columns, build) in _BUILDERS.items()
    }
