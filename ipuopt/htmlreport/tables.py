"""Tables of the page: cells with the number that they sort by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ipuopt.figures import duration, percent, thousands
from ipuopt.htmlreport.tiles import TileFacts
from ipuopt.htmlreport.words import KINDS, why
from ipuopt.result import Built

WORST_TILES = 100
"""Tiles in their table."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Text of a cell; ``order`` is the number that it sorts by, None for words."""

    text: str
    order: float | None = None


@dataclass(frozen=True, slots=True)
class HtmlTable:
    """A table that sorts; ``name`` is its id in the page."""

    name: str
    titles: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def _number(value: int | None) -> Cell:
    return Cell(thousands(value), -1 if value is None else value)


def _outcome(report: Mapping[str, Any]) -> tuple[Cell, ...]:
    """Heuristic, solver, bound, unit and gap."""
    figures = (_number(report[key]) for key in ("heuristic", "objective", "bound"))
    gap = report["gap"]
    return (*figures, Cell(report["unit"]), Cell(percent(gap), -1 if gap is None else gap))


def solves(reports: Sequence[Mapping[str, Any]], total: Mapping[str, Any]) -> HtmlTable:
    """Every solve: heuristic, solver, bound, gap, what proved it, time."""
    rows = []
    for report in reports:
        proof = Cell(report["bound_source"] or "-")
        time = Cell(duration(report["wall_time_s"]), report["wall_time_s"])
        rows.append((Cell(report["model"]), *_outcome(report), proof, time, Cell(why(report))))
    rows.append((Cell("total"), *_outcome(total), *[Cell("")] * 3))
    titles = ("stage", "heuristic", "solver", "bound", "unit", "gap", "proven by", "time", "why")
    return HtmlTable("solves", titles, tuple(rows))


def steps(built: Built) -> HtmlTable:
    """Every step with its cycles."""
    costs, times = built.program.cycles_with(built.horizon), built.program.times.tolist()
    whole = max(1, int(costs.sum()))
    rows = tuple(
        (
            Cell(str(index), index),
            Cell(step.name),
            Cell(KINDS[step.kind] + (f", {times[index]} times" if times[index] > 1 else "")),
            _number(int(cost)),
            Cell(percent(cost / whole), float(cost)),
        )
        for index, (step, cost) in enumerate(zip(built.program.steps, costs, strict=True))
    )
    return HtmlTable("steps", ("step", "name", "kind", "cycles", "share"), rows)


def worst_tiles(facts: TileFacts) -> HtmlTable:
    """Tiles by their peak of live bytes, the fullest first; a click picks one."""
    peak = facts.live_bytes.max(axis=1, initial=0)
    order = np.argsort(-peak, kind="stable")[:WORST_TILES]
    columns = (peak, facts.used_bytes, facts.busy_cycles, facts.sent.sum(0), facts.received.sum(0))
    rows = tuple(
        (Cell(str(tile), int(tile)), *(_number(int(column[tile])) for column in columns))
        for tile in order
    )
    titles = ("tile", "peak live bytes", "bytes used", "busy cycles", "words sent", "received")
    return HtmlTable("worst", titles, rows)
