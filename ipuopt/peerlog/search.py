"""Tables of the local search, and the cost of every program that was placed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ipuopt.peerlog.cells import numbers
from ipuopt.peerlog.event import Event
from ipuopt.peerlog.exchange import phases_of_builds
from ipuopt.peerlog.log import Log
from ipuopt.peerlog.messages import (
    ACCEPTED,
    COSTED,
    EVALUATING,
    INCUMBENT,
    KEPT_MAPPING,
    SAVED_STATE,
    SCREENED_ROUND,
)
from ipuopt.peerlog.places import BASE, TRIAL, Place
from ipuopt.peerlog.table import Cell, Row, difference, names
from ipuopt.target.constants import SYNC_CYCLES

_ROUND = names(
    """
    proposed invalid visited not_cheaper deduplicated truncated shortlisted
    """
)
SEARCH_COLUMNS = names(
    """
    seed record build round attempt proposal tiles operations stage proposed invalid visited
    not_cheaper deduplicated truncated shortlisted candidates threads final_cycles
    final_exchange resuming accepted_attempt before after saved changed_operations
    changed_boundaries state_attempts state_bytes delta timestamp
    """
)
COST_COLUMNS = names(
    """
    seed build tiles operations stage round attempt proposal final_cycles final_exchange
    final_non_exchange exchange_phases horizon_sum_if_sync_600 outcome timestamp
    """
)


def _round(event: Event) -> dict[str, Cell]:
    return event.integers(_ROUND)


def _evaluate(event: Event) -> dict[str, Cell]:
    return event.integers(("candidates", "threads"))


def _cost(event: Event) -> dict[str, Cell]:
    return event.integers(("final_cycles", "final_exchange"))


def _accepted(event: Event) -> dict[str, Cell]:
    before, after = event.integer("before"), event.integer("after")
    delta = event.text("delta") or ""
    return {
        "accepted_attempt": event.integer("attempt"),
        "before": before,
        "after": after,
        "saved": difference(before, after),
        "changed_operations": _members(r"plans: \{([^}]*)\}", delta),
        "changed_boundaries": _members(r"boundaries: \[([^\]]*)\]", delta),
        "delta": delta or None,
    }


def _incumbent(event: Event) -> dict[str, Cell]:
    return {"final_cycles": event.integer("cycles"), "resuming": event.flag("resuming")}


def _state(event: Event) -> dict[str, Cell]:
    return {"state_attempts": event.integer("attempts"), "state_bytes": event.integer("bytes")}


_RECORDS: dict[str, tuple[str, Callable[[Event], dict[str, Cell]]]] = {
    SCREENED_ROUND: ("round", _round),
    EVALUATING: ("evaluate", _evaluate),
    COSTED: ("cost", _cost),
    ACCEPTED: ("accepted", _accepted),
    INCUMBENT: ("incumbent", _incumbent),
    KEPT_MAPPING: ("mapping_rejected", lambda event: {}),
    SAVED_STATE: ("state", _state),
}


def _members(pattern: str, text: str) -> str | None:
    """Numbers of the members of a set or list in ``Debug`` text."""
    found = re.search(pattern, text)
    return numbers(found and found[1])


def local_search(log: Log) -> Iterator[Row]:
    """Rounds, candidates, costs and accepted changes; nothing of a run that did not search."""
    if all(event.message != INCUMBENT for event in log.events):
        return
    for event, place in log.placed():
        if event.message in _RECORDS:
            record, read = _RECORDS[event.message]
            yield {
                "record": record,
                **place.cells(),
                **read(event),
                "timestamp": event.time,
            }


def final_costs(log: Log) -> Iterator[Row]:
    """Cycles of every program that was placed in full."""
    accepted = {
        (place.round, event.integer("attempt"), event.integer("after"))
        for event, place in log.placed()
        if event.message == ACCEPTED
    }
    kept = any(event.message == KEPT_MAPPING for event in log.events)
    phases = phases_of_builds(log)
    for event, place in log.placed():
        if event.message != COSTED:
            continue
        cycles, exchange = event.integer("final_cycles"), event.integer("final_exchange")
        count = phases.get(place.build)
        syncs = None if count is None else SYNC_CYCLES * count
        yield {
            **place.cells(),
            "final_cycles": cycles,
            "final_exchange": exchange,
            "final_non_exchange": difference(cycles, exchange),
            "exchange_phases": count,
            "horizon_sum_if_sync_600": difference(exchange, syncs),
            "outcome": _outcome(place, cycles, accepted, kept),
            "timestamp": event.time,
        }


def _outcome(
    place: Place,
    cycles: int | None,
    accepted: set[tuple[int | None, int | None, int | None]],
    kept: bool,
) -> str | None:
    """What became of a program; None where the log does not say it."""
    if place.build == BASE:
        return "incumbent"
    if place.build == TRIAL:
        return "not accepted" if kept else None
    taken = (place.round, place.attempt, cycles) in accepted
    return "accepted" if taken else "not accepted"
