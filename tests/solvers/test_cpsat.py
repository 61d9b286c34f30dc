"""CP-SAT within limits: every ending is a result, in a thread and in a child process."""

from __future__ import annotations

import importlib.util
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import psutil
import pytest
from ortools.sat.python import cp_model

from ipuopt.limits import Limits
from ipuopt.report import Limit, SolveStatus
from ipuopt.solvers import cpsat

Load = Callable[[str], ModuleType]


def cover(variables: int, rows: int) -> cp_model.CpModel:
    """Random covering problem; 40 x 30 takes milliseconds, 3000 x 2000 is never proven."""
    draw = random.Random(0)
    model = cp_model.CpModel()
    chosen = [model.new_bool_var(f"x{index}") for index in range(variables)]
    for _ in range(rows):
        model.add(sum(draw.randint(1, 9) * x for x in draw.sample(chosen, 10)) >= 20)
    model.minimize(sum(draw.randint(1, 99) * x for x in chosen))
    return model


def pick_one(costs: list[int]) -> cp_model.CpModel:
    model = cp_model.CpModel()
    chosen = [model.new_bool_var("") for _ in costs]
    model.add_exactly_one(chosen)
    model.minimize(cp_model.LinearExpr.weighted_sum(chosen, costs))
    return model


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Replaces the worker by one with the given body of ``search``."""

    def load(body: str) -> ModuleType:
        file = tmp_path / "worker.py"
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        file.write_text(
            f"import os, time\nimport numpy as np\n\ndef search(job, send, arm):\n{lines}\n"
        )
        spec = importlib.util.spec_from_file_location("fake_worker", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        monkeypatch.setattr(cpsat, "cpsat_worker", module)
        return module

    return load


@pytest.mark.parametrize("isolate", [False, True])
def test_optimal(isolate: bool) -> None:
    result = cpsat.run(cover(40, 30), Limits(), name="cover", isolate=isolate)
    assert (result.status, result.reason) == (SolveStatus.OPTIMAL, None)
    assert result.objective == result.bound == 635
    assert result.trace[-1].objective == 635
    assert result.note == ""
    assert result.solver.startswith("ortools 9")


def test_values_and_offset() -> None:
    model = cp_model.CpModel()
    low, flag = model.new_int_var(-7, 9, "low"), model.new_bool_var("flag")
    model.add(low >= -3).only_enforce_if(~flag)
    model.add(low + 10 * flag >= 0)
    model.minimize(low + 4 * flag + 100)
    result = cpsat.run(model, Limits(), name="small")
    assert (result.objective, result.value(low), result.value(flag)) == (97, -7, 1)
    assert result.value(~flag) == 0


def test_without_objective() -> None:
    model = cp_model.CpModel()
    model.add_exactly_one([model.new_bool_var("") for _ in range(3)])
    result = cpsat.run(model, Limits(), name="any")
    assert (result.status, result.objective) == (SolveStatus.OPTIMAL, 0)
    with pytest.raises(ValueError, match="no solution"):
        cpsat.run(model, Limits().within(0), name="any").value(model.new_bool_var(""))


@pytest.mark.parametrize("isolate", [False, True])
def test_infeasible(isolate: bool) -> None:
    model = cp_model.CpModel()
    x = model.new_int_var(0, 5, "x")
    model.add(3 * x == 7)
    result = cpsat.run(model, Limits(), name="none", isolate=isolate)
    assert (result.status, result.reason) == (SolveStatus.INFEASIBLE, None)
    assert (result.objective, result.bound, result.values) == (None, None, None)


@pytest.mark.parametrize("isolate", [False, True])
def test_time_limit(isolate: bool) -> None:
    """The hint is the first solution, and a bound is known when the time is over."""
    model = cover(3000, 2000)
    begin = time.monotonic()
    result = cpsat.run(
        model, Limits(threads=2).within(1.5), name="big", isolate=isolate, hint=[1] * 3000
    )
    assert time.monotonic() - begin < 1.5 * 1.1 + 2
    assert result.reason is Limit.TIME
    if result.objective is not None:
        assert result.status is SolveStatus.FEASIBLE
        assert result.bound is not None
        assert result.bound < result.objective


def test_no_time() -> None:
    result = cpsat.run(cover(40, 30), Limits().within(0), name="cover")
    assert (result.status, result.reason) == (SolveStatus.UNKNOWN, Limit.TIME)


@pytest.mark.parametrize("isolate", [False, True])
def test_interrupt(isolate: bool) -> None:
    begin = time.monotonic()
    limits = Limits(should_stop=lambda: time.monotonic() > begin + 1).within(60)
    result = cpsat.run(cover(3000, 2000), limits, name="big", isolate=isolate)
    assert time.monotonic() - begin < 5
    assert result.reason is Limit.INTERRUPT


def test_gap() -> None:
    """CP-SAT says OPTIMAL at a gap that is allowed; here that is FEASIBLE with reason GAP."""
    result = cpsat.run(cover(300, 200), Limits(gap=0.5).within(60), name="cover")
    assert (result.status, result.reason) == (SolveStatus.FEASIBLE, Limit.GAP)


def test_deterministic() -> None:
    limits = Limits(deterministic=True, threads=2)
    runs = [cpsat.run(cover(300, 200), limits, name="cover", effort=0.3) for _ in range(2)]
    assert runs[0].objective == runs[1].objective
    assert runs[0].values is not None
    assert runs[1].values is not None
    assert runs[0].values.tolist() == runs[1].values.tolist()
    assert runs[0].reason is Limit.TIME


def test_hint() -> None:
    model = cover(40, 30)
    full = cpsat.run(model, Limits(), name="cover", hint=[1] * 40)
    assert full.hint.startswith("complete and is feasible")
    part = cpsat.run(model, Limits(), name="cover", hint={3: 1, 5: 0})
    assert part.hint.startswith("incomplete")
    assert part.note == "the hint leaves out 38 of 40 variables"
    with pytest.raises(ValueError, match="variable 40 of 40"):
        cpsat.run(model, Limits(), name="cover", hint={40: 1})


def test_objectives_that_are_refused() -> None:
    model = cp_model.CpModel()
    x = model.new_int_var(0, 5, "x")
    model.maximize(x)
    with pytest.raises(ValueError, match="minimise"):
        cpsat.run(model, Limits(), name="max")
    model = cp_model.CpModel()
    model.minimize(0.5 * model.new_int_var(0, 5, "x"))
    with pytest.raises(ValueError, match="integers"):
        cpsat.run(model, Limits(), name="half")


def test_invalid_model() -> None:
    """Domains past CP-SAT's range: google/or-tools #4352."""
    model = cp_model.CpModel()
    x = model.new_int_var(-(2**62), 2**62, "x")
    y = model.new_int_var(-(2**62), 2**62, "y")
    model.add(x + y <= 0)
    result = cpsat.run(model, Limits(), name="wide")
    assert (result.status, result.reason) == (SolveStatus.UNKNOWN, Limit.SOLVER)
    assert "invalid model" in result.note


