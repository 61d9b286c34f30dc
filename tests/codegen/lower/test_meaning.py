"""Programs compute what their plans say: every table is carried out and compared with numpy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ipuopt.codegen.check import check
from ipuopt.codegen.lower import lower
from ipuopt.layout import (
    COLUMNS,
    LEFT,
    ROW_MAJOR,
    ROWS,
    AxisTiling,
    Layout,
    LayoutError,
    MemoryClass,
)
from ipuopt.plan import Epochs, MatMulStep, Origin, Plan
from ipuopt.program import Kernel, Program, StepKind


def run_mlp(tools: Any, plan: Plan) -> Program:
    """Lower, check, carry out, compare."""
    program = lower(plan)
    assert check(plan, program) == ()
    tensors = tools.tensors(plan)
    result = tools.interpret(plan, program, tensors)["y"]
    expected = tools.gelu(tensors["x"] @ tensors["w1"]) @ tensors["w2"]
    np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9)
    return program


CASES: dict[str, tuple[tuple[int, int, int, int], dict[str, Any], dict[str, Any]]] = {
    "one tile": (
        (6, 16, 16, 16),
        {"rows": 1, "columns": 1, "inner": 1},
        {"rows": 1, "columns": 1, "inner": 1},
    ),
    "whole inner axis": (
        (24, 48, 64, 32),
        {"rows": 3, "columns": 2, "inner": 1},
        {"rows": 2, "columns": 2, "inner": 1},
    ),
    "several kernel blocks": (
        (12, 96, 64, 32),
        {"rows": 2, "columns": 2, "inner": 1, "blocks": 3},
        {"rows": 2, "columns": 1, "inner": 2, "blocks": 2},
    ),
    "complete reduction, remote weights": (
        (24, 64, 96, 48),
        {"rows": 2, "columns": 3, "inner": 4, "row_factor": 4},
        {"rows": 2, "columns": 3, "inner": 3, "row_factor": 3},
    ),
    "streamed reduction": (
        (24, 64, 80, 48),
        {"rows": 2, "columns": 3, "inner": 4, "row_factor": 4, "epochs": Epochs.STREAMED},
        {"rows": 1, "columns": 3, "inner": 5, "epochs": Epochs.STREAMED},
    ),
    "resident weights, standard memory": (
        (24, 64, 96, 48),
        {"rows": 2, "columns": 3, "inner": 2, "resident": True, "memory": MemoryClass.STANDARD},
        {"rows": 4, "columns": 3, "inner": 2, "resident": True},
    ),
    "remote weights, standard memory": (
        (8, 64, 64, 48),
        {"rows": 2, "columns": 2, "inner": 2, "memory": MemoryClass.STANDARD},
        {"rows": 4, "columns": 3, "inner": 2, "memory": MemoryClass.STANDARD},
    ),
    "result cut in columns": (
        (6, 64, 128, 64),
        {"rows": 1, "columns": 3, "inner": 2, "column_factor": 2},
        {"rows": 1, "columns": 2, "inner": 2, "column_factor": 2},
    ),
    "uneven cuts and padding": (
        (23, 72, 112, 40),
        {"rows": 3, "columns": 2, "inner": 3, "row_factor": 3},
        {"rows": 4, "columns": 2, "inner": 3, "row_factor": 2},
    ),
    "rotated weights": (
        (24, 64, 96, 48),
        {"rows": 2, "columns": 3, "inner": 4, "offset": 11},
        {"rows": 2, "columns": 3, "inner": 3, "offset": 61},
    ),
    "swapped first product": (
        (40, 64, 46, 32),
        {"rows": 3, "columns": 2, "inner": 2, "swapped": True, "row_factor": 2},
        {"rows": 5, "columns": 2, "inner": 3},
    ),
    "swapped, streamed, whole copies of the activation": (
        (23, 72, 37, 40),
        {
            "rows": 4,
            "columns": 2,
            "inner": 3,
            "swapped": True,
            "resident": True,
            "epochs": Epochs.STREAMED,
        },
        {"rows": 3, "columns": 2, "inner": 3, "epochs": Epochs.STREAMED},
    ),
    "swapped with whole inner axis": (
        (48, 32, 40, 32),
        {"rows": 3, "columns": 3, "inner": 1, "swapped": True},
        {"rows": 3, "columns": 2, "inner": 1},
    ),
    "swapped second product, padding of the inner axis": (
        (23, 32, 112, 40),
        {"rows": 3, "columns": 2, "inner": 1},
        {"rows": 5, "columns": 1, "inner": 3, "swapped": True, "epochs": Epochs.STREAMED},
    ),
    "swapped second product, odd extents, several kernel blocks": (
        (37, 33, 83, 29),
        {"rows": 2, "columns": 3, "inner": 1},
        {"rows": 2, "columns": 3, "inner": 2, "swapped": True, "blocks": 2},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_mlp_computes_what_numpy_does(name: str, tools: Any) -> None:
    """The Gelu lies as the result of the first product."""
    shape, first, second = CASES[name]
    run_mlp(tools, tools.mlp(shape, tools.Grid(**first), tools.Grid(**second)))


def test_local_weights_are_copied_where_the_plan_says_so(tools: Any) -> None:
    """The first product receives the panels of two of three row parts and copies those of one."""
    plan = tools.mlp(
        (24, 64, 96, 48),
        tools.Grid(rows=3, columns=2, inner=2, memory=MemoryClass.STANDARD),
        tools.Grid(rows=4, columns=3, inner=2, resident=True),
    )
    steps = tuple(
        replace(step, stages_weights=True) if isinstance(step, MatMulStep) else step
        for step in plan.steps
    )
    program = run_mlp(tools, replace(plan, steps=steps))
    names = [program.steps[step].name.split()[:2] for step in program.copies.step]
    assert names.count(["stage", "w1"]) == 2 * 2 and names.count(["stage", "w2"]) == 4 * 3 * 2


@pytest.mark.parametrize("joins_phases", [False, True])
def test_linear_gelu_and_joined_phases(tools: Any, joins_phases: bool) -> None:
    """Retiles to and from linear ownership; weights may travel with the conversion."""
    plan = tools.mlp(
        (23, 72, 112, 40),
        tools.Grid(rows=3, columns=2, inner=3, row_factor=3),
        tools.Grid(rows=4, columns=2, inner=3),
        gelu_layout=tools.linear(60, 16),
        joins_phases=joins_phases,
    )
    program = run_mlp(tools, plan)
    names = [program.steps[phase].name for phase in program.phases]
    assert len(names) == (5 if joins_phases else 6), names


def test_stage_through_row_major_linear(tools: Any) -> None:
    """AMP left to row-major, no unpacking on the way back."""
    plan = tools.mlp(
        (20, 48, 72, 40),
        tools.Grid(rows=2, columns=2, inner=3),
        tools.Grid(rows=3, columns=2, inner=2),
        gelu_layout=tools.linear(60, 8, ROW_MAJOR),
    )
    program = run_mlp(tools, plan)
    kernels = set(program.runs.kernel.tolist())
    assert {Kernel.PACK, Kernel.UNPACK} <= kernels


def test_a_swapped_product_loads_what_a_normal_one_made(tools: Any) -> None:
    """y^T = w2^T a^T: micro-panels of the activation travel as they are, nothing is packed."""
    program = run_mlp(
        tools,
        tools.mlp(
            (40, 64, 96, 32),
            tools.Grid(rows=3, columns=3, inner=2, row_factor=2),
            tools.Grid(rows=4, columns=3, inner=3, swapped=True, resident=True),
        ),
    )
    assert not {Kernel.PACK, Kernel.UNPACK} & set(program.runs.kernel.tolist())


def test_stage_of_odd_rows(tools: Any) -> None:
    """Whole rows of odd length: staging rows start at words although the logical width is odd."""
    plan = tools.mlp(
        (20, 48, 37, 40),
        tools.Grid(rows=2, columns=2, inner=3, swapped=True),
        tools.Grid(rows=3, columns=2, inner=2),
    )
    run_mlp(tools, plan)


def test_padding_of_the_inner_axis_is_cleared(tools: Any) -> None:
    """Hidden 112 is padded to 144 for three inner parts of 48; unwritten memory is NaN."""
    plan = tools.mlp(
        (8, 32, 112, 32),
        tools.Grid(rows=1, columns=2, inner=1),
        tools.Grid(rows=2, columns=2, inner=3),
    )
    program = run_mlp(tools, plan)
    clears = program.runs.kernel == Kernel.CLEAR
    assert clears.sum() == 4
    assert set(program.runs.rows[clears].tolist()) == {4 * 32}


def test_add_cast_and_two_outputs(tools: Any) -> None:
    """An operand that comes from another layout; float32 has smaller micro-panels."""
    planner = tools.Planner(64)
    grid = tools.Grid(rows=2, columns=2, inner=2)
    x = planner.value("x", (12, 32), grid.left(32), Origin.INPUT)
    h = planner.matmul("h", x, ("w1", 48), grid)
    other = planner.value("b", (12, 48), tools.linear(30, 16), Origin.INPUT)
    s = planner.pointwise("s", "Add", h, planner.convert(other, planner.values[h].layout))
    even = planner.convert(s, tools.linear(30, 16))
    wide = planner.pointwise("c", "Cast", even, dtype="float32")
    plan = planner.plan(s, wide)
    program = lower(plan)
    assert check(plan, program) == ()
    tensors = tools.tensors(plan)
    result = tools.interpret(plan, program, tensors)
    expected = tensors["x"] @ tensors["w1"] + tensors["b"]
    np.testing.assert_allclose(result["s"], expected, rtol=1e-9)
    np.testing.assert_allclose(result["c"], expected, rtol=1e-9)


def test_cast_of_panels_is_refused(tools: Any) -> None:
    """Panels of float16 are 16 columns wide, those of float32 are 8: rows would be torn apart."""
    planner = tools.Planner(64)
    grid = tools.Grid(rows=2, columns=2, inner=2)
    x = planner.value("x", (12, 32), grid.left(32), Origin.INPUT)
    wide = planner.pointwise("c", "Cast", x, dtype="float32")
    with pytest.raises(LayoutError, match="c: amp_left has another sequence"):
        lower(planner.plan(wide))


def test_float32_retile_between_grids(tools: Any) -> None:
    """Micro-panels of 8 columns."""

    def grid(rows: int, columns: int) -> Layout:
        axes = (AxisTiling(COLUMNS, columns, 8, 8), AxisTiling(ROWS, rows, 1, 1))
        return Layout(LEFT, rows * columns, 1, axes, MemoryClass.STANDARD)

    planner = tools.Planner(16)
    x = planner.value("x", (11, 40), grid(3, 2), Origin.INPUT, dtype="float32")
    plan = planner.plan(planner.convert(x, grid(2, 5)), planner.convert(x, tools.row_sharded(11)))
    program = lower(plan)
    assert check(plan, program) == ()
    tensors = tools.tensors(plan)
    np.testing.assert_array_equal(tools.interpret(plan, program, tensors)["x"], tensors["x"])


def test_nothing_remote_makes_no_phase(tools: Any) -> None:
    """One tile holds everything."""
    plan = tools.mlp(
        (6, 16, 16, 16),
        tools.Grid(rows=1, columns=1, inner=1),
        tools.Grid(rows=1, columns=1, inner=1),
        tiles=1,
    )
    program = lower(plan)
    assert program.phases == ()
    assert len(program.transfers) == 0
    assert {step.kind for step in program.steps} == {StepKind.RUN, StepKind.COPY}
