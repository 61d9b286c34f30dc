"""Where an event belongs: its build, its stages, and its candidate of the local search.

Events of worker threads lose their parents, so what a span does not say is taken from the only
build of the file and from the last round of the search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ipuopt.peerlog.event import Event, integer
from ipuopt.peerlog.messages import (
    ACCEPTED,
    EVALUATING,
    INCUMBENT,
    KEPT_MAPPING,
    SAVED_STATE,
    SCREENED_MAPPINGS,
    SCREENED_ROUND,
)
from ipuopt.peerlog.table import Cell

BASE, TRIAL, SEARCH = "base", "mapping-trial", "search"
PLACE_COLUMNS = ("build", "tiles", "operations", "stage", "round", "attempt", "proposal")

_BUILD = "ipu_codegen.package.build"
_STAGE = "ipu_codegen.package.phase"
_CANDIDATE = "local_candidate"
_OF_SEARCH = frozenset({SCREENED_ROUND, EVALUATING, ACCEPTED, SAVED_STATE})


@dataclass(frozen=True, slots=True)
class Place:
    """Where an event belongs; see the columns of the same names in the tables.

    Attributes
    ----------
    build
        ``base``, ``mapping-trial``, ``search`` or ``rR-aA-pP``.
    tiles, operations
        Of the build.
    stage
        Open stages, outermost first, joined by ``/``.
    round, attempt, proposal
        Of the local candidate; the three together are its key.
    """

    build: str
    tiles: int | None
    operations: int | None
    stage: str
    round: int | None = None
    attempt: int | None = None
    proposal: int | None = None

    def cells(self) -> dict[str, Cell]:
        """Values of :data:`PLACE_COLUMNS`."""
        return {name: getattr(self, name) for name in PLACE_COLUMNS}


def places(events: Sequence[Event]) -> tuple[Place, ...]:
    """Place of every event of a log."""
    builds = {_build(event) for event in events} - {(None, None)}
    only = builds.pop() if len(builds) == 1 else (None, None)
    found = []
    searching = trial = False
    last_round: int | None = None
    for event in events:
        if event.message == INCUMBENT:
            searching = True
        elif event.message == SCREENED_ROUND:
            trial, last_round = False, event.integer("round")
        elif event.message == SCREENED_MAPPINGS:
            trial = searching
        found.append(_place(event, only, last_round, trial))
        if event.message == KEPT_MAPPING:
            trial = False
    return tuple(found)


def _place(
    event: Event, only: tuple[int | None, int | None], last_round: int | None, trial: bool
) -> Place:
    tiles, operations = (
        a if a is not None else b for a, b in zip(_build(event), only, strict=True)
    )
    stage = "/".join(span.fields.get("phase", "") for span in event.spans if span.name == _STAGE)
    candidate = _fields_of(event, _CANDIDATE)
    if candidate is not None:
        attempt, proposal = integer(candidate.get("attempt")), integer(candidate.get("proposal"))
        build = f"r{last_round}-a{attempt}-p{proposal}"
        return Place(build, tiles, operations, stage, last_round, attempt, proposal)
    if event.message in _OF_SEARCH or (last_round is not None and stage):
        return Place(SEARCH, tiles, operations, stage, last_round)
    return Place(TRIAL if trial else BASE, tiles, operations, stage)


def _build(event: Event) -> tuple[int | None, int | None]:
    fields = _fields_of(event, _BUILD) or {}
    return integer(fields.get("tile_count")), integer(fields.get("operations"))


def _fields_of(event: Event, span_name: str) -> Mapping[str, str] | None:
    return next((span.fields for span in event.spans if span.name == span_name), None)
