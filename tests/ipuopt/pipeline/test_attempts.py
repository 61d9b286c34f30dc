"""Plans that placement cannot serve: another one, a proof, or an honest limit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import ipuopt
from ipuopt.errors import Infeasibility, InfeasibleError, LimitError
from ipuopt.limits import Limits
from ipuopt.models.mapping.problem import Solution
from ipuopt.models.mapping.space import Space, build_space
from ipuopt.options import SolveOptions, Solver
from ipuopt.pipeline.attempts import CUTS, ROOM_BYTES, first_complete

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
    assert "x" in dict(explanation.owners)


def test_just_below_the_border_there_is_a_plan() -> None:
    """Two buffers that just fill the upper range."""
    assert ipuopt.solve(pointwise("Gelu", 106_200), options()).total.objective > 0


def counted(space: Space) -> Iterator[Solution]:
    """Different labels of the only node with a choice."""
    sizes = [len(node.cost) for node in space.problem.nodes]
    wide = int(np.argmax(sizes))
    for label in range(sizes[wide]):
        yield Solution(tuple(label if node == wide else 0 for node in range(len(sizes))))


def test_more_room_is_tried_before_labels_are_cut() -> None:
    """Retries see less memory, then fewer labels; they are bounded and prove nothing."""
    space = product_space()
    seen: list[Space] = []

    def solve(where: Space) -> Solution:
        seen.append(where)
        return Solution(tuple(0 for _ in where.problem.nodes))

    def refuse(*_: object) -> None:
        raise InfeasibleError(PROOF)

    attempts = first_complete(space, solve(space), refuse, solve, lambda: False)
    assert attempts.program is None
    assert attempts.refused is PROOF
    assert not attempts.exhausted
    rooms = [space.problem.capacity.total - where.problem.capacity.total for where in seen[1:]]
    assert rooms == [*ROOM_BYTES, *[0] * CUTS]
    labels = [sum(len(node.cost) for node in where.problem.nodes) for where in seen]
    assert labels[-1] == labels[0] - CUTS


def test_a_limit_ends_the_retries() -> None:
    """Nothing is solved again once the limit is reached."""

    def never(_: Space) -> Solution:
        raise AssertionError("solved again")

    space = product_space()
    attempts = first_complete(space, next(counted(space)), lambda *_: None, never, lambda: True)
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

    def refuse(*_: object) -> None:
        raise InfeasibleError(PROOF)

    monkeypatch.setattr("ipuopt.pipeline.flow.build", refuse)
    result = ipuopt.solve(pointwise("Gelu", 100, tiles=4), options())
    assert result.total.objective == result.total.heuristic
