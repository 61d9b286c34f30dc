"""Strategy: what a report says, limits, and answers of CP-SAT that must not be believed."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from ortools.sat.python import cp_model

from ipuopt.errors import CheckError
from ipuopt.limits import Limits
from ipuopt.models.exchange import (
    Problem,
    Solution,
    append_only,
    check,
    closing,
    exact,
    horizon,
    incumbent,
    lower_bound,
)
from ipuopt.models.exchange import solve as solve_function
from ipuopt.models.exchange.sequence import SEQUENCE
from ipuopt.report import Limit, SolveReport, SolveStatus
from ipuopt.solvers import cpsat
from ipuopt.solvers.cpsat import CpResult

Transfer = tuple[int, int, int, Sequence[tuple[int, int]]]
MakePhase = Callable[..., Problem]
TinyPhase = Callable[[int], Problem]

A, B, C, D = 0x64000, 0x68000, 0x6C000, 0x70000
DETERMINISTIC = Limits(deterministic=True)


def solved(problem: Problem, limits: Limits) -> tuple[Solution, SolveReport]:
    """Solve, and hold the report against the schedule."""
    solution, report = solve_function(problem, limits)
    assert not check(problem, solution)
    assert report.stage == "exchange" and report.unit == "cycles"
    assert report.model == problem.name
    assert report.objective == horizon(problem, solution)
    assert report.heuristic == horizon(problem, append_only(problem))
    assert report.objective <= report.heuristic
    assert report.bound is not None and lower_bound(problem)[0] <= report.bound
    optimal = report.status is SolveStatus.OPTIMAL
    assert optimal == (report.objective == report.bound)
    assert not optimal or report.limit is None
    assert (report.bound_source in ("cp-sat", SEQUENCE)) == (report.bound > lower_bound(problem)[0])
    return solution, report


def crowded(seed: int, count: int = 60, most: int = 4) -> Problem:
    """Multicasts of mixed lengths between few tiles: the bound is out of reach of insertion."""
    random = np.random.default_rng(seed)
    receivers = random.integers(1, most + 1, count)
    source = random.integers(0, 12, count)
    targets = [
        (tile + 1 + random.choice(11, many, replace=False)) % 12
        for tile, many in zip(source, receivers, strict=True)
    ]
    return Problem(
        name=f"crowded {seed}",
        tiles=64,
        source=source,
        source_address=A + 256 * random.integers(0, 150, count),
        words=random.integers(1, 90, count),
        destination_start=np.concatenate((np.zeros(1, np.int64), np.cumsum(receivers))),
        destination_tile=np.concatenate(targets),
        destination_address=A + 256 * random.integers(80, 250, int(receivers.sum())),
    )


@pytest.fixture
def open_phase(tiny_phase: TinyPhase) -> Problem:
    """A phase whose bound no schedule reaches, as exhaustive search shows: 321 against 311."""
    phase = tiny_phase(82)
    assert lower_bound(phase)[0] == 311
    return phase


def refuse_to_run(*_: object, **__: object) -> CpResult:
    raise AssertionError("a solver was started")


def test_no_solver_when_the_bound_is_met(
    make_phase: MakePhase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpsat, "run", refuse_to_run)
    phase = make_phase([(0, A, 10, [(5, B)]), (2, A, 10, [(5, C)]), (8, A, 30, [(9, B)])])
    _, report = solved(phase, Limits())
    assert report.status is SolveStatus.OPTIMAL
    assert report.run.solver == "none" and report.run.note == ""
    assert report.bound_source == "head + words + tail"


def test_bound_is_named_after_what_proved_it(
    tiny_phase: TinyPhase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sequences of a component meet its schedule: CP-SAT is asked for none of it."""
    monkeypatch.setattr(cpsat, "run", refuse_to_run)
    for seed in (9, 15, 33):
        phase = tiny_phase(seed)
        _, report = solved(phase, DETERMINISTIC)
        assert report.bound is not None and report.bound > lower_bound(phase)[0]
        assert (report.bound_source, report.run.solver) == (SEQUENCE, "none")


