"""A placement is there before what takes long to compile is called."""

from __future__ import annotations

from importlib import import_module
from typing import NoReturn

import pytest

from ipuopt.limits import Limits
from ipuopt.models.placement.space import Answer, Problem, check, place


@pytest.mark.parametrize(("capacity", "published"), [(None, 1), (6, 1), (5, 0)])
def test_first_placement_needs_no_construction(
    capacity: int | None, published: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one pass places the four on 6 bytes, each on all before it."""

    def compiles(*_: object) -> NoReturn:
        raise TimeoutError

    stage = import_module("ipuopt.models.placement.space.solve")
    monkeypatch.setattr(stage, "quick", compiles)
    problem = Problem.of("four", [3, 1, 1, 1], [0, 1, 2, 3], [2, 3, 4, 6], capacity)
    seen: list[Answer] = []
    with pytest.raises(TimeoutError):
        place(problem, Limits(deterministic=True), publish=seen.append)
    assert len(seen) == published
    for answer in seen:
        assert answer.solution is not None and check(problem, answer.solution) == ()
        assert (answer.report.objective, answer.report.bound) == (6, 4)
