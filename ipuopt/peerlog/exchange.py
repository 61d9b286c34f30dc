"""Tables of the exchange: phases with horizon and bound, paired schedules, reused phases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ipuopt.peerlog.event import Event
from ipuopt.peerlog.log import Log
from ipuopt.peerlog.messages import COMPARED, FINISHED_PHASE, OPTIMIZED, PREPARED, REUSED, SELECTED
from ipuopt.peerlog.places import Place
from ipuopt.peerlog.table import Cell, Row, difference, names, rounded

FINAL_STAGE = "lower_exchanges"
"""Its phases are those of the package, numbered from 0 without holes."""

PHASE_COLUMNS = names(
    """
    seed build variant tiles operations stage round attempt proposal phase transfers
    maximum_identical_destinations initial_horizon selected_horizon endpoint_lower_bound
    lower_bound_gap gap_pct excess_over_bound_pct selected_kind neighborhood_improvements
    busiest_tile row_words prepared_at timestamp finished_at
    """
)
PAIRED_COLUMNS = names(
    """
    seed build tiles operations stage round attempt proposal phase candidates ordinary_horizon
    paired_horizon use_paired paired_minus_ordinary paired_shorter phase_also_logged_as_large
    timestamp
    """
)
REUSED_COLUMNS = names(
    """
    seed build tiles operations stage round attempt proposal lines distinct_phases phases
    first_at last_at
    """
)


def exchange_phases(log: Log) -> Iterator[Row]:
    """One row for each optimized phase, with what was said before and after it.

    Phases are scheduled in parallel: "prepared" is the last one of its place and phase, and
    "finished" the first later one that also has the selected horizon.
    """
    prepared: dict[tuple[Any, ...], list[Event]] = {}
    waiting: dict[tuple[Any, ...], list[dict[str, Cell]]] = {}
    rows: list[dict[str, Cell]] = []
    for event, place in log.placed():
        key = (place, event.integer("phase"))
        if event.message == PREPARED:
            prepared.setdefault(key, []).append(event)
        elif event.message == OPTIMIZED:
            before = prepared.get(key) or []
            row = _phase(place, event, before.pop(0) if before else None)
            waiting.setdefault((*key, event.integer("selected_horizon")), []).append(row)
            rows.append(row)
        elif event.message == FINISHED_PHASE:
            open_rows = waiting.get((*key, event.integer("horizon")))
            if open_rows:
                row = open_rows.pop(0)
                row["busiest_tile"] = event.integer("tile")
                row["row_words"] = event.integer("row_words")
                row["finished_at"] = event.time
    _add_variants(log, rows)
    yield from rows


def _phase(place: Place, event: Event, before: Event | None) -> dict[str, Cell]:
    horizon, bound = event.integer("selected_horizon"), event.integer("endpoint_lower_bound")
    gap = event.integer("lower_bound_gap")
    row: dict[str, Cell] = {**place.cells(), "phase": event.integer("phase")}
    if before is not None:
        row |= before.integers(("transfers", "maximum_identical_destinations"))
        row["prepared_at"] = before.time
    return row | {
        "initial_horizon": event.integer("initial_horizon"),
        "selected_horizon": horizon,
        "endpoint_lower_bound": bound,
        "lower_bound_gap": gap,
        "gap_pct": rounded(100 * gap / horizon, 2) if gap is not None and horizon else None,
        "excess_over_bound_pct": rounded(100 * gap / bound, 2)
        if gap is not None and bound
        else None,
        "selected_kind": event.text("selected_kind"),
        "neighborhood_improvements": event.integer("neighborhood_improvements"),
        "timestamp": event.time,
    }


def _add_variants(log: Log, rows: list[dict[str, Cell]]) -> None:
    """Tell the two variants of a finalist that was scheduled twice at the same time.

    The events of both are alike; the package reuses those of the chosen one with the same horizon.
    """
    chosen = next((e.flag("mapped") for e in log.events if e.message == SELECTED), None)
    if chosen is None:
        return
    reused = {
        (row["build"], row["phase"]): row["selected_horizon"]
        for row in rows
        if row["stage"] == FINAL_STAGE
    }
    for row in rows:
        horizon = reused.get((row["build"], row["phase"]))
        if horizon is not None:
            mapped = chosen if row["selected_horizon"] == horizon else not chosen
            row["variant"] = f"mapped={'true' if mapped else 'false'}"


def paired_comparisons(log: Log) -> Iterator[Row]:
    """One row for each comparison of an ordinary with a paired schedule."""
    large = {
        (place.build, place.stage, event.integer("phase"))
        for event, place in log.placed()
        if event.message == OPTIMIZED
    }
    for event, place in log.placed():
        if event.message != COMPARED:
            continue
        phase = event.integer("phase")
        more = difference(event.integer("paired_horizon"), event.integer("ordinary_horizon"))
        yield {
            **place.cells(),
            "phase": phase,
            "candidates": event.integer("candidates"),
            "ordinary_horizon": event.integer("ordinary_horizon"),
            "paired_horizon": event.integer("paired_horizon"),
            "use_paired": event.flag("use_paired"),
            "paired_minus_ordinary": more,
            "paired_shorter": None if more is None else more < 0,
            "phase_also_logged_as_large": (place.build, place.stage, phase) in large,
            "timestamp": event.time,
        }


def reused_phases(log: Log) -> Iterator[Row]:
    """One row for each build and stage that reused schedules."""
    groups: dict[Place, list[Event]] = {}
    for event, place in log.placed():
        if event.message == REUSED:
            groups.setdefault(place, []).append(event)
    for place, events in groups.items():
        phases = sorted({phase for e in events if (phase := e.integer("phase")) is not None})
        yield {
            **place.cells(),
            "lines": len(events),
            "distinct_phases": len(phases),
            "phases": " ".join(map(str, phases)),
            "first_at": events[0].time,
            "last_at": events[-1].time,
        }


def phases_of_builds(log: Log) -> dict[str, int]:
    """Number of exchange phases of every build that reached the last lowering."""
    return {
        str(row["build"]): int(str(row["distinct_phases"]))
        for row in reused_phases(log)
        if str(row["stage"]).endswith(FINAL_STAGE)
    }
