"""Random small plans: they pass the check, compute what numpy does, and are repeatable."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ipuopt.codegen.check import check
from ipuopt.codegen.kernels import run_calls
from ipuopt.codegen.kernels.table import charge
from ipuopt.codegen.lower import lower
from ipuopt.layout import ROW_MAJOR, MemoryClass
from ipuopt.plan import Epochs, Plan
from ipuopt.program import Program
from ipuopt.program_arrays import to_arrays

TILES = 48


def ceil_div(value: int, divisor: int) -> int:
    return -(-value // divisor)


@st.composite
def grid_options(
    draw: st.DrawFn, rows: int, inner: int, columns: int, *, swapped: bool
) -> dict[str, Any]:
    """A legal grid: no part of any axis is empty."""
    if swapped:
        rows, columns = columns, rows
    groups = ceil_div(inner, 16)
    legal = [k for k in range(1, groups + 1) if (k - 1) * ceil_div(groups, k) < groups]
    k = draw(st.sampled_from([k for k in legal if k <= 6]))
    c = draw(st.integers(1, min(ceil_div(columns, 16), TILES // k)))
    r = draw(st.integers(1, min(ceil_div(rows, 2), TILES // (k * c))))
    row_factor = draw(st.integers(1, max(1, min(k, ceil_div(rows, 2) // r))))
    column_factor = draw(st.integers(1, max(1, min(k // row_factor, ceil_div(columns, 16) // c))))
    return {
        "rows": r,
        "columns": c,
        "inner": k,
        "row_factor": row_factor,
        "column_factor": column_factor,
        "resident": draw(st.booleans()),
        "swapped": swapped,
        "epochs": draw(st.sampled_from(Epochs)),
        "memory": draw(st.sampled_from(MemoryClass)),
        "offset": 0 if swapped or k == 1 else draw(st.integers(0, TILES - 1)),
    }


@st.composite
def plans(draw: st.DrawFn) -> dict[str, Any]:
    """Arguments of a two-layer perceptron."""
    rows = draw(st.integers(1, 24))
    inner, hidden, columns = (draw(st.integers(1, 80)) for _ in range(3))
    first = draw(grid_options(rows, inner, hidden, swapped=draw(st.booleans())))
    # A swapped product reads what a normal one made: micro-panels travel as they are.
    turns = st.just(False) if first["swapped"] else st.booleans()
    second = draw(grid_options(rows, hidden, columns, swapped=draw(turns)))
    used = None
    if draw(st.booleans()) and hidden % 2 == 0:
        grain = 16 if hidden % 16 == 0 else math.gcd(rows * hidden, math.gcd(hidden, 16))
        used = (draw(st.integers(1, min(TILES, rows * hidden // grain))), grain)
    return {
        "shape": (rows, inner, hidden, columns),
        "first": first,
        "second": second,
        "linear": used,
        "joins_phases": draw(st.booleans()),
    }


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(options=plans())
def test_random_plans_compute_what_numpy_does(tools: Any, options: dict[str, Any]) -> None:
    layout = None
    if options["linear"] is not None:
        tiles, grain = options["linear"]
        layout = tools.linear(tiles, grain, *(() if grain == 16 else (ROW_MAJOR,)))
    plan = tools.mlp(
        options["shape"],
        tools.Grid(**options["first"]),
        tools.Grid(**options["second"]),
        gelu_layout=layout,
        tiles=TILES,
        joins_phases=options["joins_phases"],
    )
    program = lower(plan)
    assert check(plan, program) == ()
    tensors = tools.tensors(plan)
    result = tools.interpret(plan, program, tensors)["y"]
    expected = tools.gelu(tensors["x"] @ tensors["w1"]) @ tensors["w2"]
    np.testing.assert_allclose(result, expected, rtol=1e-8, atol=1e-8)
    assert_no_two_pieces_continue(program)
    assert_calls_are_charged_as_their_runs(plan, program)
    again = to_arrays(lower(plan))
    for name, array in to_arrays(program).items():
        np.testing.assert_array_equal(array, again[name])


def assert_calls_are_charged_as_their_runs(plan: Plan, program: Program) -> None:
    """Symbol and arguments of a call say as much work as the run."""
    calls = run_calls(plan, program, np.zeros(len(program.shards), np.int64))
    charged = [
        charge(calls.names[symbol], arguments)
        for symbol, arguments in zip(calls.symbol.tolist(), calls.arguments.tolist(), strict=True)
    ]
    assert charged == program.runs.cycles.tolist()


def assert_no_two_pieces_continue(program: Program) -> None:
    """Consecutive transfers of equal ends never continue each other on all sides (4.1)."""
    table = program.transfers
    for i in range(len(table) - 1):
        here, there = (
            slice(table.destination_start[j], table.destination_start[j + 1]) for j in (i, i + 1)
        )
        size = 4 * table.words[i]
        continues = (
            table.step[i] == table.step[i + 1]
            and table.source[i] == table.source[i + 1]
            and table.source_offset[i] + size == table.source_offset[i + 1]
            and np.array_equal(table.destination[here], table.destination[there])
            and np.array_equal(
                table.destination_offset[here] + size, table.destination_offset[there]
            )
        )
        assert not continues or table.words[i] + table.words[i + 1] > 4148


def test_tables_are_integers(tools: Any) -> None:
    """What is written to a file has one type everywhere."""
    grid = tools.Grid(rows=2, columns=2, inner=2)
    program = lower(tools.mlp((8, 32, 32, 32), grid, grid))
    for table in (program.shards, program.runs, program.copies, program.transfers):
        for column in fields(table):
            assert getattr(table, column.name).dtype == np.int64
