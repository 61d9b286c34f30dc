"""Figures and windows of the report, against what the tables of a program say one by one."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipuopt.htmlreport import bus
from ipuopt.htmlreport.arrays import packed
from ipuopt.htmlreport.bus import (
    SEND,
    SOURCE,
    WRITE,
    Windows,
    chain_of,
    critical_tiles,
    density,
    windows_of,
)
from ipuopt.htmlreport.tiles import cycle_parts, tile_facts
from ipuopt.htmlreport.words import summary, why
from ipuopt.result import Result
from ipuopt.rundir import figures_of


@given(st.lists(st.integers(-(2**31), 2**32 - 1), max_size=9))
def test_packed_columns_are_read_back(numbers: list[int]) -> None:
    if min(numbers, default=0) < 0 and max(numbers, default=0) >= 2**31:
        with pytest.raises(ValueError, match="32 bits"):
            packed(np.array(numbers))
        return
    name, text = packed(np.array(numbers, dtype=np.int64))
    kind = {"Uint8Array": "u1", "Uint16Array": "<u2", "Uint32Array": "<u4", "Int32Array": "<i4"}
    assert np.frombuffer(base64.b64decode(text), kind[name]).tolist() == numbers


def test_figures_of_tiles(tiny_result: Result) -> None:
    """Three values of 8 bytes, two of them live at a time, at addresses of their own."""
    facts = tile_facts(tiny_result.built)
    assert facts.live_bytes.tolist() == [[16, 16], [16, 16]]
    assert facts.used_bytes.tolist() == [24, 24]
    assert facts.busy_cycles.tolist() == [30, 30]
    assert facts.sent.tolist() == facts.received.tolist() == [[2, 2]]


def test_cycles_sum_to_the_total(tiny_result: Result) -> None:
    parts = cycle_parts(tiny_result.built)
    assert parts == {"kernels": 30, "copies": 0, "exchange": 170, "synchronisation": 600}
    assert sum(parts.values()) == tiny_result.total.objective
    built = tiny_result.built
    assert built.program.cycles_with(built.horizon).tolist() == [770, 30]


def test_windows_and_the_chain(tiny_result: Result) -> None:
    """Two transfers at once: each has a send and two windows, and none waited for another."""
    problem, windows, done = windows_of(tiny_result.built, 0)
    assert sorted(windows.bus.tolist()) == [SEND, SEND, SOURCE, SOURCE, WRITE, WRITE]
    assert (windows.stop - windows.start).tolist() == [2] * 6
    sends = windows.take(windows.bus == SEND)
    assert sends.start.tolist() == [100, 100]
    assert done.tolist() == [132, 131]  # the horizon of this result is made up
    chain = chain_of(windows, done)
    assert [(link.tile, link.wait) for link in chain] == [(-1, 0)]
    assert critical_tiles(problem, windows, chain) == [0, 1]


def test_chain_goes_back_over_the_bus_that_got_free_last() -> None:
    """Tile 0 sends 0, 1, 2 in a row; the last waits one event more than its send needs."""
    columns = [
        (0, SEND, 0, 4, 0),
        (0, SEND, 4, 8, 1),
        (0, SEND, 9, 12, 2),
        (5, SOURCE, 2, 6, 0),
        (5, SOURCE, 20, 23, 2),
    ]
    windows = Windows(*np.array(columns).T)
    chain = chain_of(windows, np.array([50, 51, 60]))
    assert [(link.transfer, link.tile, link.wait) for link in chain] == [
        (2, 0, 1),
        (1, 0, 0),
        (0, -1, 0),
    ]
    assert chain_of(windows.take(np.zeros(5, np.bool_)), np.zeros(0, np.int64)) == []


def test_density_is_the_share_of_time(tiny_result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two buses of two tiles, two events of each taken in 170."""
    _, windows, _ = windows_of(tiny_result.built, 0)
    percent = density(windows, 2, 170)
    assert percent.shape == (2, 170)
    assert percent.sum(axis=1).tolist() == [200, 200]
    assert percent[0, 100:102].tolist() == [50, 50]
    monkeypatch.setattr(bus, "_BINS", 17)
    assert density(windows, 2, 170)[0].tolist() == [0] * 7 + [10, 0, 0, 10] + [0] * 6


def test_sentences(tiny_result: Result) -> None:
    reports = [report.to_json() for report in tiny_result.reports]
    total = figures_of(tiny_result.total)
    said = dict(summary(tiny_result.built, total, reports))
    assert said["Total"] == (
        "800 cycles. No program of the same candidates takes fewer than 700 under this cost model: "
        "the gap is 12.5 %. Of the 100 cycles between, mapping leaves 0 open; 100 are what the "
        "program takes beyond mapping's prices, which count the least that a phase can take. "
        "Heuristics alone give 810; the solvers save 1.2 %."
    )
    assert said["Steps that cost most"] == "x for a (770, 96.2 %), a (30, 3.8 %)."
    phase = said["Exchange phase that costs most"]
    assert phase.startswith("0 x for a: 170 cycles. It is not proven to be optimal: at least 160")
    assert "are needed, by “head + words + tail”: one bus" in phase
    assert phase.endswith("A gap of 5.9 % is left. The search was stopped by: time.")
    unproven = dict(summary(tiny_result.built, total | {"bound": None}, reports))
    assert "A given plan has no bound of its total." in unproven["Total"]
    assert why(reports[0]) == "It is optimal; the proof is “highs”."
    assert why(reports[0] | {"bound": None}) == "Nothing is proven about it."
