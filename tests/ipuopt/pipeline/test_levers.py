"""The number of tiles that a workload would fit: found by few trials, honest where time ends."""

from __future__ import annotations

import pytest

import ipuopt
from ipuopt.errors import Infeasibility
from ipuopt.limits import Limits
from ipuopt.models.mapping.explain import LEVERS, MORE_TILES
from ipuopt.pipeline import levers
from ipuopt.pipeline.levers import Tried, fitting_tiles, with_tiles
from ipuopt.target.constants import TILES

CASE = Infeasibility("tile 0", 2, 1, "bytes", (), LEVERS)


def trials(monkeypatch: pytest.MonkeyPatch, least: int) -> list[int]:
    """Let workloads fit ``least`` tiles or more; the list fills with what is tried."""
    tried: list[int] = []

    def fits(workload: ipuopt.Workload, tiles: int, limits: Limits) -> bool:
        tried.append(tiles)
        return tiles >= least

    monkeypatch.setattr(levers, "_fits", fits)
    return tried


@pytest.mark.parametrize("least", [9, 16, 37, 1100, TILES])
def test_the_least_number_is_found(
    least: int, monkeypatch: pytest.MonkeyPatch, small_workload: ipuopt.Workload
) -> None:
    tried = trials(monkeypatch, least)
    tiles = small_workload.target.tiles
    assert tiles < 9
    assert fitting_tiles(small_workload, Limits()) == Tried(least - 1, least)
    assert len(tried) == len(set(tried)) <= 20
    told = with_tiles(CASE, small_workload, Limits())
    assert told.levers == (f"target: tiles: {least}", *LEVERS[1:])


def test_no_number_fits(monkeypatch: pytest.MonkeyPatch, small_workload: ipuopt.Workload) -> None:
    """All tiles of the chip are too few: more tiles is no lever."""
    trials(monkeypatch, TILES + 1)
    assert fitting_tiles(small_workload, Limits()) == Tried(TILES, None)
    assert with_tiles(CASE, small_workload, Limits()).levers == LEVERS[1:]


@pytest.mark.parametrize(
    ("trials_in_time", "lever"),
    [
        (0, f"{MORE_TILES} than 8"),
        (2, f"{MORE_TILES} than 32"),
        (3, "target: tiles: 64 (32 are too few; what is between was not tried)"),
        (4, "target: tiles: 48 (32 are too few; what is between was not tried)"),
    ],
)
def test_time_ends_the_trials(
    trials_in_time: int,
    lever: str,
    monkeypatch: pytest.MonkeyPatch,
    small_workload: ipuopt.Workload,
) -> None:
    """What is told is what was tried."""
    tried = trials(monkeypatch, 37)
    limits = Limits(should_stop=lambda: len(tried) >= trials_in_time)
    assert small_workload.target.tiles == 8
    assert with_tiles(CASE, small_workload, limits).levers == (lever, *LEVERS[1:])
    assert len(tried) == trials_in_time


def test_other_explanations_stay(small_workload: ipuopt.Workload) -> None:
    case = Infeasibility("tile 0", 2, 1, "bytes", (), ("smaller tensors",))
    assert with_tiles(case, small_workload, Limits()) is case
