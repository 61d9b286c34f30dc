"""The whole flow on a small workload: totals, fallbacks, contradictions, limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import ipuopt
from ipuopt.errors import CheckError, InfeasibleError, InputError, LimitError
from ipuopt.events import Events
from ipuopt.layout import LayoutError
from ipuopt.models import exchange, mapping
from ipuopt.models.mapping.problem import Problem, Solution
from ipuopt.options import SolveOptions
from ipuopt.pipeline.build import build
from ipuopt.pipeline.complete import total_cycles
from ipuopt.plan import MatMulStep, Plan
from ipuopt.report import Limit, SolveReport, SolveStatus
from ipuopt.result import Result
from ipuopt.target.constants import SYNC_CYCLES

FLOW = "ipuopt.pipeline.flow"


def options(**changes: Any) -> SolveOptions:
    """One thread, repeatable, half a minute at most."""
    return replace(SolveOptions(time_limit_s=30.0, threads=1, deterministic=True), **changes)


@pytest.fixture(scope="module")
def solved(small_workload: ipuopt.Workload) -> Result:
    """The small workload, solved once."""
    return ipuopt.solve(small_workload, options())


def test_total_is_steps_and_phases(solved: Result) -> None:
    """Total = most cycles of a tile in each step + horizon and sync of each phase."""
    built = solved.built
    phases = int(built.horizon.sum()) + SYNC_CYCLES * len(built.program.phases)
    assert solved.total.objective == int(built.program.step_cycles().sum()) + phases
    assert solved.total.objective == total_cycles(built)


def test_bounds_and_heuristic_enclose_the_total(solved: Result) -> None:
    """Mapping bound <= plan's charge <= total <= program of the heuristics alone."""
    total = solved.total
    assert total.bound is not None and total.heuristic is not None
    assert total.bound <= solved.plan.cost <= total.objective <= total.heuristic
    for report in solved.reports:
        assert report.bound is not None and report.objective is not None
        assert report.bound <= report.objective


def test_one_report_a_stage_and_phase(solved: Result) -> None:
    """Mapping, placement, then every phase in order."""
    stages = [report.stage for report in solved.reports]
    assert stages == ["mapping", "placement"] + ["exchange"] * len(solved.built.horizon)
    horizons = [report.objective for report in solved.reports[2:]]
    assert horizons == solved.built.horizon.tolist()


def test_given_plan_is_built_without_search(
    solved: Result, small_workload: ipuopt.Workload
) -> None:
    """A plan that is handed in gives the same program, and a total without bound."""
    again = ipuopt.solve(small_workload, options(), plan=solved.plan)
    assert again.plan == solved.plan
    assert again.total.bound is None
    assert again.total.objective == solved.total.objective


def test_foreign_plan_is_refused(solved: Result, small_workload: ipuopt.Workload) -> None:
    """A plan of another workload does not pass the plan checker."""
    other = replace(small_workload, operations=small_workload.operations[:2], outputs=("a",))
    with pytest.raises(CheckError, match="W2"):
        ipuopt.solve(other, options(), plan=solved.plan)


def test_given_plan_that_does_not_lower_is_bad_input(
    solved: Result, monkeypatch: pytest.MonkeyPatch, small_workload: ipuopt.Workload
) -> None:
    """What the lowering cannot do with the layouts of a file is the fault of the file."""

    def refuse(*_: object) -> None:
        raise LayoutError("no shard of w1 holds a whole weight panel")

    monkeypatch.setattr("ipuopt.pipeline.programs.build_heuristic", refuse)
    with pytest.raises(InputError, match=r"cannot be lowered .no shard of w1") as error:
        ipuopt.solve(small_workload, options(), plan=solved.built.plan)
    assert error.value.exit_code == 2


def test_heuristic_solver_starts_no_exact_solver(
    monkeypatch: pytest.MonkeyPatch, small_workload: ipuopt.Workload
) -> None:
    """``--solver heuristic``: a checked program, bounds from arguments alone."""

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("a solver was started")

    monkeypatch.setattr("ipuopt.solvers.cpsat.run", forbidden)
    monkeypatch.setattr("ipuopt.solvers.highs.run", forbidden)
    result = ipuopt.solve(small_workload, options(solver="heuristic"))
    assert result.total.objective == result.total.heuristic
    assert all(report.run.solver == "none" for report in result.reports)


