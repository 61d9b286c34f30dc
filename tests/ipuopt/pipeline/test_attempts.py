"""Plans that placement cannot serve: another one, a proof, or an honest limit."""

from __future__ import annotations

import pytest

import ipuopt
from ipuopt.errors import Infeasibility, InfeasibleError, LimitError
from ipuopt.limits import Limits
from ipuopt.models.mapping.problem import Solution
from ipuopt.models.mapping.space import Space, build_space
from ipuopt.options import SolveOptions, Solver
from ipuopt.pipeline.attempts import ROOM_BYTES, first_complete

PROOF = Infeasibility("tile 0", 2, 1, "bytes", ())


def pointwise(op: str, elements: int, tiles: int = 1) -> ipuopt.Workload:
    """One operation on vectors."""
    names = ["x", "z"][: 2 if op == "Add" else 1]
    return ipuopt.from_dict(
        {
            "ipuopt": 1,
            "name": "vector",
            "target": {"chip": "ipu21", "tiles": tiles},
            "inputs": {name: {"shape": [elements]} for name in names},
            "operations": {"y": {"op": op, "inputs": names}},
            "outputs": ["y"],
        }
    )


def product_space() -> Space:
    """One product with many candidates."""
    workload = ipuopt.from_dict(
        {
            "ipuopt": 1,
            "target": {"chip": "ipu21", "tiles": 8},
            "inputs": {"x": {"shape": [64, 64]}},
            "parameters": {"w": {"shape": [64, 64]}},
            "operations": {"y": {"op": "MatMul", "inputs": ["x", "w"]}},
            "outputs": ["y"],
        }
    )
    return build_space(workload, Limits(deterministic=True))


def options() -> SolveOptions:
    """One thread, repeatable."""
    return SolveOptions(time_limit_s=20, threads=1, deterministic=True)


@pytest.mark.parametrize("solver", [Solver.AUTO, Solver.HEURISTIC])
@pytest.mark.parametrize(("op", "elements"), [("Gelu", 106_300), ("Add", 75_000)])
def test_whole_buffers_that_fit_no_range_are_proven(op: str, elements: int, solver: Solver) -> None:
    """The bytes would fit, the buffers in one piece do not: infeasible, no limit was reached."""
    limits = SolveOptions(time_limit_s=20, threads=1, deterministic=True, solver=solver)
    with pytest.raises(InfeasibleError, match="in one piece") as error:
        ipuopt.solve(pointwise(op, elements), limits)
    explanation = error.value.explanation
    assert explanation.demand > explanation.capacity
    assert {"x", "y"} & dict(explanation.owners).keys()


def test_just_below_the_border_there_is_a_plan() -> None:
    """Two buffers that just fill the upper range."""
    assert ipuopt.solve(pointwise("Gelu", 106_200), options()).total.objective > 0


def first_of(space: Space) -> Solution:
    """The first label of every node."""
    return Solution(tuple(0 for _ in space.problem.nodes))


def refuse(*_: object) -> None:
    """No plan can be placed, and that is proven."""
    raise InfeasibleError(PROOF)


def few(space: Space, labels: int) -> Space:
    """A space whose only node with a choice has so many labels."""
    while max(len(node.cost) for node in space.problem.nodes) > labels:
        space = space.split(first_of(space))[0]
    return space


def test_more_room_is_tried_before_all_plans() -> None:
    """Retries see less memory, then every plan once; all refused with a proof is a proof."""
    space = few(product_space(), 9)
    asked: list[Space] = []
    built: list[int] = []

    def solve(where: Space) -> tuple[Solution | None, bool]:
        asked.append(where)
        return first_of(where), True

    def build(where: Space, solution: Solution) -> None:
        built.append(where.problem.nodes[0].cost[solution.labels[0]])
        refuse()

    attempts = first_complete(space, first_of(space), build, solve, lambda: False)
    assert attempts.program is None
    assert attempts.refused is PROOF
    assert attempts.exhausted
    rooms = [space.problem.capacity.total - where.problem.capacity.total for where in asked]
    assert rooms[: len(ROOM_BYTES)] == list(ROOM_BYTES)
    assert set(rooms[len(ROOM_BYTES) :]) == {0}
    tried = [built[0], *built[1 + len(ROOM_BYTES) :]]
    assert sorted(tried) == sorted(space.problem.nodes[0].cost.tolist())


def test_plans_as_long_as_a_known_program_are_not_tried() -> None:
    """The cheapest plan is tried, with more room too; the others cost more than the program."""
    space = few(product_space(), 9)
    built: list[Solution] = []

    def build(where: Space, solution: Solution) -> None:
        built.append(solution)
        refuse()

    attempts = first_complete(
        space,
        first_of(space),
        build,
        lambda where: (first_of(where), True),
        lambda: False,
        known_cycles=0,
    )
    assert (attempts.program, attempts.exhausted) == (None, False)
    assert len(built) == 1 + len(ROOM_BYTES)


@pytest.mark.parametrize("silent", ["build", "solve"])
def test_what_is_not_proven_leaves_the_space_open(silent: str) -> None:
    """A plan without addresses, or a space without a plan, may be the fault of the search."""
    space = few(product_space(), 3)

    def solve(where: Space) -> tuple[Solution | None, bool]:
        is_last = len(where.problem.nodes[0].cost) == 1
        return (None, False) if is_last and silent == "solve" else (first_of(where), True)

    def build(where: Space, solution: Solution) -> None:
        if len(where.problem.nodes[0].cost) > 1 or silent == "solve":
            refuse()

    attempts = first_complete(space, first_of(space), build, solve, lambda: False)
    assert attempts.program is None
    assert not attempts.exhausted


def test_a_limit_ends_the_retries() -> None:
    """Nothing is solved again once the limit is reached."""

    def never(_: Space) -> tuple[Solution | None, bool]:
        raise AssertionError("solved again")

    space = product_space()
    attempts = first_complete(space, first_of(space), lambda *_: None, never, lambda: True)
    assert attempts.program is None and attempts.refused is None


def test_unproven_failures_are_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """A heuristic that finds no addresses does not make a workload infeasible."""
    monkeypatch.setattr("ipuopt.pipeline.flow.build", lambda *_: None)
    monkeypatch.setattr("ipuopt.pipeline.flow.build_heuristic", lambda *_: None)
    with pytest.raises(LimitError, match="no program was complete"):
        ipuopt.solve(pointwise("Gelu", 100), options())


def test_refused_plan_does_not_lose_the_program_of_the_heuristics(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A proof against one plan is none against the others."""
    monkeypatch.setattr("ipuopt.pipeline.flow.build", refuse)
    result = ipuopt.solve(pointwise("Gelu", 100, tiles=4), options())
    assert result.total.objective == result.total.heuristic
