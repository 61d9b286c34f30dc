"""What would make a workload fit: a number of tiles for which there is a mapping, found by trying."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ipuopt.errors import Infeasibility, InfeasibleError
from ipuopt.limits import Limits
from ipuopt.models import mapping
from ipuopt.models.mapping.explain import MORE_TILES
from ipuopt.models.mapping.space import build_space
from ipuopt.target.constants import TILES
from ipuopt.workload.model import Workload

TRY_S = 3.0
"""Most seconds spent on the number of tiles: the answer, that nothing fits, is there already."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of trying numbers of tiles.

    Attributes
    ----------
    many
        Fewest tiles with a mapping; None if no number that was tried has one.
    few
        Most tiles below that for which the beam found none.
    """

    few: int
    many: int | None


def with_tiles(explanation: Infeasibility, workload: Workload, limits: Limits) -> Infeasibility:
    """The explanation with a number in the place of "more tiles", if one is found in time.

    Where time does not suffice for the least number, the lever says so.
    """
    if MORE_TILES not in explanation.levers:
        return explanation
    others = tuple(lever for lever in explanation.levers if lever != MORE_TILES)
    # Spaces of promising candidates do, which a small budget asks for in repeatable runs.
    brief = replace(limits, budget_s=min(limits.budget_s, TRY_S))
    tried = fitting_tiles(workload, brief if limits.deterministic else brief.within(TRY_S))
    if tried.many is None:
        told = (f"{MORE_TILES} than {tried.few}",) if tried.few < TILES else ()
        return replace(explanation, levers=(*told, *others))
    lever = f"target: tiles: {tried.many}"
    if tried.few + 1 < tried.many:
        lever += f" ({tried.few} are too few; what is between was not tried)"
    return replace(explanation, levers=(lever, *others))


def fitting_tiles(workload: Workload, limits: Limits) -> Tried:
    """Try more tiles than a workload has: doubled until there is a mapping, then the range is halved."""
    few = many = workload.target.tiles
    found = False
    while not found and few < TILES and not limits.expired():
        few, many = many, min(2 * many, TILES)
        found = _fits(workload, many, limits)
    if not found:
        return Tried(many, None)
    while many - few > 1 and not limits.expired():
        middle = (few + many) // 2
        if _fits(workload, middle, limits):
            many = middle
        else:
            few = middle
    return Tried(few, many)


def _fits(workload: Workload, tiles: int, limits: Limits) -> bool:
    larger = replace(workload, target=replace(workload.target, tiles=tiles))
    try:
        space = build_space(larger, limits)
    except InfeasibleError:
        return False
    return mapping.beam_search(space.problem, limits) is not None