@pytest.mark.parametrize("around", [-1, 0])
def test_rows_of_two_to_the_30_are_refused(around: int) -> None:
    """google/or-tools #5293: past 2^31 rows vanish; the guard stops at half of that."""
    model = cp_model.CpModel()
    chosen = [model.new_bool_var("") for _ in range(4)]
    model.add(cp_model.LinearExpr.weighted_sum(chosen, [1 << 28] * 3 + [(1 << 28) + around]) >= 5)
    model.minimize(sum(chosen))
    result = cpsat.run(model, Limits(), name="large")
    if around == 0:
        assert (result.status, result.reason) == (SolveStatus.UNKNOWN, Limit.SOLVER)
        assert "2^30" in result.note
    else:
        assert result.objective == 1


@pytest.mark.parametrize(
    ("body", "note"),
    [
        ("raise RuntimeError('out of luck')", "out of luck"),
        ("send('nonsense', 1)\nsend('end', 'OPTIMAL')", "unexpected answer 'nonsense'"),
        ("send('solution', np.array([5]))\nsend('end', 'OPTIMAL')", "unexpected answer"),
        ("send('solution', np.array([7, 0, 1]))\nsend('end', 'OPTIMAL')", "unexpected answer"),
        ("send('bound', 'high')\nsend('end', 'OPTIMAL')", "unexpected answer 'bound'"),
        (
            "send('solution', np.array([0, 0, 1]))\nsend('bound', 99.0)\nsend('end', 'OPTIMAL')",
            "bound 99 is above its own solution 7",
        ),
        ("send('solution', np.array([0, 0, 1]))\nsend('end', 'INFEASIBLE')", "says infeasible"),
        ("send('end', 'MODEL_INVALID')", ""),
    ],
)
def test_bad_answers(body: str, note: str, worker: Load) -> None:
    worker(body)
    result = cpsat.run(pick_one([9, 8, 7]), Limits(), name="three", isolate=False)
    assert result.reason is Limit.SOLVER
    assert note in result.note
    assert result.status in (SolveStatus.UNKNOWN, SolveStatus.FEASIBLE)


