r"""A linear relaxation of the choice of widths.

On machine m, let c be least head + least tail of its jobs, and let transfer j take
:math:`a_{mj}` events as Word32, :math:`a_{mj} + d_{mj}` as Paired64: fewer on its own bus and in
most windows of its receivers, more on what belongs to its partner. With
:math:`x_j \in \{0, 1\}` every horizon H has, for weights :math:`\lambda_m \ge 0` of sum 1,

.. math:: H \ge \sum_m \lambda_m (c_m + \sum_j a_{mj}) + \sum_j \min(0, \sum_m \lambda_m d_{mj})

Any weights prove a bound; those of the dual of the relaxation prove the most. They are rounded to
integers first, so that the bound is exact.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, hstack

from ipuopt.models.exchange.bounds_machines import Jobs
from ipuopt.models.exchange.problem import BoolArray, IntArray, Problem
from ipuopt.models.exchange.timing import Timing
from ipuopt.target.fabric import PARTNER

UNIT = 1 << 20
"""Integer weight that stands for 1."""
LARGEST = 300_000
"""Receivers up to which the relaxation is solved."""


def least_over_widths(
    problem: Problem, wide: BoolArray, options: list[Timing], machines: list[Jobs]
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
        Jobs with least heads and tails: first those of the buses, by transfer.
    """
    if len(problem.destination_tile) > LARGEST:
        return 0
    tiles = problem.tiles
    paired, plain = options
    chosen = np.flatnonzero(wide)
    column = np.cumsum(wide) - 1
    transfer = np.repeat(np.arange(len(problem)), np.diff(problem.destination_start))
    mux = tiles + problem.destination_tile
    partner = PARTNER[problem.source[chosen]]
    ends = _ends(tiles, machines, machines[0].take(chosen, partner))
    fixed = np.zeros(2 * tiles, np.int64)
    np.add.at(fixed, problem.source, plain.items)
    np.add.at(fixed, mux, plain.window_length)
    fixed += ends
    offered = wide[transfer]
    rows = np.concatenate((problem.source[chosen], partner, tiles + partner, mux[offered]))
    columns = np.concatenate((*[column[chosen]] * 3, column[transfer[offered]]))
    items = paired.items[chosen]
    change = (paired.window_length - plain.window_length)[offered]
    less = items - plain.items[chosen]
    matrix = csr_array(
        (np.concatenate((less, items, items, change)), (rows, columns)),
        shape=(2 * tiles, len(chosen)),
    )
    weight = _weights(matrix, fixed)
    if not weight.any():
        return 0
    total = int(weight @ fixed) + int(np.minimum(0, matrix.T @ weight).sum())
    return -(-total // int(weight.sum()))


def _ends(tiles: int, machines: list[Jobs], reserved: Jobs) -> IntArray:
    """Least head + least tail on buses and muxes, reservations included; 0 where none is known."""
    release, rest = np.full((2, 2 * tiles), np.iinfo(np.int64).max)
    bus, mux = machines[:2]
    for jobs in (bus, mux, reserved, reserved._replace(machine=tiles + reserved.machine)):
        np.minimum.at(release, jobs.machine, jobs.release)
        np.minimum.at(rest, jobs.machine, jobs.rest)
    used = np.isin(np.arange(2 * tiles), np.concatenate((bus.machine, mux.machine)))
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
