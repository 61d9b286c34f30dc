"""The examples end to end, as a user runs them, and once more through the check."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import ipuopt
from ipuopt.errors import InfeasibleError
from ipuopt.htmlreport import render
from ipuopt.models.mapping.peer import adopt, read_plan
from ipuopt.options import SolveOptions
from ipuopt.result import Result

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def solved(name: str, time_limit_s: float, folder: Path) -> Result:
    """An example solved within the limit; its run directory passes the check."""
    workload = ipuopt.load(EXAMPLES / name)
    result = ipuopt.solve(workload, SolveOptions(time_limit_s=time_limit_s))
    result.save(folder)
    assert ipuopt.check(folder).violations == ()
    return result


def gap_of_phases(result: Result) -> float:
    """Sum of horizons over sum of bounds, all phases."""
    phases = [report for report in result.reports if report.stage == "exchange"]
    return sum(r.objective or 0 for r in phases) / sum(r.bound or 0 for r in phases)


def test_tiny(tmp_path: Path) -> None:
    """Every stage is proven or has its gap; the mapping is proven."""
    result = solved("mlp-tiny.yaml", 60.0, tmp_path / "run")
    mapping = result.reports[0]
    assert mapping.objective == mapping.bound == result.total.bound
    assert all(report.gap is not None for report in result.reports)
    assert result.total.gap is not None and result.total.gap < 0.05


@pytest.fixture(scope="module")
def siglip(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """The SigLIP MLP on 1472 tiles, and its run directory."""
    folder = tmp_path_factory.mktemp("siglip") / "run"
    return solved("siglip-mlp.yaml", 100.0, folder), folder


def test_siglip(siglip: tuple[Result, Path]) -> None:
    """The main job: the SigLIP MLP on 1472 tiles, better than the bars asked of it."""
    result = siglip[0]
    total = result.total
    assert total.objective <= 200_000
    assert total.bound is not None and total.bound >= 0.9 * total.objective
    assert gap_of_phases(result) <= 1.15


def test_report_of_siglip(siglip: tuple[Result, Path]) -> None:
    """One file below 5 MB, built in less than 20 s of a CPU."""
    folder = siglip[1]
    begin = time.process_time()
    page = render(folder).encode()
    assert time.process_time() - begin < 20.0
    assert len(page) < 5_000_000
    (folder / "report.html").write_bytes(page)


def test_report_of_siglip_in_a_browser(siglip: tuple[Result, Path], browser: Any) -> None:
    """It opens without an error, with a picture of every part, and picks any of 1472 tiles."""
    file = siglip[1] / "report.html"
    file.write_text(render(siglip[1]))
    page = browser.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(file.as_uri())
    page.wait_for_selector("body[data-ready=yes]")
    assert page.locator("canvas").count() >= 7
    page.fill("#tile", "1471")
    assert page.text_content("#picked").startswith("Tile 1471, row ")
    assert "ends at" in page.text_content("#phase-words")
    assert wrong == []
    page.close()


def test_model_that_cannot_fit() -> None:
    """SigLIP on 8 tiles: demand, capacity and owners by name."""
    workload = ipuopt.load(EXAMPLES / "siglip-mlp.yaml")
    small = ipuopt.from_dict(
        {
            "ipuopt": 1,
            "name": "siglip-8",
            "target": {"chip": "ipu21", "tiles": 8},
            "inputs": {"x": {"shape": list(workload.tensors["x"].shape)}},
            "parameters": {w: {"shape": list(workload.tensors[w].shape)} for w in ("w1", "w2")},
            "operations": {
                "h": {"op": "MatMul", "inputs": ["x", "w1"]},
                "a": {"op": "Gelu", "inputs": ["h"]},
                "y": {"op": "MatMul", "inputs": ["a", "w2"]},
            },
            "outputs": ["y"],
        }
    )
    with pytest.raises(InfeasibleError) as error:
        ipuopt.solve(small, SolveOptions(time_limit_s=60.0))
    explanation = error.value.explanation
    assert explanation.demand > explanation.capacity
    assert {"x", "w1", "w2"} <= {name for name, _ in explanation.owners}
    assert explanation.levers


@pytest.mark.slow
def test_peer_plan(tmp_path: Path) -> None:
    """The public compiler's plan, built here: shorter phases than it finds, where it finds any."""
    workload = ipuopt.load(EXAMPLES / "siglip-mlp.yaml")
    plan = adopt(read_plan(EXAMPLES / "siglip-mlp.peer-plan.yaml"), workload)
    result = ipuopt.solve(workload, SolveOptions(time_limit_s=900.0), plan=plan)
    result.save(tmp_path / "run")
    assert ipuopt.check(tmp_path / "run").violations == ()
    bars = (4_100, 6_600, 3_000, 41_500, 5_600)
    horizons = result.built.horizon.tolist()
    assert all(h <= bar for h, bar in zip(horizons, bars, strict=True)), horizons
