"""Some tiles again, with less memory for data: their code and rows need more than was left to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ipuopt.errors import CheckError
from ipuopt.limits import Limits
from ipuopt.models.placement.bounds import footprint_bound
from ipuopt.models.placement.check import check_program, conflict_words, footprint
from ipuopt.models.placement.classes import improve_all, refine_worst
from ipuopt.models.placement.problem import IntArray, Solution
from ipuopt.models.placement.program import Placed
from ipuopt.models.placement.tiles import TILE_REGIONS, TileClass, tile_classes
from ipuopt.program import Program
from ipuopt.report import Limit, SolveReport, SolveStatus


def place_again(
    program: Program,
    placed: Placed,
    report: SolveReport,
    low_start: IntArray,
    limits: Limits,
    *,
    heuristic_only: bool = False,
) -> tuple[Placed, SolveReport] | None:
    """Place those tiles again whose data may no longer start where it does; the others stay.

    Parameters
    ----------
    placed, report
        Addresses of all tiles and what is told of them.
    low_start
        First address that data may use on each tile, shape ``(tiles,)``, a multiple of 16 KiB: the
        bound in ``report`` holds then, as every placement moves down by whole elements.
    heuristic_only
        Start no solver.

    Returns
    -------
    tuple or None
        Addresses and report of the whole program. None if none were found, which is no proof: rows
        may be scattered among data, here they get whole elements.

    Raises
    ------
    CheckError
        If the checker rejects the placement.
    """
    classes = tile_classes(program, low_start=low_start)
    usual = TILE_REGIONS.low_start
    moved = [entry for entry in classes if entry.problem.regions.low_start > usual]
    states = improve_all(moved, [footprint_bound(entry.problem) for entry in moved], limits)
    if not heuristic_only:
        refine_worst(moved, states, limits)
    address, boundary = placed.address.copy(), placed.boundary.copy()
    for entry, state in zip(moved, states, strict=True):
        if state.found is None:
            return None
        address[entry.shards] = state.found.solution.address
        boundary[program.shards.tile[entry.shards[:, 0]]] = state.found.solution.boundary
    violations = check_program(program, address, boundary, low_start)
    if violations:
        raise CheckError("placement with room for rows", violations)
    result = Placed(address, boundary)
    return result, _report(report, program, classes, moved, result)


def _report(
    report: SolveReport,
    program: Program,
    classes: Sequence[TileClass],
    moved: Sequence[TileClass],
    placed: Placed,
) -> SolveReport:
    """The report with the largest footprint and the conflict words of the new addresses."""
    largest = words = 0
    for entry in classes:
        one = entry.shards[0]  # the tiles of a class are placed alike
        edge = int(placed.boundary[program.shards.tile[one[0]]])
        solution = Solution(placed.address[one], edge)
        largest = max(largest, footprint(entry.problem, solution))
        words += conflict_words(entry.problem, solution) * len(entry.shards)
    tiles = sum(len(entry.shards) for entry in moved)
    note = f"{tiles} tiles placed again for their rows; conflict words {words}"
    proven = largest == report.bound and words == 0
    return replace(
        report,
        objective=largest,
        status=SolveStatus.OPTIMAL if proven else SolveStatus.FEASIBLE,
        limit=None if proven else report.limit or Limit.TIME,
        run=replace(report.run, note="; ".join(filter(None, [report.run.note, note]))),
    )
