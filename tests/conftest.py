"""Fixtures that all tests share."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipuopt.codegen.package import Package, TileImage
from ipuopt.layout import ROW_MAJOR, ROWS, AxisTiling, Layout, MemoryClass
from ipuopt.models.exchange import Problem, Solution
from ipuopt.options import SolveOptions
from ipuopt.plan import (
    ConversionMethod,
    ConversionStep,
    Origin,
    Plan,
    PlannedValue,
    PointwiseStep,
)
from ipuopt.program import (
    CopyTable,
    IntArray,
    Kernel,
    Program,
    ProgramStep,
    Role,
    RunTable,
    ShardTable,
    StepKind,
    TransferTable,
)
from ipuopt.report import Limit, RunInfo, SolveReport, SolveStatus
from ipuopt.result import Built, Result, Total
from ipuopt.workload import Workload, from_dict

ROOT = Path(__file__).resolve().parent.parent


def _column(values: Sequence[object]) -> IntArray:
    return np.array(values, dtype=np.int64)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of specifications and data beside the project; skips where it is absent."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("the folder ../shared with specifications and data is not there")
    return folder


@pytest.fixture(scope="session")
def vectors(shared: Path) -> dict[str, Any]:
    """Content of ``ipu21_vectors.json``."""
    loaded: dict[str, Any] = json.loads((shared / "data" / "ipu21_vectors.json").read_text())
    return loaded


def _listed(
    transfers: Sequence[tuple[int, int, int, Sequence[tuple[int, int]], int]],
    tiles: int,
    name: str = "phase",
) -> Problem:
    pairs = [pair for transfer in transfers for pair in transfer[3]]
    return Problem(
        name=name,
        tiles=tiles,
        source=_column([t[0] for t in transfers]),
        source_address=_column([t[1] for t in transfers]),
        words=_column([t[2] for t in transfers]),
        destination_start=np.cumsum([0, *(len(t[3]) for t in transfers)]),
        destination_tile=_column([tile for tile, _ in pairs]),
        destination_address=_column([address for _, address in pairs]),
        paired=np.array([t[4] == 64 for t in transfers], np.bool_),
    )


@pytest.fixture(scope="session")
def listed() -> Callable[..., Problem]:
    """``listed(transfers, tiles, name)``: a phase of both widths.

    A transfer is source tile, byte address, words, receivers as (tile, byte address), and width.
    """
    return _listed


@pytest.fixture(scope="session")
def appended() -> Callable[[dict[str, Any]], tuple[Problem, Solution]]:
    """``appended(phase)``: the transfers of a phase of the vectors that were appended, with starts.

    A transfer in point form has the pointer 0: its address is in a register, not in the row.
    """

    def make(phase: dict[str, Any]) -> tuple[Problem, Solution]:
        steps = [step for step in phase["steps"] if "timing" in step]
        transfers = []
        for step in steps:
            source, address, words, receivers, width = step["t"]
            if step["point"]:
                receivers = [(tile, 0) for tile, _ in receivers]
            transfers.append((source, address, words, receivers, width))
        problem = _listed(transfers, phase["tiles"], phase["name"])
        start = _column([step["timing"]["P"] for step in steps])
        return problem, Solution(start, problem.paired)

    return make


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless Chromium of the system; skips with the reason where there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium is installed")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield started
        started.close()


def _module(name: str) -> Any:
    """A module that lies here and is no test."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def elf() -> Any:
    """The module ``elf.py``, which writes small ELF objects."""
    return _module("elf")


@pytest.fixture(scope="session")
def interpreter() -> Any:
    """The module ``interpreter.py``, which runs code word by word."""
    return _module("interpreter")


@pytest.fixture(scope="session")
def changes() -> Any:
    """The module ``changes.py``, which changes single words of packages."""
    return _module("changes")


@pytest.fixture(scope="session")
def repeating() -> Any:
    """The module ``repeating.py``, which makes a program with a repeat."""
    return _module("repeating")


@pytest.fixture(scope="session")
def repeated(repeating: Any) -> Built:
    """A product whose weights come slice by slice, in a repeat of three iterations."""
    built: Built = repeating.built(repeating.program())
    return built


@pytest.fixture(scope="session")
def make_tile(interpreter: Any) -> Callable[[], Any]:
    """``make_tile()``: a tile whose code is run word by word."""
    make: Callable[[], Any] = interpreter.Tile
    return make


@pytest.fixture(scope="session")
def traced(interpreter: Any) -> Callable[[Package, TileImage], tuple[Any, Any]]:
    """``traced(package, image)``: what the code of a tile does, and the tile at its end."""
    run: Callable[[Package, TileImage], tuple[Any, Any]] = interpreter.traced
    return run


