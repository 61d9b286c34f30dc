"""The logged plan of seed 004: every figure that the log and cost-model.md give for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from ipuopt.layout import MemoryClass
from ipuopt.models.mapping.peer import PeerReport, price_plan, read_plan
from ipuopt.models.mapping.peer.memory import Demand, Peaks, allocations
from ipuopt.plan import ConversionStep, MatMulStep, Origin, Plan, PointwiseStep
from ipuopt.rectangles import rectangles


@pytest.fixture(scope="module")
def seed_path(shared: Path) -> Path:
    return shared / "data" / "seeds" / "plan_siglip_mlp.yaml"


@pytest.fixture(scope="module")
def seed(seed_path: Path) -> Plan:
    return read_plan(seed_path)


@pytest.fixture(scope="module")
def printed(seed_path: Path) -> Any:
    return YAML(typ="safe", pure=True).load(seed_path.read_text())


@pytest.fixture(scope="module")
def report(seed: Plan) -> PeerReport:
    return price_plan(seed)


def test_values_are_numbered_as_in_the_log(seed: Plan) -> None:
    shapes = [(value.rows, value.columns) for value in seed.values]
    assert shapes == [
        (729, 1152),
        (1152, 4304),
        (4304, 1152),
        *[(729, 4304)] * 4,
        (729, 1152),
    ]
    origins = [Origin.INPUT, *[Origin.PARAMETER] * 2, *[Origin.COMPUTED] * 5]
    assert [value.origin for value in seed.values] == origins
    assert [value.is_output for value in seed.values] == [False] * 7 + [True]
    assert [value.tile_offset for value in seed.values] == [0, 0, 675, 0, 0, 0, 0, 0]
    assert seed.joins_phases and seed.tiles == 1472


def test_steps_form_a_chain(seed: Plan) -> None:
    kinds = [type(step) for step in seed.steps]
    assert kinds == [MatMulStep, ConversionStep, PointwiseStep, ConversionStep, MatMulStep]
    first, last = seed.steps[0], seed.steps[-1]
    assert isinstance(first, MatMulStep) and isinstance(last, MatMulStep)
    assert (first.left, first.right, first.result) == (0, 1, 3)
    assert (last.left, last.right, last.result) == (6, 2, 7)
    assert (first.rows, first.columns, first.inner) == (2, 135, 5)
    assert (last.block_inner, last.block_columns) == (288, 48)


def test_plan_survives_json(seed: Plan) -> None:
    assert Plan.from_json(seed.to_json()) == seed


def test_terms_of_the_plan_are_the_prices(seed: Plan, report: PeerReport) -> None:
    assert seed.cost == report.cycles
    assert [dict(step.terms) for step in seed.steps] == [dict(s.terms) for s in report.steps]


def test_cycles(report: PeerReport, printed: Any) -> None:
    assert [step.cycles for step in report.steps] == [89252, 3264, 21451, 27456, 92646]
    assert [step.exchange_cycles for step in report.steps] == [13616, 2968, 0, 27096, 19728]
    assert (report.cycles, report.exchange_cycles) == (234069, 63408)
    for step, logged in zip(report.steps, printed["steps"], strict=True):
        assert step.cycles == logged["estimated_cycles"]
        assert step.exchange_cycles == logged["estimated_exchange_cycles"]


def test_terms_of_the_products(report: PeerReport) -> None:
    """The worked example of cost-model.md 3.3."""
    assert dict(report.steps[0].terms) == {
        "kernel": 294 + 15 * (2920 + 470),
        "operand exchange": 30720 // 4 + 600,
        "partial exchange": 4 * 4736 // 4 + 600,
        "reduction": (4 + 1) * 4736 + 11,
        "result copy": 790 + 11,
    }
    assert dict(report.steps[4].terms) == {
        "kernel": 294 + 18 * (2196 + 705),
        "operand exchange": 55296 // 4 + 600,
        "partial exchange": 14 * 1344 // 4 + 600,
        "reduction": 15 * 1344 + 11,
        "result copy": 224 + 11,
    }


def test_terms_of_the_conversions(report: PeerReport) -> None:
    """The worked example of cost-model.md 3.6."""
    assert dict(report.steps[1].terms) == {"exchange": 2968, "local copies": 8 + 288}
    assert dict(report.steps[3].terms) == {"exchange": 27096, "local copies": 72 + 288}


def test_exchange_rows(report: PeerReport) -> None:
    assert [step.row_bytes for step in report.steps] == [344, 25204, 0, 36628, 680]
    assert report.row_bytes == 62856


def test_memory_of_every_step(report: PeerReport, printed: Any) -> None:
    for step, logged in zip(report.steps, printed["steps"], strict=True):
        memory = logged["memory_bytes_per_tile"]
        assert step.live == Demand(**memory["live"])
        assert step.temporary == Demand(**memory["temporary"])
        assert step.peak == Demand(**memory["peak"])


def test_allocations(seed: Plan) -> None:
    """Values 0..7 of cost-model.md 4.3."""
    size = [180224, 15360, 27648, 32768, 4288, 4288, 114688, 32768]
    standard = [value.layout.memory_class is MemoryClass.STANDARD for value in seed.values]
    assert [demand.total for demand in allocations(seed)] == size
    assert [demand.standard > 0 for demand in allocations(seed)] == standard


def test_program_peaks(report: PeerReport) -> None:
    assert report.peaks == Peaks(271496, 115520, 387016, 180224)
    assert report.feasible and report.violations == ()


def test_rule_b(seed: Plan, report: PeerReport) -> None:
    """Only conversion 2 costs more; the rows no longer fit (cost-model.md 5, lowering.md 7)."""
    other = price_plan(seed, "B")
    assert [step.cycles for step in other.steps] == [89252, 3264, 21451, 32352, 92646]
    assert dict(other.steps[3].terms) == {"exchange": 27096, "local copies": 72 + 18 * 288}
    assert other.row_bytes == 607176
    assert [s.exchange_cycles for s in other.steps] == [s.exchange_cycles for s in report.steps]
    assert not other.feasible


def test_layouts_of_the_first_product(seed: Plan) -> None:
    """The worked example of cost-model.md 1.8."""
    left, weights, result, linear = (
        rectangles(seed.values[i].layout, seed.values[i].rows, seed.values[i].columns)
        for i in (0, 1, 3, 4)
    )
    heights = left.row_stop - left.row_start
    assert sorted(set(heights.tolist())) == [364, 366]
    assert sorted(set((left.row_end - left.row_start).tolist())) == [363, 366]
    assert left.elements.max() * 2 == 175680
    # tile = replica + 135*k + 675*row
    assert left.column_start[134] == 0 and left.column_start[135] == 240
    assert left.row_start[674] == 0 and left.row_start[675] == 366
    assert len(weights) == 675 and weights.elements.max() * 2 == 15360
    widths = (weights.column_stop - weights.column_start)[:135].tolist()
    assert widths == [32] * 134 + [16]
    tall = (result.row_stop - result.row_start)[::135].tolist()
    assert tall == [74] * 5 + [72] * 5 and result.elements.max() * 2 == 4736
    assert len(linear) == 2195