def test_bad_answer_of_a_child(worker: Load) -> None:
    """An exception in the child comes back as a note."""
    worker("raise RuntimeError('out of luck')")
    result = cpsat.run(pick_one([9, 8, 7]), Limits(), name="three", isolate=True)
    assert (result.status, result.reason) == (SolveStatus.UNKNOWN, Limit.SOLVER)
    assert result.note == "RuntimeError: out of luck"


@pytest.mark.parametrize("end", ["os.abort()", "os._exit(3)", "os.kill(os.getpid(), 9)"])
def test_crash_keeps_what_was_sent(end: str, worker: Load) -> None:
    """The last solution and bound of a child that dies are kept."""
    worker(f"send('solution', np.array([0, 1, 0]))\nsend('bound', 5.0)\n{end}")
    result = cpsat.run(pick_one([9, 8, 7]), Limits(), name="three", isolate=True)
    assert (result.objective, result.bound) == (8, 5)
    assert (result.status, result.reason) == (SolveStatus.FEASIBLE, Limit.SOLVER)
    assert "died" in result.note


@pytest.mark.parametrize("isolate", [False, True])
def test_deaf_worker_is_ended(isolate: bool, worker: Load) -> None:
    """Presolve that does not look at the clock (google/or-tools #5163) costs a grace period."""
    worker("send('solution', np.array([0, 1, 0]))\ntime.sleep(4)\nsend('end', 'OPTIMAL')")
    begin = time.monotonic()
    result = cpsat.run(pick_one([9, 8, 7]), Limits().within(1), name="three", isolate=isolate)
    assert time.monotonic() - begin < 3.5
    assert (result.objective, result.reason) == (8, Limit.TIME)


def test_no_child_is_left_behind(worker: Load) -> None:
    worker("time.sleep(60)")
    cpsat.run(pick_one([1, 2]), Limits().within(0.5), name="two", isolate=True)
    names = [child.cmdline() for child in psutil.Process().children()]
    assert not [line for line in names if line and line[-1].endswith("child.py")]


def test_memory_limit(worker: Load) -> None:
    """A child that grows past the limit of the whole process is ended."""
    worker("block = np.ones(60_000_000)\ntime.sleep(20)")
    used = psutil.Process(os.getpid()).memory_info().rss
    limits = Limits(memory_bytes=used + (250 << 20)).within(30)
    begin = time.monotonic()
    result = cpsat.run(pick_one([1, 2]), limits, name="two", isolate=True)
    assert time.monotonic() - begin < 15
    assert result.reason is Limit.MEMORY


def test_callbacks_get_the_name() -> None:
    heard: list[tuple[str, int]] = []
    limits = Limits(on_solution=lambda name, value: heard.append((name, value)))
    result = cpsat.run(cover(40, 30), limits, name="cover")
    assert heard[-1] == ("cover", result.objective)


def test_error_in_a_callback_reaches_the_caller() -> None:
    def fail(name: str, value: int) -> None:
        raise KeyError(name)

    with pytest.raises(KeyError, match="cover"):
        cpsat.run(cover(40, 30), Limits(on_solution=fail), name="cover", isolate=True)