@pytest.fixture(scope="session")
def small_workload() -> Workload:
    """Two products with Gelu between, cut unevenly: 40x48 -> 80 -> 32."""
    return from_dict(
        {
            "ipuopt": 1,
            "name": "small",
            "target": {"chip": "ipu21", "tiles": 8},
            "inputs": {"x": {"shape": [40, 48]}},
            "parameters": {"w1": {"shape": [48, 80]}, "w2": {"shape": [80, 32]}},
            "operations": {
                "h": {"op": "MatMul", "inputs": ["x", "w1"]},
                "a": {"op": "Gelu", "inputs": ["h"]},
                "y": {"op": "MatMul", "inputs": ["a", "w2"]},
            },
            "outputs": ["y"],
        }
    )


@pytest.fixture
def tiny_result() -> Result:
    """A hand-made result: the two rows of ``x`` change tiles, then Gelu; two tiles, one phase."""
    workload = from_dict(
        {
            "ipuopt": 1,
            "name": "tiny",
            "target": {"tiles": 2},
            "inputs": {"x": {"shape": [2, 4]}},
            "operations": {"a": {"op": "Gelu", "inputs": ["x"]}},
            "outputs": ["a"],
        }
    )
    rows = AxisTiling(axis=ROWS, partitions=2, block=1, padding_multiple=1)
    layout = Layout(ROW_MAJOR, 2, 1, (rows,), MemoryClass.STANDARD)
    x = PlannedValue("x", "x", 2, 4, "float16", layout, Origin.INPUT)
    moved = PlannedValue("x for a", "x", 2, 4, "float16", layout, Origin.COMPUTED, tile_offset=1)
    a = PlannedValue("a", "a", 2, 4, "float16", layout, Origin.COMPUTED, 1, is_output=True)
    move = ConversionStep(
        name="x for a", value=0, result=1, method=ConversionMethod.RETILE, terms={"exchange": 670}
    )
    gelu = PointwiseStep(name="a", kind="Gelu", inputs=(1,), result=2, terms={"gelu": 30})
    # Tiles 0, 1 of x, then of its copy, then of a; columns in the order of ShardTable's fields.
    shards = [
        (tile, value, Role.VALUE, 0, 0, 0, row, row + 1, row + 1, 0, 4, 4, 8, 8, *live)
        for value, live in ((0, (0, 1)), (1, (0, 2)), (2, (1, 2)))
        for row, tile in enumerate((0, 1) if value == 0 else (1, 0))
    ]
    runs = [
        (1, tile, Kernel.GELU, output, source, -1, 0, 0, 0, 4, 1, 1, 0, 30)
        for tile, output, source in ((0, 5, 3), (1, 4, 2))
    ]
    transfers = TransferTable(
        *map(_column, ([0, 0], [0, 1], [0, 0], [2, 2], [0, 1, 2], [2, 3], [0, 0]))
    )
    program = Program(
        tiles=2,
        steps=(ProgramStep(StepKind.PHASE, 0, "x for a"), ProgramStep(StepKind.RUN, 1, "a")),
        shards=ShardTable(*_column(shards).T),
        runs=RunTable(*_column(runs).T),
        copies=CopyTable(*np.zeros((11, 0), dtype=np.int64)),
        transfers=transfers,
        distinct=np.zeros((0, 2), dtype=np.int64),
    )
    built = Built(
        plan=Plan(tiles=2, values=(x, moved, a), steps=(move, gelu)),
        program=program,
        address=np.array([0, 0, 16, 16, 32, 32], dtype=np.int64) + 0x50000,
        boundary=np.zeros(2, dtype=np.int64),
        start=np.array([100, 100], dtype=np.int64),
        horizon=np.array([170], dtype=np.int64),
    )
    mapping = SolveReport(
        stage="mapping",
        model="mapping",
        status=SolveStatus.OPTIMAL,
        heuristic=720,
        objective=700,
        bound=700,
        bound_source="highs",
        unit="cycles",
        terms={"exchange": 670, "gelu": 30},
        wall_time_s=0.25,
    )
    exchange = SolveReport(
        stage="exchange",
        model="0 x for a",
        status=SolveStatus.FEASIBLE,
        limit=Limit.TIME,
        heuristic=180,
        objective=170,
        bound=160,
        bound_source="head + words + tail",
        unit="cycles",
        run=RunInfo(note="the back end crashed; the heuristic's schedule is kept"),
    )
    return Result(
        workload=workload,
        options=SolveOptions(),
        built=built,
        reports=(mapping, exchange),
        total=Total(heuristic=810, objective=800, bound=700),
        limit=Limit.TIME,
    )
