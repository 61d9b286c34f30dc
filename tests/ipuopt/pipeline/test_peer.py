"""``space: peer``: the public compiler's candidates under its prices, built by us."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ipuopt
from ipuopt.errors import Infeasibility, InfeasibleError, InputError, LimitError
from ipuopt.events import Events
from ipuopt.layout import ROWS, LayoutError
from ipuopt.limits import Limits
from ipuopt.models.mapping.peer import price_plan
from ipuopt.models.mapping.peer.chain import Choice, Link, read_chain
from ipuopt.models.mapping.peer.search import ChainSearch
from ipuopt.options import SolveOptions, SpaceKind
from ipuopt.pipeline import peer, solve
from ipuopt.pipeline.programs import build_programs
from ipuopt.pipeline.state import Search, State
from ipuopt.plan import MatMulStep, Plan
from ipuopt.report import Limit, SolveStatus
from ipuopt.result import Result

OPTIONS = SolveOptions(time_limit_s=300.0, threads=1, deterministic=True, space=SpaceKind.PEER)


def test_best_plan_is_built(small_workload: ipuopt.Workload, tmp_path: Path) -> None:
    """The mapping is proven under the peer's prices; the total has none of its bounds."""
    result = ipuopt.solve(small_workload, OPTIONS)
    report = result.reports[0]
    assert (report.stage, report.unit) == ("mapping", "cycles of the peer")
    assert report.status is SolveStatus.OPTIMAL
    assert report.objective == report.bound == price_plan(result.plan).cycles
    assert result.total.bound is None and result.total.objective > 0
    result.save(tmp_path / "run")
    assert ipuopt.check(tmp_path / "run").violations == ()
    assert ipuopt.solve(small_workload, OPTIONS).plan == result.plan


@pytest.mark.parametrize(
    "error",
    [LayoutError("no such layout"), InfeasibleError(Infeasibility("tile 0", 2, 1, "bytes", ()))],
)
def test_plans_that_cannot_be_built_are_passed_over(
    small_workload: ipuopt.Workload, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    real, refused = build_programs, list[Plan]()

    def build(search: Search, state: State, plan: Plan) -> None:
        if len(refused) < 3:
            refused.append(plan)
            raise error
        real(search, state, plan)

    monkeypatch.setattr(peer, "build_programs", build)
    result = ipuopt.solve(small_workload, OPTIONS)
    report = result.reports[0]
    assert report.bound == refused[0].cost <= (report.objective or 0) == result.plan.cost
    assert report.run.note == "3 cheaper plans cannot be built"
    assert result.plan not in refused


def test_weights_in_slices_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product whose weights a column of tiles shares is priced, but cannot be built."""
    workload = ipuopt.from_dict(
        {
            "ipuopt": 1,
            "name": "deep",
            "target": {"chip": "ipu21", "tiles": 4},
            "inputs": {"x": {"shape": [8, 256]}},
            "parameters": {"w": {"shape": [256, 128]}},
            "operations": {"y": {"op": "MatMul", "inputs": ["x", "w"]}},
            "outputs": ["y"],
        }
    )

    def read(*args: Any, **options: Any) -> tuple[Link, ...]:
        first, *others = read_chain(*args, **options)
        cheapest = min((c for c in first.choices if _shares(c)), key=lambda c: c.priced.cycles)
        free = replace(cheapest, priced=replace(cheapest.priced, terms={"kernel": 1}))
        return replace(first, choices=(free, *first.choices)), *others

    monkeypatch.setattr(peer, "read_chain", read)
    checked = "ipuopt.models.mapping.peer.search._checked"
    monkeypatch.setattr(checked, lambda prefix: prefix.plan())
    report = ipuopt.solve(workload, OPTIONS).reports[0]
    assert report.bound is not None and report.objective is not None
    assert report.bound < report.objective
    assert "cheaper plans cannot be built" in report.run.note


def _shares(choice: Choice) -> bool:
    """Whether a product without a reduction has its weights cut along the inner axis."""
    tiling = choice.loads.tiling(ROWS) if choice.loads is not None else None
    inner = choice.step.inner if isinstance(choice.step, MatMulStep) else 0
    return inner == 1 and tiling is not None and tiling.partitions > 1


def test_nothing_fits(small_workload: ipuopt.Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    """No plan keeps the peer's rules, or none of those that do has a placement."""
    chains = read_chain(small_workload, Limits())
    none = tuple(replace(link, choices=()) for link in chains)
    monkeypatch.setattr(peer, "read_chain", lambda workload, limits, **_: none)
    with pytest.raises(InputError, match=r"found no plan .* on \d+ tiles, expected --space full"):
        ipuopt.solve(small_workload, OPTIONS)
    short = tuple(replace(link, choices=link.choices[:2], counts=()) for link in chains)
    monkeypatch.setattr(peer, "read_chain", lambda workload, limits, **_: short)

    def refuse(search: Search, state: State, plan: Plan) -> None:
        raise InfeasibleError(Infeasibility("tile 0", 2, 1, "bytes", ()))

    monkeypatch.setattr(peer, "build_programs", refuse)
    with pytest.raises(InfeasibleError, match="tile 0"):
        ipuopt.solve(small_workload, OPTIONS)


@pytest.mark.parametrize("priced", [False, True])
def test_a_program_is_there_before_the_proof(
    priced: bool, small_workload: ipuopt.Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time that ends while candidates are priced, or searched: the best plan on all tiles."""
    early: list[Result] = []
    real, ended = read_chain, list[int]()

    def read(workload: ipuopt.Workload, limits: Limits, *, brief: bool = False) -> Any:
        links = real(workload, limits if brief or not priced else Limits(), brief=brief)
        if not brief:
            ended.append(1)
        return links

    monkeypatch.setattr(peer, "read_chain", read)
    stopped = (lambda: bool(ended)) if priced else (lambda: bool(early))
    events = Events(on_result=early.append, should_stop=stopped)
    result = solve(small_workload, OPTIONS, events=events)
    report, whole = result.reports[0], ipuopt.solve(small_workload, OPTIONS).reports[0]
    assert result.limit is Limit.INTERRUPT and report.limit is Limit.TIME
    assert report.objective == result.plan.cost == price_plan(result.plan).cycles
    assert report.bound is None and report.objective >= (whole.objective or 0)
    assert result.total.objective == early[0].total.objective
    links = real(small_workload, Limits(), brief=True)
    assert {link.counts for link in links} == {(small_workload.target.tiles,)}


def test_the_bound_of_a_search_that_was_cut(
    small_workload: ipuopt.Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What best first has reached by then bounds every plan."""
    popped: list[int] = []

    class Counted(ChainSearch):
        def plans(self) -> Any:
            popped.append(1)
            if len(popped) > 1:
                self.bound, self._limits = 1234, Limits(should_stop=lambda: True)
            yield from super().plans()

    monkeypatch.setattr(peer, "ChainSearch", Counted)
    report = ipuopt.solve(small_workload, OPTIONS).reports[0]
    assert (report.bound, report.bound_source) == (1234, peer.SOURCE)
    assert report.status is SolveStatus.FEASIBLE


def test_no_time(small_workload: ipuopt.Workload) -> None:
    with pytest.raises(LimitError, match="small"):
        ipuopt.solve(small_workload, replace(OPTIONS, time_limit_s=1e-6))
