"""Tables of planning: the beam, finalists, and the screens of tile mappings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ipuopt.peerlog.cells import numbers
from ipuopt.peerlog.event import Event
from ipuopt.peerlog.log import Log
from ipuopt.peerlog.messages import (
    GEMM_CANDIDATES,
    MODELLED,
    PLANNING_BEAM,
    RETAINED,
    SCHEDULED,
    SCREENED_MAPPINGS,
    SELECTED,
    SELECTED_ANALYTICAL,
)
from ipuopt.peerlog.table import Cell, Row, difference, names
from ipuopt.target.constants import SYNC_CYCLES

_CANDIDATE_COUNTS = names(
    """
    generated_grids proxy_frontier_grids generated_variants generated_grouped_variants
    retained_grouped_variants retained_variants
    """
)
_BEAM_COUNTS = names(
    """
    operation retained expanded pareto_dominated equivalent diversity_representatives
    best_cycles generated_plan_sets plan_cache_hits
    """
)
BEAM_COLUMNS = names(
    """
    seed record inferred_operation orientation generated_grids proxy_frontier_grids
    generated_variants generated_grouped_variants retained_grouped_variants retained_variants
    operation retained expanded pareto_dominated equivalent diversity_representatives
    best_cycles generated_plan_sets plan_cache_hits stage timestamp
    """
)
_BYTES = names(
    """
    exchange_row_bytes peak_standard_bytes peak_interleaved_bytes peak_total_bytes
    maximum_standard_allocation_bytes
    """
)
_LISTS = ("active_tile_counts", "padding_group_counts", "conversion_sources")
FINALIST_COLUMNS = names(
    """
    seed record group finalist mapped values mid_operations estimated_cycles
    estimated_exchange_cycles estimated_non_exchange_cycles modelled_cycles
    modelled_exchange_cycles scheduled_exchange_cycles refined_cycles screen_candidate_cycles
    inferred_phases exchange_row_bytes peak_standard_bytes peak_interleaved_bytes
    peak_total_bytes maximum_standard_allocation_bytes active_tile_counts padding_group_counts
    conversion_sources stage timestamp
    """
)
SCREEN_COLUMNS = names(
    """
    seed build tiles operations stage round attempt proposal candidates baseline_cycles
    candidate_cycles cycles_saved baseline_pressure candidate_pressure pressure_saved
    inferred_finalist inferred_phases pairing timestamp
    """
)
_RECORDS = {
    RETAINED: "retained",
    MODELLED: "modelled",
    SCHEDULED: "scheduled",
    SELECTED: "selected",
    SELECTED_ANALYTICAL: "selected-analytical",
}


def beam(log: Log) -> Iterator[Row]:
    """Grids and variants of each product, and the beam after each operation."""
    rows: list[dict[str, Cell]] = []
    operation: int | None = None
    for event, place in reversed(list(log.placed())):
        row: dict[str, Cell] = {"stage": place.stage, "timestamp": event.time}
        if event.message == PLANNING_BEAM:
            operation = event.integer("operation")
            row |= {"record": "planning_beam"} | event.integers(_BEAM_COUNTS)
        elif event.message == GEMM_CANDIDATES:
            row |= {"record": "gemm_candidates", "inferred_operation": operation}
            row |= {"orientation": event.text("orientation")}
            row |= event.integers(_CANDIDATE_COUNTS)
        else:
            continue
        rows.append(row)
    yield from reversed(rows)


@dataclass(slots=True)
class _Screen:
    """A screen of tile mappings, and the modelled finalist that it belongs to."""

    event: Event
    finalist: int | None = None
    phases: int | None = None
    pairing: str | None = None


def _pairs(log: Log) -> tuple[dict[int, _Screen], dict[int, _Screen]]:
    """Screens by index of their event, and by index of the modelled event they belong to.

    Both come from a pool of threads and only the second names the finalist. They belong together
    when the modelled exchange is that of the screen and one synchronisation a phase. The latest
    open screen that fits is taken; the answer is unique where all that fit have as many phases.
    """
    screens: dict[int, _Screen] = {}
    modelled: dict[int, _Screen] = {}
    for index, event in enumerate(log.events):
        if event.message == SCREENED_MAPPINGS:
            screens[index] = _Screen(event)
        elif event.message == MODELLED:
            exchange = _modelled_exchange(event)
            fitting = []
            for screen in screens.values():
                syncs = difference(exchange, screen.event.integer("candidate_cycles"))
                if screen.pairing is None and syncs and syncs > 0 and syncs % SYNC_CYCLES == 0:
                    fitting.append((screen, syncs // SYNC_CYCLES))
            if fitting:
                screen, phases = fitting[-1]
                screen.finalist, screen.phases = event.integer("finalist"), phases
                screen.pairing = "unique" if len({n for _, n in fitting}) == 1 else "latest"
                modelled[index] = screen
    return screens, modelled


def _non_exchange(event: Event) -> int | None:
    return difference(event.integer("estimated_cycles"), event.integer("estimated_exchange_cycles"))


def _modelled_exchange(event: Event) -> int | None:
    return difference(event.integer("modelled_cycles"), _non_exchange(event))


def finalists(log: Log) -> Iterator[Row]:
    """Plans that were kept, modelled, scheduled and selected."""
    modelled = _pairs(log)[1]
    group = 0
    for index, (event, place) in enumerate(log.placed()):
        record = _RECORDS.get(event.message)
        if record is None:
            continue
        row: dict[str, Cell] = {"record": record, "stage": place.stage}
        row |= {"finalist": event.integer("finalist"), "mapped": event.flag("mapped")}
        if event.message == SCHEDULED:  # the same two figures under other names
            estimated = event.integer("analytical_cycles")
            exchange = event.integer("analytical_exchange_cycles")
        else:
            estimated = event.integer("estimated_cycles")
            exchange = event.integer("estimated_exchange_cycles")
        row |= {"estimated_cycles": estimated, "estimated_exchange_cycles": exchange}
        row["estimated_non_exchange_cycles"] = difference(estimated, exchange)
        if event.message == RETAINED:
            group += row["finalist"] == 0
            row |= {"group": group, "values": event.integer("values")}
            row["mid_operations"] = event.integer("operations")
            row |= event.integers(_BYTES)
            row |= {name: numbers(event.text(name)) for name in _LISTS}
        elif event.message == MODELLED:
            row["modelled_cycles"] = event.integer("modelled_cycles")
            row["modelled_exchange_cycles"] = _modelled_exchange(event)
            screen = modelled.get(index)
            if screen is not None:
                row["screen_candidate_cycles"] = screen.event.integer("candidate_cycles")
                row["inferred_phases"] = screen.phases
        elif event.message == SCHEDULED:
            row |= event.integers(("scheduled_exchange_cycles", "refined_cycles"))
        elif event.message == SELECTED:
            row["finalist"] = event.integer("selected")
        yield row | {"timestamp": event.time}


def mapping_screens(log: Log) -> Iterator[Row]:
    """Tile mappings that were tried, with the finalist that each screen belongs to."""
    screens = _pairs(log)[0]
    for index, screen in screens.items():
        event = screen.event
        figures: dict[str, Cell] = {}
        for unit in ("cycles", "pressure"):
            before, after = (event.integer(f"{kind}_{unit}") for kind in ("baseline", "candidate"))
            figures |= {f"baseline_{unit}": before, f"candidate_{unit}": after}
            figures[f"{unit}_saved"] = difference(before, after)
        yield {
            **log.places[index].cells(),
            "candidates": event.integer("candidates"),
            **figures,
            "inferred_finalist": screen.finalist,
            "inferred_phases": screen.phases,
            "pairing": screen.pairing,
            "timestamp": event.time,
        }
