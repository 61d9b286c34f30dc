"""A product whose weights come slice by slice in a repeat, made by hand.

``y = x w`` of 32 x 256 x 32 on four tiles: tiles 0 and 1 hold half of the rows of ``x`` and ``y``,
tiles 2 and 3 half of the columns of ``w``, in blocks of 64 inner indices. The first block is sent
and multiplied alone; the other three in a repeat, in which the sends and both operands move on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ipuopt.codegen.lower.lifetimes import lifetimes
from ipuopt.codegen.package import Package
from ipuopt.codegen.phases import exchange_problem, phase_slice
from ipuopt.device import Simulator, run_once
from ipuopt.layout import COLUMNS, LEFT, ROWS, AxisTiling, Layout, MemoryClass, Order, OrderKind
from ipuopt.limits import Limits
from ipuopt.models import exchange, placement
from ipuopt.options import SolveOptions
from ipuopt.pipeline.execute import tensors_of
from ipuopt.pipeline.phases import scheduled as pipeline_scheduled
from ipuopt.pipeline.tensors import packed
from ipuopt.plan import Epochs, MatMulStep, Orientation, Origin, Plan, PlannedValue
from ipuopt.program import (
    CopyTable,
    Kernel,
    Program,
    ProgramStep,
    Repeat,
    Role,
    RunTable,
    ShardTable,
    StepKind,
    TransferTable,
)
from ipuopt.report import SolveReport, SolveStatus
from ipuopt.result import Built, Result, Total
from ipuopt.target.kernels import matmul_cycles
from ipuopt.workload import Workload, from_dict

ROWS_OF_X, INNER, COLUMNS_OF_W, BLOCK = 32, 256, 32, 64
HALF_ROWS, HALF_COLUMNS = ROWS_OF_X // 2, COLUMNS_OF_W // 2
COUNT = INNER // BLOCK - 1
SLICE = 2 * BLOCK * HALF_COLUMNS
"""Bytes of a block of half of the columns, from one iteration to the next."""
PANELS = 2 * BLOCK * HALF_ROWS
"""Bytes of ``x`` that a block takes."""


def workload() -> Workload:
    return from_dict(
        {
            "ipuopt": 1,
            "name": "repeated",
            "target": {"tiles": 4},
            "inputs": {"x": {"shape": [ROWS_OF_X, INNER]}},
            "parameters": {"w": {"shape": [INNER, COLUMNS_OF_W]}},
            "operations": {"y": {"op": "MatMul", "inputs": ["x", "w"]}},
            "outputs": ["y"],
        }
    )


def plan() -> Plan:
    rows = AxisTiling(axis=ROWS, partitions=2, block=1, padding_multiple=1)
    columns = AxisTiling(axis=COLUMNS, partitions=2, block=16, padding_multiple=16)
    by_rows = Layout(LEFT, 2, 1, (rows,), MemoryClass.STANDARD)
    blocks = Layout(Order(OrderKind.BLOCK_MAJOR, BLOCK), 2, 1, (columns,), MemoryClass.STANDARD)
    x = PlannedValue("x", "x", ROWS_OF_X, INNER, "float16", by_rows, Origin.INPUT)
    shape = INNER, COLUMNS_OF_W
    w = PlannedValue("w", "w", *shape, "float16", blocks, Origin.PARAMETER, tile_offset=2)
    y = PlannedValue(
        "y", "y", ROWS_OF_X, COLUMNS_OF_W, "float16", by_rows, Origin.COMPUTED, is_output=True
    )
    cycles = matmul_cycles(HALF_ROWS, COLUMNS_OF_W, BLOCK, False, 2)
    product = MatMulStep(
        name="y",
        left=0,
        right=1,
        result=2,
        orientation=Orientation.NORMAL,
        rows=2,
        columns=1,
        inner=1,
        block_inner=BLOCK,
        block_columns=COLUMNS_OF_W,
        epochs=Epochs.COMPLETE,
        terms={"kernel": int(cycles) * (COUNT + 1)},
    )
    return Plan(tiles=4, values=(x, w, y), steps=(product,))


def _shards() -> ShardTable:
    """x, w, y, staging of the first block, staging of the others; two of each."""
    left, block = (
        list(OrderKind).index(OrderKind.LEFT),
        list(OrderKind).index(OrderKind.BLOCK_MAJOR),
    )
    rows = []
    for half in range(2):
        up = HALF_ROWS * half
        box = (up, up + HALF_ROWS, up + HALF_ROWS, 0, INNER, INNER)
        rows.append((half, 0, Role.VALUE, left, 0, 0, *box, 2 * HALF_ROWS * INNER + 16, 32, 0, 0))
    for half in range(2):
        over = HALF_COLUMNS * half
        box = (0, INNER, INNER, over, over + HALF_COLUMNS, over + HALF_COLUMNS)
        size = 2 * INNER * HALF_COLUMNS
        rows.append((2 + half, 1, Role.VALUE, block, BLOCK, 0, *box, size, 32, 0, 0))
    for half in range(2):
        up = HALF_ROWS * half
        box = (up, up + HALF_ROWS, up + HALF_ROWS, 0, COLUMNS_OF_W, COLUMNS_OF_W)
        size = 2 * HALF_ROWS * COLUMNS_OF_W
        rows.append((half, 2, Role.VALUE, left, 0, 0, *box, size, 32, 0, 0))
    for first in (0, BLOCK):
        for half in range(2):
            box = (first, first + BLOCK, first + BLOCK, 0, COLUMNS_OF_W, COLUMNS_OF_W)
            size = 2 * BLOCK * COLUMNS_OF_W
            rows.append((half, 1, Role.STAGING, block, BLOCK, 0, *box, size, 32, 0, 0))
    advance = np.array([0] * 8 + [BLOCK] * 2)
    return replace(ShardTable(*np.array(rows, dtype=np.int64).T), row_advance=advance)


def program(count: int = COUNT) -> Program:
    """Steps: weights and product of the first block; those of the others, ``count`` times."""
    cycles = matmul_cycles(HALF_ROWS, COLUMNS_OF_W, BLOCK, False, 2)
    runs = [
        (
            *(step, half, Kernel.MATMUL, 4 + half, half, stage + half, 0, at, 0),
            *(HALF_ROWS, COLUMNS_OF_W, BLOCK, accumulate, cycles, 0, moved, 0),
        )
        for step, stage, at, accumulate, moved in ((1, 6, 0, 0, 0), (3, 8, PANELS, 1, PANELS))
        for half in range(2)
    ]
    transfers = TransferTable(
        step=np.array([0, 0, 2, 2]),
        source=np.array([2, 3, 2, 3]),
        source_offset=np.array([0, 0, SLICE, SLICE]),
        words=np.full(4, SLICE // 4),
        destination_start=np.arange(0, 9, 2),
        destination=np.array([6, 7, 6, 7, 8, 9, 8, 9]),
        destination_offset=np.array([0, 0, SLICE, SLICE] * 2),
        source_advance=np.array([0, 0, SLICE, SLICE]),
    )
    steps = tuple(
        ProgramStep(kind, 0, name)
        for kind, name in (
            (StepKind.PHASE, "first weights"),
            (StepKind.RUN, "first product"),
            (StepKind.PHASE, "weights"),
            (StepKind.RUN, "product"),
        )
    )
    tables: dict[str, Any] = {
        "shards": _shards(),
        "runs": RunTable(*np.array(runs, dtype=np.int64).T),
        "copies": CopyTable(*np.zeros((11, 0), dtype=np.int64)),
        "transfers": transfers,
    }
    repeats = (Repeat(2, 4, count),)
    tables["shards"] = lifetimes(plan(), len(steps), **tables, repeats=repeats)
    return Program(
        tiles=4,
        steps=steps,
        **tables,
        distinct=np.array([(4, 0), (5, 1)]),
        repeats=repeats,
    )


def built(made: Program) -> Built:
    """Addresses and schedules of a program with this plan; both pass their checkers."""
    placed, _ = placement.solve_program(made, Limits())
    assert placed is not None
    assert placement.check_program(made, placed.address, placed.boundary) == ()
    return scheduled(made, placed.address, placed.boundary)


def scheduled(made: Program, address: Any, boundary: Any) -> Built:
    starts, horizon = [], []
    for phase in range(len(made.phases)):
        problem = exchange_problem(made, address, phase)
        solution = exchange.schedule_quickly(problem)
        assert exchange.check(problem, solution) == ()
        starts.append(solution.start)
        horizon.append(exchange.horizon(problem, solution))
    return Built(
        plan=replace(plan(), tiles=made.tiles),
        program=made,
        address=address,
        boundary=boundary,
        start=np.concatenate(starts),
        horizon=np.array(horizon, dtype=np.int64),
    )


def outcome(of: Built, package: Package) -> tuple[bytes, list[int]]:
    """Output of a run in the simulator on drawn tensors, and events of its phases."""
    given = tensors_of(workload(), None, 0)
    weights, inputs = (packed(of, part, given) for part in (package.weights, package.inputs))
    with Simulator(package) as device:
        return run_once(device, package, weights, inputs), device.machine.phases


def run(package: Package, weights: bytes, inputs: bytes) -> bytes:
    """Output of a run in the simulator."""
    with Simulator(package) as device:
        return run_once(device, package, weights, inputs)


def result(of: Built) -> Result:
    """A run's result; nothing is proven about its mapping."""
    phases = [
        (exchange_problem(of.program, of.address, phase), of.start[phase_slice(of.program, step)])
        for phase, step in enumerate(of.program.phases)
    ]
    schedules = [
        pipeline_scheduled(problem, exchange.Solution(start), None).report
        for problem, start in phases
    ]
    total = int(of.program.cycles_with(of.horizon).sum())
    mapping = SolveReport(
        stage="mapping",
        model="mapping",
        status=SolveStatus.FEASIBLE,
        objective=of.plan.cost,
        bound=None,
        bound_source="",
        unit="cycles",
    )
    return Result(
        workload=workload(),
        options=SolveOptions(),
        built=of,
        reports=(mapping, *schedules),
        total=Total(heuristic=None, objective=total, bound=None),
    )
