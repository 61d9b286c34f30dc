"""Limits, crashes and what is handed out before the end, on a small workload."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

import ipuopt
from ipuopt.events import Events
from ipuopt.models import exchange, mapping
from ipuopt.options import SolveOptions
from ipuopt.report import Limit
from ipuopt.result import Result

FLOW = "ipuopt.pipeline.flow"


def options(**changes: Any) -> SolveOptions:
    """One thread, repeatable, a minute at most."""
    return replace(SolveOptions(time_limit_s=60.0, threads=1, deterministic=True), **changes)


def _solve(
    workload: ipuopt.Workload, started_s: float | None = None, **changes: Any
) -> tuple[Result, list[Result]]:
    """Result, and what was handed out before it."""
    from ipuopt.pipeline import solve

    early: list[Result] = []
    events = Events(on_result=early.append)
    return solve(workload, options(**changes), events=events, started_s=started_s), early


def test_repeatable_unless_the_clock_cut_it(small_workload: ipuopt.Workload) -> None:
    """Counters end the search: repeatable. A limit that has passed: the plan is there, and said."""
    whole, early = _solve(small_workload)
    assert whole.repeatable
    assert not any(result.repeatable for result in early)
    cut, _ = _solve(small_workload, started_s=time.monotonic() - 120)
    assert (cut.repeatable, cut.limit) == (False, Limit.TIME)
    assert cut.total.bound is not None and cut.total.bound <= cut.total.objective
    free, _ = _solve(small_workload, deterministic=False)
    assert not free.repeatable


def test_stages_end_with_the_deadline_in_repeatable_mode(
    monkeypatch: pytest.MonkeyPatch, small_workload: ipuopt.Workload
) -> None:
    """A mapping that uses up its share of the time makes the run one that is not repeatable."""
    real = mapping.solve

    def slow(problem: Any, limits: Any, **rest: Any) -> Any:
        time.sleep(max(0.0, min(5.0, limits.remaining_s())))
        return real(problem, limits, **rest)

    monkeypatch.setattr("ipuopt.models.mapping.solve", slow)
    result, _ = _solve(small_workload, time_limit_s=6.0)
    assert not result.repeatable


def test_the_first_program_is_handed_out_with_a_bound(small_workload: ipuopt.Workload) -> None:
    """Whoever cuts the run off has a report of the mapping, and a bound of the total."""
    result, early = _solve(small_workload)
    first = early[0]
    assert first.limit is Limit.TIME
    assert first.reports[0].stage == "mapping"
    assert first.reports[0].objective == first.plan.cost
    assert first.total.bound is not None and first.total.bound <= result.total.objective


@pytest.mark.parametrize("heuristic", [True, False])
def test_a_late_stage_loses_nothing_but_itself(
    heuristic: bool, monkeypatch: pytest.MonkeyPatch, small_workload: ipuopt.Workload
) -> None:
    """Before every phase all that is known by then has been handed out, as one program."""
    if not heuristic:
        monkeypatch.setattr(f"{FLOW}.build_heuristic", lambda *_: None)
    real, early = exchange.solve, list[Result]()
    searched: list[str] = []

    def solve(problem: Any, limits: Any) -> Any:
        assert early, "nothing could be written if this phase came late"
        solution, report = real(problem, limits)
        searched.append(problem.name)
        return solution, report

    monkeypatch.setattr("ipuopt.models.exchange.solve", solve)
    events = Events(on_result=early.append)
    result = ipuopt.solve(small_workload, options(), events=events)
    totals = [one.total.objective for one in early]
    assert totals == sorted(totals, reverse=True) and totals[-1] >= result.total.objective
    assert searched
    for one in early:
        assert one.reports[0].objective == one.plan.cost
        assert [r.objective for r in one.reports[2:]] == one.built.horizon.tolist()


def test_a_given_plan_is_handed_out_early(small_workload: ipuopt.Workload) -> None:
    """The program of the heuristics is there before the solvers begin."""
    plan = _solve(small_workload)[0].plan
    early: list[Result] = []
    ipuopt.solve(small_workload, options(), plan=plan, events=Events(on_result=early.append))
    assert early and all(result.plan == plan for result in early)


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("bad_alloc"), OSError(12, "fork")])
@pytest.mark.parametrize("stage", ["mapping", "exchange"])
def test_a_crash_leaves_the_heuristic_program(
    stage: str,
    error: Exception,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    small_workload: ipuopt.Workload,
) -> None:
    """A solver that cannot be started or fails: the plan is kept, the report says why."""
    real = mapping.solve

    def fails(problem: Any, limits: Any, **rest: Any) -> Any:
        if stage == "mapping" and limits.remaining_s() == 0.0:
            return real(problem, limits, **rest)  # the report on the heuristic plan
        raise error

    monkeypatch.setattr(f"ipuopt.models.{stage}.solve", fails)
    result, _ = _solve(small_workload)
    assert (result.limit, result.repeatable) == (Limit.SOLVER, False)
    assert result.total.heuristic is not None
    assert result.total.objective <= result.total.heuristic
    assert result.total.bound is not None
    assert type(error).__name__ in result.reports[0].run.note
    assert "the shortest program so far is kept" in caplog.text


def test_a_bug_is_not_hidden(
    monkeypatch: pytest.MonkeyPatch, small_workload: ipuopt.Workload
) -> None:
    """Other exceptions are ours and come up."""

    def fails(*_: Any, **__: Any) -> Any:
        raise TypeError("a bug")

    monkeypatch.setattr("ipuopt.models.exchange.solve", fails)
    with pytest.raises(TypeError):
        _solve(small_workload)


def test_the_limit_of_the_library_counts_imports(
    monkeypatch: pytest.MonkeyPatch, small_workload: ipuopt.Workload
) -> None:
    """The limit begins with the call, before the solvers are imported."""
    seen: list[float] = []

    def record(*_: Any, started_s: float, **__: Any) -> None:
        seen.append(started_s)

    monkeypatch.setattr("ipuopt.pipeline.solve", record)
    before = time.monotonic()
    ipuopt.solve(small_workload, options())
    assert before <= seen[0] <= time.monotonic()


def test_the_beam_runs_once(
    monkeypatch: pytest.MonkeyPatch, small_workload: ipuopt.Workload
) -> None:
    """The plan of the beam is handed on to the mapping solve."""
    from ipuopt.models.mapping import heuristics

    guided: list[bool] = []

    def counted(*arguments: Any, **rest: Any) -> Any:
        guided.append(rest.get("guided", False))
        return heuristics.beam_search(*arguments, **rest)

    import importlib

    strategy = importlib.import_module("ipuopt.models.mapping.solve")
    monkeypatch.setattr(strategy, "beam_search", counted)
    _solve(small_workload)
    assert all(guided)


def test_phases_are_named(small_workload: ipuopt.Workload) -> None:
    """Progress tells which phase it is about."""
    stages: list[str] = []
    told: set[str] = set()
    events = Events(
        on_stage=stages.append,
        on_solution=lambda stage, _: told.add(stage),
        on_bound=lambda stage, _: told.add(stage),
    )
    result = ipuopt.solve(small_workload, options(), events=events)
    phases = [report.model for report in result.reports if report.stage == "exchange"]
    assert phases and [stage for stage in stages if stage.startswith("exchange")] == phases
    assert told <= {"mapping", "placement", *phases}
    assert set(phases) <= told
