"""Table of the runs on a device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from ipuopt.peerlog.cells import decimal, milliseconds, short_path
from ipuopt.peerlog.event import Event, integer
from ipuopt.peerlog.log import Log, Output
from ipuopt.peerlog.messages import (
    ATTACHING_PAGES,
    CALL,
    LOADED,
    LOADING,
    PACKAGE_READ,
    PACKAGE_WRITTEN,
    READING_PACKAGE,
    REFERENCE_BLAS,
    REFERENCE_DONE,
    REFERENCE_INPUTS,
    REPLAYING,
    STARTING_HOST,
    STREAMING_CALL,
    WRITING_PACKAGE,
)
from ipuopt.peerlog.table import Cell, Row, names

RUN_COLUMNS = names(
    """
    seed package compiler package_tiles write_ms read_ms config_register_writes final_mark
    load_tiles load_ms reference_inputs_ms reference_eval_ms blas_threads reference_precision
    startup_mark host_pages streaming initialize_phases run_phases initialize_ms profile_file
    profile_tiles samples minimum_cosine_similarity reference_inferences maximum_absolute_error
    numerical_tests_passed numerical_tests_failed hardware_test load_started_at run_at
    """
)
_INTEGERS = {
    "package_tiles": (PACKAGE_READ, "tiles"),
    "config_register_writes": (REPLAYING, "register_writes"),
    "final_mark": (LOADING, "final_mark"),
    "load_tiles": (LOADING, "tile_count"),
    "reference_inputs_ms": (REFERENCE_INPUTS, "elapsed_ms"),
    "reference_eval_ms": (REFERENCE_DONE, "elapsed_ms"),
    "blas_threads": (REFERENCE_BLAS, "threads"),
    "startup_mark": (STARTING_HOST, "startup_mark"),
    "host_pages": (ATTACHING_PAGES, "pages"),
}
_DURATIONS = {
    "write_ms": (WRITING_PACKAGE, PACKAGE_WRITTEN),
    "read_ms": (READING_PACKAGE, PACKAGE_READ),
    "load_ms": (LOADING, LOADED),
}


def device_runs(log: Log) -> Iterator[Row]:
    """One row for each application that was loaded; its package may have been written before."""
    messages = [event.message for event in log.events]
    begins = WRITING_PACKAGE if WRITING_PACKAGE in messages else READING_PACKAGE
    starts = [index for index, message in enumerate(messages) if message == begins]
    for start, stop in pairwise([*starts, len(messages)]):
        if LOADING in messages[start:stop]:
            last = stop == len(messages)
            said = [o for o in log.outputs if start < o.after and (o.after <= stop or last)]
            yield _row(log.events[start:stop], said)


def _row(events: Sequence[Event], said: Sequence[Output]) -> Row:
    first: dict[str, Event] = {}
    for event in events:
        first.setdefault(event.message, event)
    times = {message: event.time for message, event in first.items()}
    row: dict[str, Cell] = {"load_started_at": times.get(LOADING)}
    for column, (message, name) in _INTEGERS.items():
        row[column] = first[message].integer(name) if message in first else None
    for column, (begin, end) in _DURATIONS.items():
        row[column] = milliseconds(times.get(begin), times.get(end))
    if PACKAGE_READ in first:
        row["compiler"] = first[PACKAGE_READ].text("compiler")
    return row | _calls(events) | _outputs(said)


def _calls(events: Sequence[Event]) -> dict[str, Cell]:
    """The two calls over host exchange: the one that fills the tiles, and the run."""
    calls = [event for event in events if event.message in (CALL, STREAMING_CALL)]
    by_name = {event.text("call"): event for event in calls}
    row: dict[str, Cell] = {"streaming": calls[0].message == STREAMING_CALL if calls else None}
    for name in ("initialize", "run"):
        if name in by_name:
            row[f"{name}_phases"] = by_name[name].integer("phases")
    if "run" in by_name:
        row["run_at"] = by_name["run"].time
        if "initialize" in by_name:
            row["initialize_ms"] = milliseconds(by_name["initialize"].time, by_name["run"].time)
    return row


def _outputs(said: Sequence[Output]) -> dict[str, Cell]:
    """What the program printed on standard output."""
    values: dict[str, str] = {}
    tests: list[str] = []
    tiles: str | None = None
    for output in said:
        values |= output.fields
        tests += [value for key, value in output.fields.items() if key == "numericalTest"]
        tiles = output.fields.get("tiles") if "profile" in output.fields else tiles
    return {
        "package": short_path(values.get("package")),
        "reference_precision": values.get("referencePrecision"),
        "profile_file": short_path(values.get("profile")),
        "profile_tiles": integer(tiles),
        "samples": integer(values.get("samples")),
        "minimum_cosine_similarity": decimal(values.get("referenceMinimumCosineSimilarity")),
        "reference_inferences": integer(values.get("referenceInference")),
        "maximum_absolute_error": decimal(values.get("referenceMaximumAbsoluteError")),
        "numerical_tests_passed": tests.count("PASS"),
        "numerical_tests_failed": len(tests) - tests.count("PASS"),
        "hardware_test": values.get("hardwareTest"),
    }
