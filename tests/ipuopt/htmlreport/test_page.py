"""The page of a run: what it holds as a file, and what a reader can do with it in a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ipuopt.cli import main
from ipuopt.htmlreport import render
from ipuopt.report import TracePoint
from ipuopt.result import Result


@pytest.fixture
def run(tiny_result: Result, tmp_path: Path) -> Path:
    """A run whose mapping has a trace."""
    object.__setattr__(
        tiny_result.reports[0],
        "trace",
        (TracePoint(0.1, 720, None), TracePoint(0.2, 700, 650), TracePoint(0.25, 700, 700)),
    )
    tiny_result.save(tmp_path / "run")
    return tmp_path / "run"


def test_file_has_everything_in_itself(run: Path) -> None:
    """No element loads anything; all parts, tables and choices are there."""
    page = render(run)
    assert len(page) < 2_000_000
    markup = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert re.findall(r'(?:src|href)="(?!#|data:,)[^"]*"', markup) == []
    assert "<script src" not in page
    parts = ("summary", "floor-plan", "memory-map", "bus-windows", "convergence-plot")
    assert all(f'<section id="{part}">' in markup for part in parts)
    for name, rows in (("solves", 3), ("steps", 2), ("worst", 2)):
        table = markup.partition(f'<table id="{name}">')[2].partition("</table>")[0]
        assert table.count("<tr") - 1 == rows
    assert markup.count('data-tile="') == 2
    assert "0 x for a: 170 cycles" in markup
    assert "words sent, 0 x for a" in markup


def test_data_of_the_page(run: Path) -> None:
    text = render(run).partition('<script type="application/json" id="data">')[2]
    data = json.loads(text.partition("</script>")[0])
    assert (data["tiles"], data["values"]) == (2, ["x", "x for a", "a"])
    (phase,) = data["phases"]
    assert (phase["horizon"], phase["bound"], phase["complete"]) == (170, 160, True)
    assert [solve["name"] for solve in data["solves"]] == ["mapping", "0 x for a"]
    assert data["solves"][:1] == [
        {
            "name": "mapping",
            "unit": "cycles",
            "time": [0.1, 0.2, 0.25],
            "objective": [720, 700, 700],
            "bound": [None, 650, 700],
        }
    ]


def test_command(run: Path, tmp_path: Path) -> None:
    """Writes beside the run or where it is told; what is no run is one line."""
    outcome = CliRunner().invoke(main, ["report", str(run)])
    assert outcome.exit_code == 0
    assert re.fullmatch(rf"Report: {run}/report\.html \(1\.\d MB\)\n", outcome.stdout)
    assert (run / "report.html").read_text().startswith("<!DOCTYPE html>")
    elsewhere = tmp_path / "new" / "a.html"
    assert CliRunner().invoke(main, ["report", str(run), "-o", str(elsewhere)]).exit_code == 0
    assert elsewhere.exists()
    outcome = CliRunner().invoke(main, ["report", str(tmp_path / "none")])
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.count("\n") == 1


def test_in_a_browser(run: Path, browser: Any) -> None:
    """No console error, no request; picking, keys, sorting and the choices work."""
    file = run / "report.html"
    file.write_text(render(run))
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    wrong: list[str] = []
    page.on(
        "console",
        lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: wrong.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_selector("body[data-ready=yes]")
    assert wrong == [file.as_uri()]
    text = page.text_content
    assert text("#picked").startswith("Tile 0, row 0, position 0: 24 bytes used")
    assert page.locator("#buffers tbody tr").count() == 3

    page.fill("#tile", "1")  # by number: the other tile's buffers and runs
    assert text("#picked").startswith("Tile 1, row 0, position 2:")
    assert text("#memory-map h2") == "Memory of tile 1"
    assert "a" in text("#runs tbody")
    page.focus("#floor-keys")
    page.keyboard.press("ArrowLeft")
    assert text("#picked").startswith("Tile 0,")

    box = page.locator("#floor-keys").bounding_box()  # by a click on the plot
    x, y = page.evaluate(
        """() => {
          const view = Object.values(Bokeh.index.roots ?? {}).concat([...Bokeh.index])
            .find((view) => view?.model?.name === "floor");
          const frame = view.canvas_view ? view : view;
          return [frame.frame.x_scale.compute(2) , frame.frame.y_scale.compute(0)];
        }"""
    )
    page.mouse.click(box["x"] + x, box["y"] + y)
    page.wait_for_function("document.getElementById('picked').textContent.startsWith('Tile 1,')")

    assert text("#phase-words").startswith("0 x for a ends at 170; at least 160 by head + words")
    windows = "Bokeh.documents[0].get_model_by_name('bus_windows').data.left.length"
    assert page.evaluate(windows) == 6
    page.uncheck("#with-picked")
    assert page.evaluate(windows) == 6  # both tiles are critical
    spans = (
        "['bus_bound', 'bus_horizon'].map((n) => Bokeh.documents[0].get_model_by_name(n).location)"
    )
    assert page.evaluate(spans) == [160, 170]
    chain = "Bokeh.documents[0].get_model_by_name('bus_windows').data.line"
    assert page.evaluate(chain).count("#000000") == 3  # one transfer: send, source, write
    page.select_option("#field", "received:0")
    colours = "Bokeh.documents[0].get_model_by_name('floor_tiles').data.value"
    assert page.evaluate(colours) == [2, 2]
    bands = "Bokeh.documents[0].get_model_by_name('memory_bands').data"
    boundary = page.evaluate("Bokeh.documents[0].get_model_by_name('memory_boundary').location")
    assert page.evaluate(f"{bands}.top[2]") == page.evaluate(f"{bands}.bottom[3]") == boundary
    assert "standard" in text("#buffers tbody")
    points = "Bokeh.documents[0].get_model_by_name('solve_bound').data.y"
    assert page.evaluate(points) == [650, 700]

    first_cell = "#steps tbody tr:first-child td:first-child"
    title = page.locator("#steps thead button").nth(3)
    title.click()
    assert text(first_cell) == "1"  # the cheaper step
    title.press("Enter")
    assert text(first_cell) == "0"
    assert page.get_attribute("#steps th:nth-child(4)", "aria-sort") == "descending"
    page.locator("#worst tbody tr").nth(1).press("Enter")
    assert text("#picked").startswith("Tile ")
    assert text(".tile-number") == page.locator("#worst tbody tr").nth(1).get_attribute("data-tile")
    page.emulate_media(media="print")
    assert not page.is_visible("nav")
    assert len(page.screenshot(full_page=True)) > 50_000
    assert wrong == [file.as_uri()]
    page.close()