def test_solver_of_one_component_is_named_though_others_need_none(
    make_phase: MakePhase, monkeypatch: pytest.MonkeyPatch
) -> None:
    phase = make_phase([(0, A, 90, [(2, B), (4, B)]), (6, A, 90, [(8, B), (10, B)])])
    run = incumbent.Incumbent(phase, DETERMINISTIC, False, None)
    run.bound = 0
    replies = [("ortools 9", 100, exact.CP_SAT), ("none", 110, SEQUENCE)]

    def answer(*_: object, **__: object) -> exact.Answer:
        solver, bound, source = replies.pop(0)
        result = CpResult(
            status=SolveStatus.OPTIMAL,
            objective=bound,
            bound=bound,
            values=None,
            reason=None,
            solver=solver,
        )
        return exact.Answer(None, bound, source, result)

    monkeypatch.setattr(exact, "solve_component", answer)
    closing.close_components(run)
    assert not replies
    assert (run.bound, run.source, run.solver) == (110, SEQUENCE, "ortools 9")


def test_solver_proves_what_the_bound_does_not(open_phase: Problem) -> None:
    _, report = solved(open_phase, DETERMINISTIC)
    assert report.status is SolveStatus.OPTIMAL
    assert (report.objective, report.bound_source) == (321, "cp-sat")
    assert report.run.solver.startswith("ortools ")
    assert report.run.deterministic and report.run.note == ""


def test_trace_and_callbacks_only_improve(open_phase: Problem) -> None:
    told: list[tuple[str, str, int]] = []
    limits = Limits(
        deterministic=True,
        on_solution=lambda stage, value: told.append(("solution", stage, value)),
        on_bound=lambda stage, value: told.append(("bound", stage, value)),
    )
    _, report = solved(open_phase, limits)
    values = [point.objective for point in report.trace if point.objective is not None]
    assert len(values) == len(report.trace)
    assert all(point.bound is not None for point in report.trace)
    times = [point.wall_time_s for point in report.trace]
    assert values[0] == report.heuristic and values[-1] == report.objective
    assert values == sorted(values, reverse=True)
    assert times == sorted(times) and times[-1] <= report.wall_time_s
    assert {stage for _, stage, _ in told} == {"exchange"}
    assert_only_improving([(kind, value) for kind, _, value in told], report)


