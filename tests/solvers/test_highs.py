"""HiGHS within limits, on arrays and through Pyomo; infeasible points are not believed."""

from __future__ import annotations

import itertools
import math
import time
from types import ModuleType

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipuopt.limits import Limits
from ipuopt.report import Limit, SolveStatus
from ipuopt.solvers import highs, pyomo_highs
from ipuopt.solvers.milp import FloatArray, Milp, RowBuilder


def cover(columns: int, rows: int, share: float = 0.2) -> Milp:
    """Random covering problem: each row needs half of what all its columns give."""
    draw = np.random.default_rng(0)
    table = draw.integers(1, 9, (rows, columns)) * (draw.random((rows, columns)) < share)
    builder = RowBuilder()
    for row in table:
        used = np.flatnonzero(row)
        builder.add(used, row[used], lower=float(row.sum() // 2))
    return Milp(
        cost=draw.integers(1, 99, columns),
        lower=np.zeros(columns),
        upper=np.ones(columns),
        integer=np.ones(columns, dtype=np.bool_),
        rows=builder.rows(),
    )


def judge(model: Milp) -> int | None:
    """Least cost over all 0-1 points."""
    points = (np.array(point) for point in itertools.product([0.0, 1.0], repeat=len(model.cost)))
    return min((model.objective(p) for p in points if not model.violation(p)), default=None)


def as_pyomo(model: Milp) -> pyo.ConcreteModel:
    made = pyo.ConcreteModel()
    made.x = pyo.Var(range(len(model.cost)), domain=pyo.Binary)
    made.rows = pyo.ConstraintList()
    starts = zip(model.rows.start, model.rows.start[1:], model.rows.lower, strict=False)
    for begin, end, lower in starts:
        index, value = model.rows.index[begin:end], model.rows.value[begin:end]
        made.rows.add(
            sum(float(v) * made.x[int(i)] for i, v in zip(index, value, strict=True)) >= lower
        )
    made.cost = pyo.Objective(expr=sum(int(c) * made.x[i] for i, c in enumerate(model.cost)))
    return made


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_small_programs_by_judge(seed: int) -> None:
    draw = np.random.default_rng(seed)
    builder = RowBuilder()
    for _ in range(3):
        low = float(draw.integers(-5, 12))
        builder.add(np.arange(6), draw.integers(-4, 9, 6), lower=low, upper=low + 6)
    model = Milp(
        cost=draw.integers(-9, 20, 6),
        lower=np.zeros(6),
        upper=np.ones(6),
        integer=np.ones(6, dtype=np.bool_),
        rows=builder.rows(),
        offset=17,
    )
    outcome = highs.run(model, Limits(), name="small")
    best = judge(model)
    assert outcome.objective == best
    assert outcome.status is (SolveStatus.INFEASIBLE if best is None else SolveStatus.OPTIMAL)
    assert outcome.bound == best


@pytest.mark.parametrize("isolate", [False, True])
def test_optimal_and_hint(isolate: bool, capfd: pytest.CaptureFixture[str]) -> None:
    model = cover(40, 15)
    outcome = highs.run(model, Limits(), name="cover", isolate=isolate, hint=np.ones(40))
    assert (outcome.status, outcome.reason) == (SolveStatus.OPTIMAL, None)
    assert outcome.values is not None
    assert model.violation(outcome.values) == ""
    assert outcome.note == ""
    assert capfd.readouterr().out == ""


def test_bad_hint_is_refused() -> None:
    outcome = highs.run(cover(40, 15), Limits(), name="cover", hint=np.zeros(40))
    assert outcome.status is SolveStatus.OPTIMAL
    assert "starting point was refused: row" in outcome.note


@pytest.mark.parametrize("isolate", [False, True])
def test_time_limit(isolate: bool) -> None:
    model = cover(2500, 500, share=0.03)
    begin = time.monotonic()
    limits = Limits(threads=2).within(1.5)
    outcome = highs.run(model, limits, name="big", isolate=isolate, hint=np.ones(2500))
    assert time.monotonic() - begin < 1.5 * 1.1 + 2
    assert outcome.reason is Limit.TIME
    assert outcome.status in (SolveStatus.FEASIBLE, SolveStatus.UNKNOWN)


def test_interrupt() -> None:
    begin = time.monotonic()
    limits = Limits(should_stop=lambda: time.monotonic() > begin + 1).within(60)
    outcome = highs.run(cover(2500, 500, share=0.03), limits, name="big")
    assert time.monotonic() - begin < 5
    assert outcome.reason is Limit.INTERRUPT


def test_no_time() -> None:
    outcome = highs.run(cover(40, 15), Limits().within(0), name="cover")
    assert (outcome.status, outcome.reason) == (SolveStatus.UNKNOWN, Limit.TIME)


def test_gap() -> None:
    outcome = highs.run(cover(120, 60), Limits(gap=0.5).within(60), name="cover")
    assert outcome.objective is not None
    assert outcome.bound is not None
    assert outcome.objective - outcome.bound <= 0.5 * outcome.objective
    assert (outcome.reason is Limit.GAP) == (outcome.status is SolveStatus.FEASIBLE)


def test_deterministic() -> None:
    """Twice the same, stopped by nodes and not by the clock."""
    limits = Limits(deterministic=True, threads=2)
    runs = [highs.run(cover(50, 25), limits, name="cover", effort=2) for _ in range(2)]
    assert runs[0].objective == runs[1].objective
    assert runs[0].bound == runs[1].bound


def fake(monkeypatch: pytest.MonkeyPatch, *messages: tuple[object, ...]) -> None:
    worker = ModuleType("fake_worker")

    def search(job: object, send: object, arm: object) -> None:
        del job, arm
        assert callable(send)
        for message in messages:
            send(*message)

    vars(worker)["search"] = search
    monkeypatch.setattr(highs, "highs_worker", worker)


def two_columns() -> Milp:
    """Least 3a + 5b with a + b >= 1 and a <= b: only (0, 1) and (1, 1) are feasible."""
    builder = RowBuilder()
    builder.add([0, 1], 1.0, lower=1.0)
    builder.add([0, 1], [1.0, -1.0], upper=0.0)
    return Milp(
        cost=np.array([3, 5]),
        lower=np.zeros(2),
        upper=np.ones(2),
        integer=np.ones(2, dtype=np.bool_),
        rows=builder.rows(),
    )


@pytest.mark.parametrize(
    ("messages", "note"),
    [
        ([("solution", np.array([1.0, 0.0])), ("end", "Optimal")], "row 1 is violated"),
        ([("solution", np.array([0.0, 0.6])), ("bound", 9.0), ("end", "Optimal")], "above its own"),
        ([("solution", np.array([0.0, 0.4])), ("end", "Optimal")], "row 0 is violated"),
        ([("solution", np.array([0.0, math.nan])), ("end", "Optimal")], "not finite"),
        ([("solution", np.array([0.0])), ("end", "Optimal")], "1 values"),
        ([("solution", np.array([0.0, 2.0])), ("end", "Optimal")], "outside its bounds"),
        ([("solution", np.array([0.0, 1.0])), ("end", "Infeasible")], "says infeasible"),
        ([("end", "Solve error")], "ended with 'Solve error'"),
        ([("what",), ("end", "Optimal")], "unexpected answer 'what'"),
        ([("error", "no licence")], "no licence"),
    ],
)
def test_bad_answers(
    messages: list[tuple[object, ...]], note: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Status "optimal" with an infeasible point: ERGO-Code/HiGHS #1710, #2402, #3034."""
    fake(monkeypatch, *messages)
    outcome = highs.run(two_columns(), Limits(), name="two")
    assert outcome.reason is Limit.SOLVER
    assert note in outcome.note
    assert outcome.status in (SolveStatus.UNKNOWN, SolveStatus.FEASIBLE)


@pytest.mark.parametrize(
    ("bound", "rounded"), [(4.2, 5), (5.0, 5), (5.0000001, 5), (4.9999999, 5), (184000.05, 184000)]
)
def test_bounds_are_rounded_up(bound: float, rounded: int, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, ("bound", bound), ("end", "Time limit reached"))
    assert highs.run(two_columns(), Limits(), name="two").bound == rounded


def values_of(outcome_values: FloatArray | None) -> list[float]:
    assert outcome_values is not None
    return [float(value) for value in outcome_values]


def test_pyomo_optimal() -> None:
    model = cover(12, 5)
    made = as_pyomo(model)
    outcome = pyomo_highs.run(made, Limits(), name="cover")
    assert (outcome.status, outcome.reason) == (SolveStatus.OPTIMAL, None)
    assert outcome.objective == outcome.bound == judge(model)
    assert values_of(outcome.values) == [made.x[i].value for i in range(12)]


def test_pyomo_infeasible() -> None:
    made = as_pyomo(cover(12, 5))
    made.none = pyo.Constraint(expr=sum(made.x[i] for i in range(12)) <= 0)
    outcome = pyomo_highs.run(made, Limits(), name="cover")
    assert (outcome.status, outcome.reason) == (SolveStatus.INFEASIBLE, None)
    assert (outcome.objective, outcome.values) == (None, None)


def test_pyomo_unbounded() -> None:
    made = pyo.ConcreteModel()
    made.x = pyo.Var(domain=pyo.Integers)
    made.cost = pyo.Objective(expr=made.x)
    made.row = pyo.Constraint(expr=made.x <= 3)
    outcome = pyomo_highs.run(made, Limits(), name="down")
    assert (outcome.status, outcome.reason) == (SolveStatus.UNKNOWN, Limit.SOLVER)
    assert "unbounded" in outcome.note.lower()


def test_pyomo_no_time() -> None:
    outcome = pyomo_highs.run(as_pyomo(cover(12, 5)), Limits().within(0), name="cover")
    assert (outcome.status, outcome.reason) == (SolveStatus.UNKNOWN, Limit.TIME)


def test_pyomo_time_limit() -> None:
    """With an incumbent FEASIBLE, without one UNKNOWN; never an exception, never OPTIMAL."""
    outcome = pyomo_highs.run(as_pyomo(cover(250, 120)), Limits().within(1.0), name="cover")
    assert outcome.reason is Limit.TIME
    known = outcome.objective is not None
    assert outcome.status is (SolveStatus.FEASIBLE if known else SolveStatus.UNKNOWN)
