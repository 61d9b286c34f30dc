"""What would make a workload fit: a number of tiles for which there is a mapping, found by trying."""

from __future__ import annotations

from dataclasses import replace

from ipuopt.errors import Infeasibility, InfeasibleError
from ipuopt.limits import Limits
from ipuopt.models import mapping
from ipuopt.models.mapping.explain import MORE_TILES
from ipuopt.models.mapping.space import build_space
from ipuopt.target.constants import TILES
from ipuopt.workload.model import Workload

TRY_S = 20.0
"""Most seconds spent on the number of tiles: the answer, that nothing fits, is there already."""


def with_tiles(explanation: Infeasibility, workload: Workload, limits: Limits) -> Infeasibility:
    """The explanation with a number in the place of "more tiles", if one is found in time."""
    if MORE_TILES not in explanation.levers:
        return explanation
    others = tuple(lever for lever in explanation.levers if lever != MORE_TILES)
    limits = limits if limits.deterministic else limits.within(TRY_S)
    tiles = fitting_tiles(workload, limits)
    if tiles is not None:
        return replace(explanation, levers=(f"target: tiles: {tiles}", *others))
    if limits.expired():
        return explanation
    return replace(explanation, levers=others)


def fitting_tiles(workload: Workload, limits: Limits) -> int | None:
    """A number of tiles with a mapping, where one less has none that the beam finds.

    The number is doubled, then the range is halved. None if all tiles of the chip are too few, or
    time is up.
    """
    few = many = workload.target.tiles
    while not _fits(workload, many, limits):
        if many == TILES or limits.expired():
            return None
        few, many = many, min(2 * many, TILES)
    while many - few > 1 and not limits.expired():
        middle = (few + many) // 2
        if _fits(workload, middle, limits):
            many = middle
        else:
            few = middle
    return many


def _fits(workload: Workload, tiles: int, limits: Limits) -> bool:
    larger = replace(workload, target=replace(workload.target, tiles=tiles))
    try:
        space = build_space(larger, limits)
    except InfeasibleError:
        return False
    return mapping.beam_search(space.problem, limits) is not None