def test_nobody_is_told_of_a_component_as_if_it_were_the_phase(
    open_phase: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = cpsat.run
    asked: list[str] = []

    def early(model: cp_model.CpModel, limits: Limits, **rest: Any) -> CpResult:
        asked.append("component")
        limits.on_solution("exchange", 1)
        limits.on_bound("exchange", 1)
        return honest(model, limits, **rest)

    monkeypatch.setattr(cpsat, "run", early)
    told: list[tuple[str, int]] = []
    limits = Limits(
        deterministic=True,
        on_solution=lambda _, value: told.append(("solution", value)),
        on_bound=lambda _, value: told.append(("bound", value)),
    )
    _, report = solved(open_phase, limits)
    assert asked
    assert_only_improving(told, report)


def assert_only_improving(told: list[tuple[str, int]], report: SolveReport) -> None:
    """What was told ends at the report, and never took a step back."""
    solutions = [value for kind, value in told if kind == "solution"]
    bounds = [value for kind, value in told if kind == "bound"]
    assert solutions[-1] == report.objective and bounds[-1] == report.bound
    assert solutions == sorted(solutions, reverse=True) and bounds == sorted(bounds)


def test_empty_phase(make_phase: MakePhase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpsat, "run", refuse_to_run)
    solution, report = solved(make_phase([]), Limits())
    assert solution.start.shape == (0,)
    assert report.status is SolveStatus.OPTIMAL and report.objective == 0


def test_passed_deadline_leaves_the_baseline(
    open_phase: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpsat, "run", refuse_to_run)
    solution, report = solved(open_phase, Limits(deadline=0.0))
    assert solution.start.tolist() == append_only(open_phase).start.tolist()
    assert report.status is SolveStatus.FEASIBLE and report.limit is Limit.TIME


def test_a_hundredth_of_a_second_is_kept() -> None:
    problem = crowded(0, 400)
    solved(problem, Limits(deadline=0.0))  # compiled, if it was not
    begin = time.monotonic()
    _, report = solve_function(problem, Limits().within(0.01))
    assert time.monotonic() - begin < 2.0
    assert report.objective is not None and report.heuristic is not None
    assert report.objective <= report.heuristic
    assert report.limit is Limit.TIME


def test_stop_is_an_interrupt(open_phase: Problem) -> None:
    _, report = solved(open_phase, Limits(should_stop=lambda: True))
    assert report.status is SolveStatus.FEASIBLE and report.limit is Limit.INTERRUPT


@pytest.mark.parametrize("polls", [1, 3, 9, 27, 81])
def test_stop_at_any_time_leaves_a_valid_schedule(polls: int) -> None:
    asked = iter(range(10**9))
    limits = Limits(deterministic=True, should_stop=lambda: next(asked) >= polls)
    _, report = solved(crowded(1), limits)
    assert report.status is SolveStatus.OPTIMAL or report.limit is Limit.INTERRUPT


def test_accepted_gap_ends_the_search(open_phase: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpsat, "run", refuse_to_run)
    _, report = solved(open_phase, Limits(gap=0.2))
    assert report.limit is Limit.GAP
    assert report.gap is not None and 0 < report.gap <= 0.2
    solution, report = solved(open_phase, Limits(gap=1.0))
    assert solution.start.tolist() == append_only(open_phase).start.tolist()


def test_complete_search_without_proof_has_no_limit(
    open_phase: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too large for CP-SAT: perturbation ends by its own rule."""
    monkeypatch.setattr(exact, "LARGEST", 1)
    monkeypatch.setattr(cpsat, "run", refuse_to_run)
    _, report = solved(open_phase, DETERMINISTIC)
    assert report.status is SolveStatus.FEASIBLE and report.limit is None
    assert report.run.solver == "none"


Send = Callable[..., None]


def answer_with(monkeypatch: pytest.MonkeyPatch, reply: Callable[[Send, int], None]) -> None:
    """Let CP-SAT's worker send what ``reply`` says; it gets the number of variables."""

    class Worker:
        @staticmethod
        def search(job: dict[str, Any], send: Send, arm: object) -> None:
            del arm
            reply(send, len(job["model"].proto.variables))

    monkeypatch.setattr(cpsat, "cpsat_worker", Worker)


def crash(send: Send, variables: int) -> None:
    del send, variables
    raise MemoryError("out of memory")


def crash_after_a_bound(send: Send, variables: int) -> None:
    del variables
    send("bound", 312.0)
    raise RuntimeError("gone")


def outside(send: Send, variables: int) -> None:
    send("solution", np.full(variables, -1, np.int64))
    send("end", "OPTIMAL")


def nonsense(send: Send, variables: int) -> None:
    del variables
    send("solution", "forty-two")
    send("end", "OPTIMAL")


def too_few(send: Send, variables: int) -> None:
    send("solution", np.zeros(variables - 1, np.int64))
    send("end", "OPTIMAL")


def infeasible(send: Send, variables: int) -> None:
    del variables
    send("hint", "complete and is feasible.")
    send("end", "INFEASIBLE")


@pytest.mark.parametrize(
    "reply", [crash, crash_after_a_bound, outside, nonsense, too_few, infeasible]
)
def test_broken_back_end_leaves_a_checked_schedule(
    open_phase: Problem, monkeypatch: pytest.MonkeyPatch, reply: Callable[[Send, int], None]
) -> None:
    answer_with(monkeypatch, reply)
    _, report = solved(open_phase, DETERMINISTIC)
    assert report.status is SolveStatus.FEASIBLE and report.limit is Limit.SOLVER
    assert report.run.note and "\n" not in report.run.note


def test_bound_sent_before_a_crash_counts(
    open_phase: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_with(monkeypatch, crash_after_a_bound)
    _, report = solved(open_phase, DETERMINISTIC)
    assert (report.bound, report.bound_source) == (312, "cp-sat")


def test_schedule_that_breaks_a_rule_is_refused(
    open_phase: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All transfers at once, each within its range: sooner than any valid schedule."""

    def all_at_once(model: cp_model.CpModel, *_: object, **__: object) -> CpResult:
        low = [variable.domain[0] for variable in model.proto.variables]
        return CpResult(
            status=SolveStatus.FEASIBLE,
            objective=low[-1],
            bound=None,
            values=np.array(low, np.int64),
            reason=None,
            solver="fake",
        )

    monkeypatch.setattr(cpsat, "run", all_at_once)
    _, report = solved(open_phase, DETERMINISTIC)
    assert report.limit is Limit.SOLVER
    assert "refused: E" in report.run.note
    assert report.bound == lower_bound(open_phase)[0]


def test_bound_above_a_checked_schedule_is_refused(
    open_phase: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lie(*_: object, **__: object) -> CpResult:
        return CpResult(
            status=SolveStatus.UNKNOWN,
            objective=None,
            bound=10**6,
            values=None,
            reason=Limit.TIME,
            solver="fake",
        )

    monkeypatch.setattr(cpsat, "run", lie)
    _, report = solved(open_phase, DETERMINISTIC)
    assert report.status is SolveStatus.FEASIBLE and report.limit is Limit.SOLVER
    assert "refused: bound 1000000 above a checked horizon" in report.run.note
    assert (report.bound, report.bound_source) == lower_bound(open_phase)


def test_schedule_that_the_checker_refuses_gives_way_to_the_baseline(
    open_phase: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    baseline = append_only(open_phase).start.tolist()

    def strict(problem: Problem, found: Solution) -> tuple[tuple[str, str], ...]:
        return check(problem, found) if found.start.tolist() == baseline else (("E2", "no"),)

    monkeypatch.setattr(incumbent, "check", strict)
    solution, report = solved(open_phase, DETERMINISTIC)
    assert solution.start.tolist() == baseline
    assert report.limit is Limit.SOLVER and "refused: E2: no" in report.run.note


def test_refused_baseline_is_an_error(open_phase: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incumbent, "check", lambda *_: (("E3", "broken on purpose"),))
    with pytest.raises(CheckError, match="E3"):
        solve_function(open_phase, DETERMINISTIC)


def test_components_are_solved_apart(make_phase: MakePhase, open_phase: Problem) -> None:
    """The horizon of two parts without common tile is the larger of the two."""
    alone = solved(open_phase, DETERMINISTIC)[1]
    free = [tile for tile in range(64) if tile not in tiles_of(open_phase)][:2]
    transfers: list[Transfer] = [*listed(open_phase), (free[0], A, 10, [(free[1], B)])]
    _, both = solved(make_phase(transfers), DETERMINISTIC)
    assert (both.status, both.objective) == (alone.status, alone.objective)


def tiles_of(problem: Problem) -> set[int]:
    return set(problem.source.tolist()) | set(problem.destination_tile.tolist())


def listed(problem: Problem) -> list[Transfer]:
    bounds = problem.destination_start.tolist()
    tile, address = problem.destination_tile.tolist(), problem.destination_address.tolist()
    columns = (problem.source, problem.source_address[:, 0], problem.words)
    return [
        (source, start, words, list(zip(tile[i:k], address[i:k], strict=True)))
        for source, start, words, i, k in zip(
            *(column.tolist() for column in columns), bounds[:-1], bounds[1:], strict=True
        )
    ]


def repeatable(threads: int) -> tuple[list[int], SolveReport]:
    """An open phase, with little effort: CP-SAT is cut off, and perturbed orders end it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(closing, "COMPONENT_EFFORT", 0.1)
        limits = Limits(deterministic=True, threads=threads, seed=5)
        solution, report = solved(crowded(11, 60), limits)
    assert report.status is SolveStatus.FEASIBLE and report.limit is None
    assert report.run.solver.startswith("ortools ")
    return solution.start.tolist(), report


def test_repeatable_solves_are_equal() -> None:
    one, first = repeatable(threads=1)
    other, second = repeatable(threads=2)
    assert one == other
    assert (first.bound, first.bound_source) == (second.bound, second.bound_source)
    assert [(p.objective, p.bound) for p in first.trace] == [
        (p.objective, p.bound) for p in second.trace
    ]


def test_repeatable_solves_do_not_look_at_the_clock(
    open_phase: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the caller's deadline reaches CP-SAT: its own share of seconds would cut anywhere."""
    seen: list[float] = []

    def note(_: object, limits: Limits, **__: object) -> CpResult:
        seen.append(limits.deadline)
        return CpResult(
            status=SolveStatus.UNKNOWN,
            objective=None,
            bound=None,
            values=None,
            reason=Limit.TIME,
            solver="fake",
        )

    monkeypatch.setattr(cpsat, "run", note)
    solved(open_phase, DETERMINISTIC)
    assert set(seen) == {float("inf")}
    seen.clear()
    solved(open_phase, Limits())
    assert seen and seen[0] <= time.monotonic() + closing.COMPONENT_SECONDS


SCRIPT = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("here", sys.argv[1])
here = importlib.util.module_from_spec(spec)
sys.modules["here"] = here
spec.loader.exec_module(here)
print(here.repeatable(1)[0])
"""


@pytest.mark.slow
def test_repeatable_solves_are_equal_in_fresh_processes() -> None:
    expected = repeatable(1)[0]
    for _ in range(2):
        ran = subprocess.run(
            [sys.executable, "-c", SCRIPT, __file__], capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.strip() == str(expected)
