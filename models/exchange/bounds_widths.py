r"""A linear relaxation of the choice of widths.

On machine m, let c be least head + least tail of its jobs, and let transfer j take
:math:`a_{mj}` events as Word32, :math:`a_{mj} + d_{mj}` as Paired64: fewer on its own bus and in
most windows of its receivers, more on what belongs to its partner. With
:math:`x_j \in \{0, 1\}` every horizon H has, for weights :math:`\lambda_m \ge 0` of sum 1,

.. math:: H \ge \sum_m \lambda_m (c_m + \sum_j a_{mj}) + \sum_j \min(0, \sum_m \lambda_m d_{mj})

Any weights prove a bound; those of the dual of the relaxation prove the most. They are rounded to
integers first, so that the bound is exact. Machines are the buses, the muxes, and groups of tiles
that receive together (:mod:`ipuopt.models.exchange.bounds_groups`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack

from ipuopt.models.exchange.bounds_groups import Machines, group_machines
from ipuopt.models.exchange.bounds_machines import Jobs
from ipuopt.models.exchange.problem import BoolArray, IntArray, Problem
from ipuopt.models.exchange.timing import Timing
from ipuopt.models.exchange.widths import early, until_format_on
from ipuopt.target.constants import TILES
from ipuopt.target.fabric import PARTNER

UNIT = 1 << 20
"""Integer weight that stands for 1."""
LARGEST = 300_000
"""Receivers up to which the relaxation is solved."""


def least_over_widths(
    problem: Problem, wide: BoolArray, options: tuple[Timing, Timing], machines: list[Jobs]
) -> int:
    """Bound by the relaxation; 0 for phases of more than :data:`LARGEST` receivers.

    Parameters
    ----------
    problem
        The phase.
    wide
        Transfers with a choice.
    options
        Times with all of these as Paired64, and with none.
    machines
        Jobs with least heads and tails: first those of the buses, by transfer, then those of the
        muxes, by receiver.
    """
    if len(problem.destination_tile) > LARGEST:
        return 0
    loads = loads_over_widths(problem, wide, options, machines)
    column = np.cumsum(wide) - 1
    matrix = csr_array(
        (loads.change, (loads.machine, column[loads.transfer])),
        shape=(len(loads.fixed), int(wide.sum())),
    )
    weight = _weights(matrix, loads.fixed)
    if not weight.any():
        return 0
    total = int(weight @ loads.fixed) + int(np.minimum(0, matrix.T @ weight).sum())
    return -(-total // int(weight.sum()))


def loads_over_widths(
    problem: Problem, wide: BoolArray, options: tuple[Timing, Timing], machines: list[Jobs]
) -> Machines:
    """All machines of the relaxation; parameters as for :func:`least_over_widths`."""
    paired, plain = options
    chosen = np.flatnonzero(wide)
    items = paired.items[chosen]
    own, partner = problem.source[chosen], PARTNER[problem.source[chosen]]
    window = _windows(problem, wide, options, machines[1])
    mux = problem.tiles + problem.destination_tile
    offered = np.flatnonzero(wide[window.transfer])
    group = group_machines(problem, wide, options)
    fixed = _ends(problem.tiles, [*machines[:2], window.opened], machines[0].take(chosen, partner))
    np.add.at(fixed, problem.source, plain.items)
    np.add.at(fixed, mux, window.plain)
    loads = (
        (own, chosen, items - plain.items[chosen]),
        (partner, chosen, items),
        (problem.tiles + partner, chosen, np.maximum(0, items - window.lost[partner])),
        (mux[offered], window.transfer[offered], (window.wide - window.plain)[offered]),
        (2 * problem.tiles + group.machine, group.transfer, group.change),
    )
    columns = (np.concatenate(parts) for parts in zip(*loads, strict=True))
    return Machines(np.concatenate((fixed, group.fixed)), *columns)


class _Windows(NamedTuple):
    """What receives take of the mux of their tile as Word32 and as Paired64.

    A pair of tiles is busy with a Paired64 transfer from the source event to "format off", also
    where the other tile is the early one: all but those which one tile receives alone wait for it on
    both. Word32 windows of a pair differ by one event. So a late tile counts it from the event after
    the source event on; then what the tile receives alone, and what reserves it, may have ended as
    late as "format on", and counts for ``lost`` events less.

    Attributes
    ----------
    transfer, plain, wide
        Transfer of each receiver, and events of the mux in either width.
    lost
        Events between the source event of a Paired64 transfer and "format on", less one, of tiles
        that are late for some; 0 for others. By tile.
    opened
        Receives of late tiles with their first events.
    """

    transfer: IntArray
    plain: IntArray
    wide: IntArray
    lost: IntArray
    opened: Jobs


def _windows(
    problem: Problem, wide: BoolArray, options: tuple[Timing, Timing], windows: Jobs
) -> _Windows:
    """``windows`` are jobs of the muxes with least heads and tails, by receiver."""
    paired, plain = options
    tile = problem.destination_tile
    transfer = np.repeat(np.arange(len(problem)), np.diff(problem.destination_start))
    before = until_format_on(np.arange(TILES)) - 1
    late = np.flatnonzero(wide[transfer] & ~early(problem))
    lost = np.zeros(TILES, np.int64)
    lost[tile[late]] = before[tile[late]]
    code = transfer * TILES + tile
    alone = ~np.isin(transfer * TILES + PARTNER[tile], code)
    length = paired.window_length.copy()
    length[late] += before[tile[late]]
    least = np.minimum(plain.window, paired.window)[late]
    first = paired.window[late] - before[tile[late]]
    opened = windows.take(late, windows.machine[late])
    return _Windows(
        transfer,
        np.maximum(0, plain.window_length - np.where(alone, lost[tile], 0)),
        length,
        lost,
        opened._replace(release=opened.release - least + np.minimum(least, first)),
    )


def _ends(tiles: int, machines: list[Jobs], reserved: Jobs) -> IntArray:
    """Least head + least tail on buses and muxes, reservations included; 0 where none is known."""
    release, rest = np.full((2, 2 * tiles), np.iinfo(np.int64).max)
    for jobs in (*machines, reserved, reserved._replace(machine=tiles + reserved.machine)):
        np.minimum.at(release, jobs.machine, jobs.release)
        np.minimum.at(rest, jobs.machine, jobs.rest)
    used = np.isin(np.arange(2 * tiles), np.concatenate([jobs.machine for jobs in machines]))
    return np.where(used, release, 0) + np.where(used, rest, 0)


def _weights(matrix: csr_array, fixed: IntArray) -> IntArray:
    """Rounded dual values: minimise H over ``matrix @ x + fixed <= H``, x within [0, 1]."""
    # As long to import as all else here, and needed where widths are free only.
    from scipy.optimize import linprog

    machines, transfers = matrix.shape
    column = csr_array(np.full((machines, 1), -1.0))
    result = linprog(
        np.append(np.zeros(transfers), 1.0),
        A_ub=hstack((matrix.astype(np.float64), column), format="csr"),
        b_ub=-fixed,
        bounds=[(0, 1)] * transfers + [(0, None)],
        method="highs-ds",
    )
    if not result.success:
        return np.zeros(machines, np.int64)
    dual: IntArray = np.rint(np.maximum(0, -result.ineqlin.marginals) * UNIT).astype(np.int64)
    return dual