def test_plan_that_cannot_be_placed_is_cut(
    monkeypatch: pytest.MonkeyPatch, small_workload: ipuopt.Workload
) -> None:
    """The mapping is solved again without a plan that placement could not serve."""
    refused: list[Plan] = []

    def first_fails(plan: Any, *rest: Any) -> Any:
        if not refused:
            refused.append(plan)
            return None
        return build(plan, *rest)

    monkeypatch.setattr(f"{FLOW}.build", first_fails)
    messages: list[str] = []
    result = ipuopt.solve(small_workload, options(), events=Events(on_message=messages.append))
    assert any("without it" in message for message in messages)
    assert result.total.bound is not None and result.total.bound <= result.total.objective
    grids = [step for step in refused[0].steps if isinstance(step, MatMulStep)]
    assert grids, "the refused plan was a real one"


def test_heuristic_program_is_kept_when_solvers_give_nothing(
    monkeypatch: pytest.MonkeyPatch, small_workload: ipuopt.Workload
) -> None:
    """Without any plan from the solvers the program of the heuristics is the result."""
    monkeypatch.setattr(f"{FLOW}.build", lambda *_: None)
    result = ipuopt.solve(small_workload, options())
    assert result.total.objective == result.total.heuristic


def test_bound_above_a_checked_program_is_an_error(
    monkeypatch: pytest.MonkeyPatch, small_workload: ipuopt.Workload
) -> None:
    """A solver that lies about its bound is found out; plan and numbers are kept."""

    def lies(problem: Problem, limits: Any, **_: Any) -> tuple[Solution | None, SolveReport]:
        solution = mapping.beam_search(problem, limits)
        report = SolveReport(
            stage="mapping",
            model="mapping",
            status=SolveStatus.OPTIMAL,
            objective=10**9,
            bound=10**9,
            bound_source="lie",
            unit="cycles",
        )
        return solution, report

    monkeypatch.setattr("ipuopt.models.mapping.solve", lies)
    with pytest.raises(CheckError, match="above the checked plan") as error:
        ipuopt.solve(small_workload, options())
    assert error.value.exit_code == 6
    assert "plan" in error.value.artifacts


def test_bad_schedule_never_leaves(
    monkeypatch: pytest.MonkeyPatch, small_workload: ipuopt.Workload
) -> None:
    """A scheduler that returns a broken schedule is stopped by the checker."""
    real = exchange.solve

    def all_at_zero(problem: Any, limits: Any) -> Any:
        solution, report = real(problem, limits)
        assert solution is not None
        return exchange.Solution(solution.start * 0), report

    monkeypatch.setattr("ipuopt.models.exchange.solve", all_at_zero)
    with pytest.raises(CheckError, match="exchange 0"):
        ipuopt.solve(small_workload, options())


def test_interrupt_from_the_start_still_gives_a_program(small_workload: ipuopt.Workload) -> None:
    """On a small workload the heuristics come before the first look at the interrupt."""
    result = ipuopt.solve(small_workload, options(), events=Events(should_stop=lambda: True))
    assert result.limit is Limit.INTERRUPT
    assert result.total.objective > 0


def test_nothing_complete_is_a_limit_error(
    monkeypatch: pytest.MonkeyPatch, small_workload: ipuopt.Workload
) -> None:
    """No program from anyone: a limit error, not an empty result."""
    monkeypatch.setattr(f"{FLOW}.build", lambda *_: None)
    monkeypatch.setattr(f"{FLOW}.build_heuristic", lambda *_: None)
    with pytest.raises(LimitError, match="no program was complete"):
        ipuopt.solve(small_workload, options())


def test_interrupt_after_the_first_plan_keeps_it(small_workload: ipuopt.Workload) -> None:
    """Once a program is complete an interrupt ends with it, and the status says so."""
    stages: list[str] = []

    def stop() -> bool:
        return "placement" in stages

    result = ipuopt.solve(
        small_workload, options(), events=Events(on_stage=stages.append, should_stop=stop)
    )
    assert result.limit is Limit.INTERRUPT
    assert result.total.heuristic is not None
    assert result.total.objective <= result.total.heuristic


def test_too_little_memory_is_explained() -> None:
    """A value larger than all tiles together: demand, capacity and owners by name."""
    workload = ipuopt.from_dict(
        {
            "ipuopt": 1,
            "target": {"chip": "ipu21", "tiles": 2},
            "inputs": {"x": {"shape": [512, 1024]}},
            "parameters": {"w": {"shape": [1024, 1024]}},
            "operations": {"y": {"op": "MatMul", "inputs": ["x", "w"]}},
            "outputs": ["y"],
        }
    )
    with pytest.raises(InfeasibleError) as error:
        ipuopt.solve(workload, options())
    explanation = error.value.explanation
    assert explanation.demand > explanation.capacity
    assert {"w", "x"} & {name.split()[0] for name, _ in explanation.owners}
